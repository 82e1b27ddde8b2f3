//! Overrides values of a scenario, for callers that run it repeatedly with different ones.
//!
//! A value is identified by its path with dots between, such as `resource.link.rate` or `flow.web.arrivals.poisson`. An entry
//! of a list is identified by its `name`, by its index from 0, or by `*` for all entries; if there is only one, or one is the
//! watched one, it may be omitted. A path that does not start with a key of the file starts with the name of an entry, if
//! only one has it: `link.rate` is the rate of the resource `link`, and in a network of the watched link.

use toml::{Table, Value};

use crate::error::{Error, Misuse};

/// The longest path, in steps; no scenario is as deep.
const DEEPEST: usize = 32;

/// The text with these values, or without those that are `None`; `name` is its name. Equal scenarios have equal texts,
/// regardless of their comments and the order of their keys.
///
/// # Errors
/// If the text is not TOML, or a path identifies nothing that can be changed.
pub fn overridden(text: &str, name: &str, overrides: &[(String, Option<Value>)]) -> Result<String, Error> {
    let table: Table = dovetail_toml::read(text)
        .map_err(|fault| Misuse::option(&["scenario"], fault.located(text, name).to_string()))?;
    let mut document = Value::Table(table);
    for (path, value) in overrides {
        let failed = |why: String| Error::from(Misuse::option(&["overrides"], format!("'{}': {why}", clipped(path))));
        let steps = steps(path).map_err(failed)?;
        let steps = from_the_top(&document, steps);
        set(&mut document, &steps, value.as_ref()).map_err(failed)?;
    }
    toml::to_string(&document)
        .map_err(|error| Misuse::option(&["overrides"], format!("cannot be written as TOML: {error}")).into())
}

/// The steps of a path; text between quotation marks may contain dots.
fn steps(path: &str) -> Result<Vec<String>, String> {
    let (mut steps, mut step, mut quoted) = (Vec::new(), String::new(), false);
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => steps.push(std::mem::take(&mut step)),
            c => step.push(c),
        }
    }
    steps.push(step);
    if quoted || steps.iter().any(String::is_empty) {
        return Err("a path is keys with dots between, such as resource.link.rate".to_owned());
    }
    if steps.len() > DEEPEST {
        return Err(format!("a path has at most {DEEPEST} keys"));
    }
    Ok(steps)
}

/// Inserts the key of the list if a path starts with an entry's name.
fn from_the_top(document: &Value, mut steps: Vec<String>) -> Vec<String> {
    let Some(table) = document.as_table() else { return steps };
    if steps.len() < 2 || table.contains_key(&steps[0]) {
        return steps;
    }
    let lists = table.iter().filter_map(|(key, value)| Some((key, value.as_array()?)));
    let mut holders =
        lists.flat_map(|(key, list)| list.iter().filter(|entry| is_named(entry, &steps[0])).map(move |_| key));
    if let (Some(only), None) = (holders.next(), holders.next()) {
        steps.insert(0, only.clone());
    }
    steps
}

fn is_named(entry: &Value, name: &str) -> bool {
    entry.get("name").and_then(Value::as_str) == Some(name)
}

fn set(place: &mut Value, steps: &[String], value: Option<&Value>) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        if let Some(value) = value {
            *place = value.clone();
        }
        return Ok(());
    };
    match place {
        Value::Table(table) if rest.is_empty() => {
            match value {
                Some(value) => drop(table.insert(step.clone(), value.clone())),
                None => drop(table.remove(step)),
            }
            Ok(())
        }
        Value::Table(table) => {
            let inner = table.entry(step.clone()).or_insert_with(|| Value::Table(Table::new()));
            set(inner, rest, value)
        }
        Value::Array(list) => set_in(list, step, rest, steps, value),
        _ => Err(format!("there is nothing called '{}' in a plain value", clipped(step))),
    }
}

/// Sets a value in the entries of a list that `step` selects, or in the one that may be omitted.
fn set_in(
    list: &mut Vec<Value>,
    step: &str,
    rest: &[String],
    steps: &[String],
    value: Option<&Value>,
) -> Result<(), String> {
    let named = list.iter().position(|entry| is_named(entry, step));
    let at = named.or_else(|| step.parse().ok().filter(|at| *at < list.len()));
    match at {
        _ if step == "*" && !rest.is_empty() => list.iter_mut().try_for_each(|entry| set(entry, rest, value)),
        Some(at) if rest.is_empty() && value.is_none() => {
            list.remove(at);
            Ok(())
        }
        Some(at) => set(&mut list[at], rest, value),
        None => {
            let is_watched = |entry: &Value| entry.get("watched").and_then(Value::as_bool) == Some(true);
            let mut watched = (0..list.len()).filter(|at| list.len() == 1 || is_watched(&list[*at]));
            match (watched.next(), watched.next()) {
                (Some(at), None) if list[at].is_table() => set(&mut list[at], steps, value),
                _ => {
                    let names: Vec<_> =
                        list.iter().filter_map(|entry| entry.get("name")?.as_str()).map(clipped).collect();
                    let known = match names.as_slice() {
                        [] => format!("its {} entries have no names: use a place from 0, or *", list.len()),
                        names => format!("only {}", names.iter().take(40).cloned().collect::<Vec<_>>().join(", ")),
                    };
                    Err(format!("there is no entry '{}', {known}", clipped(step)))
                }
            }
        }
    }
}

/// A text, shortened for a message.
fn clipped(text: &str) -> String {
    text.chars().take(60).collect::<String>().escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        name = "box" # a comment
        [[resource]]
        name = "cpu"
        [[resource]]
        name = "link"
        rate = "1Gbps"
        [[flow]]
        name = "a"
        size = 100
        [[flow]]
        name = "b.c"
        size = 200
    "#;

    fn with(path: &str, value: impl Into<Value>) -> Result<Table, String> {
        let text =
            overridden(TEXT, "box", &[(path.to_owned(), Some(value.into()))]).map_err(|error| error.to_string())?;
        Ok(text.parse().expect("TOML"))
    }

    #[test]
    fn entries_go_by_name_place_and_all() {
        for path in ["resource.link.rate", "resource.1.rate", "link.rate"] {
            assert_eq!(with(path, "5Mbps").unwrap()["resource"][1]["rate"].as_str(), Some("5Mbps"), "{path}");
        }
        let all = with("flow.*.size", 7).unwrap();
        assert_eq!([0, 1].map(|at| all["flow"][at]["size"].as_integer()), [Some(7); 2]);
        assert_eq!(with("flow.\"b.c\".size", 9).unwrap()["flow"][1]["size"].as_integer(), Some(9));
        assert_eq!(with("load", 1.5).unwrap()["load"].as_float(), Some(1.5));
        assert_eq!(with("class.x.y", true).unwrap()["class"]["x"]["y"].as_bool(), Some(true));
    }

    #[test]
    fn an_only_or_watched_entry_need_not_be_named() {
        let text = "[[link]]\nrate = \"1Mbps\"\n[[link]]\nrate = \"2Mbps\"\nwatched = true\n";
        let changed = overridden(text, "net", &[("link.rate".to_owned(), Some("9Mbps".into()))]).unwrap();
        let table: Table = changed.parse().unwrap();
        assert_eq!(table["link"][0]["rate"].as_str(), Some("1Mbps"));
        assert_eq!(table["link"][1]["rate"].as_str(), Some("9Mbps"));
    }

    #[test]
    fn none_takes_away() {
        let gone = |path: &str| overridden(TEXT, "box", &[(path.to_owned(), None)]).unwrap().parse::<Table>().unwrap();
        assert!(gone("resource.link.rate")["resource"][1].get("rate").is_none());
        assert_eq!(gone("flow.a")["flow"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn equal_scenarios_have_equal_texts() {
        let other = "flow = [{ size = 100, name = \"a\" }, { name = \"b.c\", size = 200 }]\nname = \"box\"\n\
                     resource = [{ name = \"cpu\" }, { rate = \"1Gbps\", name = \"link\" }]";
        assert_eq!(overridden(TEXT, "", &[]).unwrap(), overridden(other, "", &[]).unwrap());
    }

    #[test]
    fn wrong_paths_say_what_there_is() {
        for (path, why) in [
            ("flow.z.size", "'flow.z.size': there is no entry 'z', only a, b.c"),
            ("name.x", "nothing called 'x'"),
            ("flow..size", "keys with dots between"),
            ("", "keys with dots between"),
            ("flow.\"a", "keys with dots between"),
            (&"a.".repeat(99), "keys"),
        ] {
            let said = with(path, 1).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
        let said = overridden("name = ", "box", &[]).unwrap_err().to_string();
        assert!(said.contains("box, line 1"), "{said}");
    }
}
