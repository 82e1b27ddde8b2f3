//! What programs cost, as a file that outlives the run that learnt it.
//!
//! The file is a [scenario](super::Scenario) with a resource, the CPU, and a class for each program, and nothing else: what
//! `dovetail profile` measures, what a run has learnt and what is written by hand are all the same format.

use std::io;

use dovetail_sched::cost::{Cost, Processing, Program, ProgramTable};

use super::{Scenario, WorkloadError};

/// The programs of a file's text; `file` is its name for messages.
///
/// # Errors
/// [`WorkloadError`] when the text is no scenario.
pub fn programs_from_toml(text: &str, file: &str) -> Result<ProgramTable, WorkloadError> {
    let none = |name: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("programs need no file {name}")));
    Ok(Scenario::parse(text, file, &mut { none })?.classes.programs())
}

/// The text of a file for these programs. Those that were never measured are left out: there is nothing to remember.
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
        // Three digits of a nanosecond, so that the file does not change with the last bit of a sum.
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
    }
}
