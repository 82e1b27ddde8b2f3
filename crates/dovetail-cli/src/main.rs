//! The `dovetail` command.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    ExitCode::from(dovetail_cli::run(env::args_os()))
}
