//! The `dovetail` command: parse first, then resolve, then run. It is a library so that the Python package can provide the
//! command, too.
//!
//! Exit status: 0 success, 1 failure, 2 usage error. A reader that closes the pipe is no error.

mod args;
mod bars;
#[cfg(feature = "bed")]
mod bed;
mod describe;
#[cfg(all(feature = "gateway", target_os = "linux"))]
mod doctor;
mod failure;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "middlebox")]
mod lab;
#[cfg(all(any(feature = "gateway", feature = "middlebox"), target_os = "linux"))]
mod logging;
#[cfg(feature = "middlebox")]
mod middlebox;
mod options;
mod output;
mod parsing;
mod policies;
mod sweep;

use std::{ffi::OsString, io::Write};

use clap::Parser;
use dovetail_compare::{Error, admit, compare, explain, scenarios, tune};
use dovetail_experiments::reproduce;

use args::{Cli, Command};
use bars::Bars;
use failure::Failure;
use output::Stdout;

/// Runs the command with these arguments, the first of which is the command's name; returns its exit status.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = parsing::with_negative_values(args);
    match Cli::try_parse_from(&args) {
        Ok(cli) => done(&cli.command).map_or_else(|failure| failure.report(&parsing::command_in(&args)), |()| 0),
        Err(end) => parsing::report(&end, &parsing::command_in(&args)),
    }
}

/// Writes the list of policies to `out` as one JSON document.
///
/// # Errors
/// When writing to `out` fails.
pub fn policies(out: &mut dyn Write) -> Result<(), Error> {
    policies::run(&args::PoliciesArgs { json: true }, out)
}

fn done(command: &Command) -> Result<(), Failure> {
    let (bars, out) = (&Bars::default(), &mut Stdout::default());
    match command {
        Command::Compare(args) => Ok(compare(&args.into(), bars, out)?),
        Command::Explain(args) => Ok(explain(&args.as_ref().into(), bars, out)?),
        Command::Tune(args) => Ok(tune(&args.into(), bars, out)?),
        Command::Reproduce(args) => Failure::unless_all_held(reproduce(&args.into(), bars, out)?),
        Command::Admit(args) => Ok(admit(&args.into(), out)?),
        #[cfg(feature = "profile")]
        Command::Profile(args) => Ok(dovetail_compare::profile(&args.into(), bars, out)?),
        #[cfg(feature = "gateway")]
        Command::Gateway(args) => gateway::run(args, bars, out),
        #[cfg(feature = "bed")]
        Command::Bed(args) => bed::run(args, bars, out),
        #[cfg(feature = "middlebox")]
        Command::Middlebox(args) => middlebox::run(args, out),
        #[cfg(feature = "middlebox")]
        Command::Lab(args) => lab::run(args, out),
        Command::Scenarios(args) => Ok(scenarios(args.json, out)?),
        Command::Policies(args) => Ok(policies::run(args, out)?),
        Command::Sweep(_) => sweep::run(),
        Command::Completions(args) => Ok(describe::completions(args, out)?),
        Command::Man(args) => describe::man(args),
    }
}
