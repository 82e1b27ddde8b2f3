//! Built-in scenarios, and how they are found by name.

use std::{
    io::{ErrorKind, Write},
    path::{Component, Path},
};

use dovetail_sched::nearest;
use serde::{Deserialize, Serialize, de::IgnoredAny};

use crate::{
    error::{Error, Misuse},
    kind::Kind,
    output::{print, print_json},
    supply::read_text,
    table::Table,
};

/// Names and texts, in the order in which they are listed.
const BUILTIN: &[(&str, &str)] = &[
    ("middlebox", include_str!("../scenarios/middlebox.toml")),
    ("three-resources", include_str!("../scenarios/three-resources.toml")),
    ("websearch", include_str!("../scenarios/websearch.toml")),
    ("wrong-costs", include_str!("../scenarios/wrong-costs.toml")),
    ("speed", include_str!("../scenarios/speed.toml")),
    ("one-packet-flows", include_str!("../scenarios/one-packet-flows.toml")),
    ("atfq-fig1", include_str!("../scenarios/atfq-fig1.toml")),
    ("atfq-fig5", include_str!("../scenarios/atfq-fig5.toml")),
    ("atfq-fig9", include_str!("../scenarios/atfq-fig9.toml")),
    ("tradeoff-fig1", include_str!("../scenarios/tradeoff-fig1.toml")),
    ("tradeoff-table2", include_str!("../scenarios/tradeoff-table2.toml")),
    ("tradeoff-fig6", include_str!("../scenarios/tradeoff-fig6.toml")),
    ("tradeoff-trace", include_str!("../scenarios/tradeoff-trace.toml")),
    ("cbcs", include_str!("../scenarios/cbcs.toml")),
    ("drr-sff", include_str!("../scenarios/drr-sff.toml")),
    ("drr-sff-ftp", include_str!("../scenarios/drr-sff-ftp.toml")),
    ("drr-sff-flood", include_str!("../scenarios/drr-sff-flood.toml")),
    ("ssh-flood", include_str!("../scenarios/ssh-flood.toml")),
    ("access", include_str!("../scenarios/access.toml")),
    ("access-far", include_str!("../scenarios/access-far.toml")),
    ("msfrs", include_str!("../scenarios/msfrs.toml")),
];

/// The text of the scenario with this name.
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// The text of the scenario at `path`, or else of the built-in one with this name.
///
/// # Errors
/// [`Misuse::NoScenario`] if neither exists and `path` looks like a name; [`Error::File`] if a file cannot be read.
pub(crate) fn find(path: &Path) -> Result<String, Error> {
    let Some(name) = name_in(path).filter(|_| !path.is_file()) else {
        return traffic_goes_elsewhere(path, read_text(path)).map_err(|error| known_by_name(path, error));
    };
    // A folder is not a scenario, so it hides none.
    match text_of(name) {
        Some(text) if !path.exists() || path.is_dir() => Ok(text.to_owned()),
        None if !path.exists() => {
            let known: Vec<_> = BUILTIN.iter().map(|&(known, _)| known).collect();
            let meant = nearest(name, known.iter().copied());
            Err(Misuse::NoScenario { name: name.to_owned(), meant, known: known.join(", ") }.into())
        }
        _ => read_text(path),
    }
}

/// The path as a possible scenario name: a word, not a path.
fn name_in(path: &Path) -> Option<&str> {
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) => name.to_str().filter(|name| *name != "-" && !name.contains('.')),
        _ => None,
    }
}

/// For a capture, a table or a file for another command in the place of a scenario, reports where it goes.
fn traffic_goes_elsewhere(path: &Path, read: Result<String, Error>) -> Result<String, Error> {
    let (option, what): (&'static [&'static str], &str) = match &read {
        Err(Error::File { source, .. }) if source.kind() == ErrorKind::InvalidData => {
            (&["trace"], "is not text; captures")
        }
        Ok(text) if text.trim_start_matches('\u{feff}').starts_with("arrival_ns,") => {
            (&["workload"], "is a table of packets; tables")
        }
        Ok(text) => {
            return match Kind::of(text).filter(|kind| !kind.is_traffic()) {
                Some(other) => Err(other.instead_of("a scenario or a network", path)),
                None => read,
            };
        }
        Err(_) => return read,
    };
    Err(Misuse::option(option, format!("{} {what} are given here, not as the scenario", path.display())).into())
}

/// For a file that does not exist, reports that there is a built-in scenario of that name.
fn known_by_name(path: &Path, error: Error) -> Error {
    let name = path.file_stem().and_then(|stem| stem.to_str()).filter(|name| text_of(name).is_some());
    match (error, name) {
        (Error::File { source, .. }, Some(name)) if source.kind() == ErrorKind::NotFound => {
            Error::ByName { path: path.to_owned(), name: name.to_owned() }
        }
        (error, _) => error,
    }
}

#[derive(Serialize)]
struct Listed {
    scenario: &'static str,
    /// What packets cross.
    over: &'static str,
    description: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    source: String,
}

impl Listed {
    fn of(&(scenario, text): &(&'static str, &str)) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            description: String,
            #[serde(default)]
            source: String,
            network: Option<IgnoredAny>,
            access: Option<IgnoredAny>,
        }
        let head: Head = dovetail_toml::read(text).map_err(|_| Error::Missing)?;
        let over = match (head.network, head.access) {
            (_, Some(_)) => "network with a gateway",
            (Some(_), None) => "network",
            (None, None) => "pipeline",
        };
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Self { scenario, over, description: one_line(&head.description), source: one_line(&head.source) })
    }

    /// The first sentence of the description.
    fn summary(&self) -> &str {
        self.description.split_once(". ").map_or(self.description.trim_end_matches('.'), |(first, _)| first)
    }
}

/// Writes the list of scenarios to `out`.
///
/// # Errors
/// If writing to `out` fails.
pub fn scenarios(json: bool, out: &mut dyn Write) -> Result<(), Error> {
    let all = BUILTIN.iter().map(Listed::of).collect::<Result<Vec<_>, _>>()?;
    if json {
        return print_json(out, &all);
    }
    let mut table = Table::new(&["scenario", "over", "what"], 3);
    for listed in &all {
        table.push([listed.scenario, listed.over, listed.summary()].map(str::to_owned));
    }
    print(
        out,
        &format!(
            "{}\n\nRun one by its name, such as 'dovetail compare websearch', from any folder.",
            table.to_terminal()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_the_folder_is_listed_under_the_name_that_it_has() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<_> = files.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned)).collect();
        let mut listed: Vec<_> = BUILTIN.iter().map(|(name, _)| (*name).to_owned()).collect();
        files.sort();
        listed.sort();
        assert_eq!(listed, files);
        for entry in BUILTIN {
            let listed = Listed::of(entry).unwrap();
            assert!(!listed.summary().is_empty(), "{}", entry.0);
            assert!(entry.1.contains(&format!("name = \"{}\"", entry.0)), "{}", entry.0);
        }
    }

    #[test]
    fn names_are_words() {
        assert_eq!(name_in(Path::new("websearch")), Some("websearch"));
        for path in ["-", "a.toml", "./websearch", "/websearch", "x/websearch", "..", ""] {
            assert_eq!(name_in(Path::new(path)), None, "{path}");
        }
    }
}
