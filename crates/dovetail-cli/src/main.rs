//! The `dovetail` command: parse first, then resolve, then run.
//!
//! Exit status: 0 done, 1 could not, 2 wrong usage. A reader that closes the pipe is no error.

mod args;
mod bars;
mod describe;
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
mod policies;

use std::process::ExitCode;

use clap::Parser;
use dovetail_compare::{admit, compare, explain, scenarios, tune};
use dovetail_experiments::reproduce;

use args::{Cli, Command};
use bars::Bars;
use failure::Failure;
use output::Stdout;

fn main() -> ExitCode {
    run(&Cli::parse().command).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

fn run(command: &Command) -> Result<(), Failure> {
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
        Command::Gateway(args) => gateway::run(args, out),
        #[cfg(feature = "middlebox")]
        Command::Middlebox(args) => middlebox::run(args, out),
        #[cfg(feature = "middlebox")]
        Command::Lab(args) => lab::run(args, out),
        Command::Scenarios(args) => Ok(scenarios(args.json, out)?),
        Command::Policies(args) => Ok(policies::run(args, out)?),
        Command::Completions(args) => Ok(describe::completions(args, out)?),
        Command::Man(args) => describe::man(args),
    }
}
