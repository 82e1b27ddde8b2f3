//! Costs of programs, as a file that persists what a run has learnt.
//!
//! The file is a [scenario](super::Scenario) with one resource, the CPU, and a class for each program, and nothing else.
//! Since it is overwritten after a run, a scenario with more content is rejected: the rest of it would be lost.

use std::io;

use dovetail_sched::cost::{Cost, Processing, Program, ProgramTable};
use serde::{Deserialize, de::IgnoredAny};
use toml::Spanned;

use super::{Scenario, WorkloadError};

/// Contents of a file of programs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(rename = "name")]
    _name: String,
    resource: Vec<Spanned<ResourceForm>>,
    #[serde(default, rename = "class")]
    _class: Vec<ClassForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourceForm {
    #[serde(rename = "name")]
    _name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassForm {
    #[serde(rename = "name")]
    _name: String,
    #[serde(default, rename = "cost")]
    _cost: IgnoredAny,
    #[serde(default, rename = "processing")]
    _processing: IgnoredAny,
    #[serde(default, rename = "expansion")]
    _expansion: IgnoredAny,
}

/// Rejects a file with other contents.
fn check(text: &str, file: &str) -> Result<(), WorkloadError> {
    let form: Form = dovetail_toml::read(text).map_err(|fault| WorkloadError::of(fault, text, file))?;
    match form.resource.get(1) {
        None => Ok(()),
        Some(second) => Err(WorkloadError::at(text, file, second.span().start, "a second resource".to_owned())),
    }
}

/// Parses the programs of a file; `file` is its name for messages.
///
/// # Errors
/// [`WorkloadError`] when the text is not a scenario, or contains more than [`programs_to_toml`] would write.
pub fn programs_from_toml(text: &str, file: &str) -> Result<ProgramTable, WorkloadError> {
    let only = |what: String| format!("{what}: this is not a file of programs, and it would be written over");
    check(text, file).map_err(|error| match error {
        WorkloadError::Line { file, line, what } => WorkloadError::Line { file, line, what: only(what) },
        WorkloadError::File { file, what } => WorkloadError::File { file, what: only(what) },
        error => error,
    })?;
    let none = |name: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("programs need no file {name}")));
    Ok(Scenario::parse(text, file, &mut { none })?.classes.programs())
}

/// Formats a file for these programs. Those never measured are omitted.
#[must_use]
pub fn programs_to_toml(table: &ProgramTable) -> String {
    let mut text = "# Costs of packets on the first resource, as learnt.\n\
                    name = \"programs\"\n\n[[resource]]\nname = \"cpu\"\n"
        .to_owned();
    let known = table.programs().iter().filter_map(|program| Some((program, program.cost?)));
    for (Program { name, processing, expansion, .. }, cost) in known {
        let processing = match processing {
            Processing::Header => "header",
            Processing::Payload => "payload",
        };
        // Three decimals of a nanosecond, so that the file does not change with the last bit of a sum.
        let round = |nanos: f64| (nanos * 1e3).round() / 1e3;
        let cost = Cost::new(round(cost.per_byte_ns()), round(cost.per_packet_ns())).unwrap_or(cost);
        let expansion = round(*expansion).clamp(1e-3, 1e3);
        text += &format!(
            "\n[[class]]\nname = \"{name}\"\ncost = {{ cpu = \"{cost}\" }}\nprocessing = \"{processing}\"\n\
             expansion = {expansion:?}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let cost = |byte, packet| Some(Cost::new(byte, packet).unwrap());
        let programs = vec![
            Program { cost: cost(15.0, 84_500.0), expansion: 1.04, ..Program::new("ipsec") },
            Program { cost: cost(0.0, 210.125), processing: Processing::Header, ..Program::new("forwarding") },
        ];
        let mut all = programs.clone();
        all.insert(1, Program::new("never-run"));
        let text = programs_to_toml(&ProgramTable::new(all));
        assert_eq!(programs_from_toml(&text, "programs.toml").unwrap(), ProgramTable::new(programs), "{text}");
        assert!(programs_to_toml(&ProgramTable::EMPTY).contains("[[resource]]"));
        let error = programs_from_toml("name = \"x\"\n[[class]]\nname = \"y\"\n", "p.toml").unwrap_err().to_string();
        assert!(error.contains("p.toml") && error.contains("resource"), "{error}");
        let two = "name = \"x\"\n[[resource]]\nname = \"cpu\"\n[[resource]]\nname = \"link\"\n";
        for (more, line) in [(two, 4), ("name = \"x\"\nduration = \"1s\"\n[[resource]]\nname = \"cpu\"\n", 2)] {
            let error = programs_from_toml(more, "p.toml").unwrap_err().to_string();
            assert!(error.contains(&format!("p.toml, line {line}:")) && error.contains("written over"), "{error}");
        }
    }
}
