//! Measures the programs of a folder on this machine and prints a line for each, with the cost in the form that a scenario takes.
//!
//! ```console
//! $ cargo run --release -p dovetail-box --features programs --example measure_programs -- FOLDER
//! ```

use std::{path::Path, process::ExitCode, time::Instant};

use dovetail_box::programs::{FolderError, Library, Load, ProgramLimits};
use dovetail_sched::{Nanos, cost::Processing};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: measure_programs FOLDER");
        return ExitCode::from(2);
    };
    let Load { library, errors } = match measured(Path::new(&folder)) {
        Ok(load) => load,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for error in &errors {
        eprintln!("{error}");
    }
    for measured in library.names().filter_map(|name| library.measured(name)) {
        let known = &measured.program;
        let cost = known.cost.map_or_else(
            || "unknown".to_owned(),
            |cost| format!("{:.3}ns*bytes + {:.0}ns", cost.per_byte_ns(), cost.per_packet_ns()),
        );
        let grows = match known.processing {
            Processing::Header => "header processing",
            Processing::Payload => "payload processing",
        };
        println!("{}: {cost}, {grows}, out/in {:.3}, up to {} fuel", known.name, known.expansion, measured.most_fuel());
    }
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measured(folder: &Path) -> Result<Load, FolderError> {
    let library = Library::new(ProgramLimits::default()).map_err(FolderError::NoCompiler)?;
    let begun = Instant::now();
    let mut clock = || Nanos(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    library.reload(folder, Some(&mut clock))
}
