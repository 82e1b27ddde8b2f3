//! Lists the import cycles of the crates under `crates/`, or of the packages given; fails if there are any.

use std::{env::args, error::Error, path::PathBuf, process::ExitCode};

use dovetail_house::{
    imports::cycles,
    repository::{crates, package, root},
};

fn main() -> ExitCode {
    match print() {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cycles: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether there were any.
fn print() -> Result<bool, Box<dyn Error>> {
    let mut any = false;
    for folder in asked_for()? {
        for cycle in cycles(&folder.join("src"))? {
            println!("{}", cycle.seen_from(&root()));
            any = true;
        }
    }
    Ok(any)
}

fn asked_for() -> Result<Vec<PathBuf>, String> {
    let named = args().skip(1).map(|name| package(&name).ok_or(format!("there is no package in a folder {name}")));
    let named: Vec<PathBuf> = named.collect::<Result<_, _>>()?;
    Ok(if named.is_empty() { crates() } else { named })
}
