//! Lists the import cycles of the crates under `crates/`, or of those it is given; fails when there are any.

use std::{env::args, path::PathBuf, process::ExitCode};

use dovetail_house::{
    imports::{Error, cycles},
    repository::{crates, root},
};

fn main() -> ExitCode {
    let named: Vec<_> = args().skip(1).map(|name| root().join("crates").join(name)).collect();
    let folders = if named.is_empty() { crates() } else { named };
    match print(&folders) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Whether there were any.
fn print(folders: &[PathBuf]) -> Result<bool, Error> {
    let mut any = false;
    for folder in folders {
        for cycle in cycles(&folder.join("src"))? {
            println!("{}", cycle.seen_from(&root()));
            any = true;
        }
    }
    Ok(any)
}
