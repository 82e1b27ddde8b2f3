//! The `dovetail` command: parse first, then resolve, then run.
//!
//! Exit status: 0 done, 1 could not, 2 wrong usage. A reader that closes the pipe is no error.

mod admit;
mod args;
mod compare;
mod failure;
mod gateway;
mod input;
#[cfg(target_os = "linux")]
mod logging;
mod network;
mod output;
mod policies;
mod profile;
mod report;
mod reproduce;
mod run;
mod setting;
mod side_by_side;
mod table;
mod tune;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Compare(args) => compare::run(args),
        Command::Tune(args) => tune::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Admit(args) => admit::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Gateway(args) => gateway::run(args),
        Command::Policies(args) => policies::run(args),
    };
    done.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}
