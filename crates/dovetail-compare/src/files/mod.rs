//! A command's files. Outputs are opened before its runs, appear either completely or not at all, and are never inputs.
//!
//! [`Files`] tracks what the command reads and opens what it writes, so that a path that cannot be written, or one that
//! refers to an input, is rejected before anything is run. A [`NewFile`] takes its name only when it is complete.

mod identity;
mod new_file;

use std::{
    fs,
    path::{Path, PathBuf},
};

use dovetail_sim::records::{Format, path_for};

pub use new_file::NewFile;

use crate::{
    error::{Error, Misuse},
    options::{InputOptions, OutputOptions},
    supply::meant,
};
use identity::Identity;

/// Whether two paths lead to the same input, however they are written.
pub(crate) fn are_one(first: &Path, second: &Path) -> bool {
    let identity = Identity::of(meant(first));
    first == second || (identity.is_some() && identity == Identity::of(meant(second)))
}

/// A command's inputs and outputs, identified by the actual file, not by how its path is written.
#[derive(Debug, Default)]
pub struct Files {
    claimed: Vec<Claim>,
}

#[derive(Debug)]
struct Claim {
    what: String,
    identity: Identity,
    is_input: bool,
}

impl Files {
    /// The inputs that `input` names, and the files that its scenario refers to; `text` is the scenario's.
    pub fn of(input: &InputOptions, text: Option<&str>) -> Self {
        let mut files = Self::default();
        for (what, path) in [("scenario", &input.scenario), ("trace", &input.trace), ("workload", &input.workload)] {
            if let Some(path) = path {
                files.reads(what, path);
            }
        }
        if let Some((scenario, text)) = input.scenario.as_deref().zip(text) {
            let folder = scenario.parent().unwrap_or(Path::new("."));
            for name in named_in(text) {
                files.reads("scenario's file", &folder.join(name));
            }
        }
        files
    }

    /// Declares `path` as an input.
    pub fn reads(&mut self, what: &str, path: &Path) {
        self.claim(what, meant(path), true);
    }

    /// Opens an output file at `path`.
    ///
    /// # Errors
    /// [`Misuse::Taken`] if the command already reads or writes that file; [`Error::File`] if it cannot be written.
    pub fn writes(&mut self, what: &str, path: Option<&Path>) -> Result<Option<NewFile>, Error> {
        let Some(path) = path else { return Ok(None) };
        let new = NewFile::open(path)?;
        if let Some(other) = self.claimant(path) {
            let (what, path) = (what.to_owned(), path.to_owned());
            return Err(Misuse::Taken { what, path, by: other.what.clone(), is_input: other.is_input }.into());
        }
        self.claim(what, path, false);
        Ok(Some(new))
    }

    /// Creates a folder, and ensures that a file can be written there for each of `runs`, under distinct names.
    ///
    /// # Errors
    /// [`Misuse::SameName`] if two would have the same name; otherwise as [`writes`](Self::writes).
    pub fn writes_each<R: ToString>(
        &mut self,
        what: &str,
        folder: Option<&Path>,
        runs: impl IntoIterator<Item = R>,
        path_of: impl Fn(&Path, &str) -> PathBuf,
    ) -> Result<(), Error> {
        let Some(folder) = folder else { return Ok(()) };
        fs::create_dir_all(folder).map_err(|error| Error::file("make the folder", folder, error))?;
        let mut taken: Vec<(PathBuf, String)> = Vec::new();
        for run in runs {
            let (run, path) = (run.to_string(), path_of(folder, &run.to_string()));
            if let Some((_, other)) = taken.iter().find(|(known, _)| *known == path) {
                return Err(Misuse::SameName { policies: [other.clone(), run], path }.into());
            }
            self.writes(what, Some(&path))?;
            taken.push((path, run));
        }
        Ok(())
    }

    /// The same for the records of `output`.
    ///
    /// # Errors
    /// Same as for [`writes_each`](Self::writes_each).
    pub fn writes_records<R: ToString>(
        &mut self,
        output: &OutputOptions,
        runs: impl IntoIterator<Item = R>,
    ) -> Result<(), Error> {
        let path_of = |folder: &Path, run: &str| path_for(folder, run, output.format);
        self.writes_each("records", output.records.as_deref(), runs, path_of)
    }

    fn claim(&mut self, what: &str, path: &Path, is_input: bool) {
        // An input that does not exist as a file is a built-in one, by its name.
        if is_input && !path.exists() {
            return;
        }
        if let Some(identity) = Identity::of(path) {
            self.claimed.push(Claim { what: what.to_owned(), identity, is_input });
        }
    }

    fn claimant(&self, path: &Path) -> Option<&Claim> {
        let identity = Identity::of(path)?;
        self.claimed.iter().find(|claim| claim.identity == identity)
    }
}

/// The file for a run's capture.
#[must_use]
pub fn capture_path(folder: &Path, run: &str) -> PathBuf {
    path_for(folder, run, Format::Csv).with_extension("pcap")
}

/// The files that a scenario refers to: everything under a key `file`.
fn named_in(text: &str) -> Vec<String> {
    fn collect(value: &toml::Value, names: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    match value {
                        toml::Value::String(name) if key == "file" => names.push(name.clone()),
                        value => collect(value, names),
                    }
                }
            }
            toml::Value::Array(values) => values.iter().for_each(|value| collect(value, names)),
            _ => {}
        }
    }
    let mut names = Vec::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        collect(&toml::Value::Table(table), &mut names);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_in_a_scenario_are_found_at_any_depth() {
        let text = "name = \"x\"\n[[flow]]\nsize = { cdf = { file = \"a.cdf\", unit = 1 } }\n[[flow]]\nsize = 5\n";
        assert_eq!(named_in(text), ["a.cdf"]);
        assert!(named_in("no [toml").is_empty());
    }
}
