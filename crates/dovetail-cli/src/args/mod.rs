//! The command line, as it is read before anything is done: a file for each command that is told more than a little.

mod admit;
#[cfg(feature = "bed")]
mod bed;
mod common;
mod compare;
#[cfg(feature = "gateway")]
mod doctor;
mod explain;
#[cfg(feature = "gateway")]
mod gateway;
#[cfg(feature = "middlebox")]
mod lab;
#[cfg(feature = "middlebox")]
mod middlebox;
#[cfg(feature = "profile")]
mod profile;
mod reproduce;
mod tune;
mod values;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

#[cfg(feature = "bed")]
pub(crate) use self::bed::BedArgs;
#[cfg(feature = "gateway")]
pub(crate) use self::gateway::GatewayArgs;
#[cfg(feature = "middlebox")]
pub(crate) use self::lab::LabArgs;
#[cfg(all(feature = "middlebox", target_os = "linux"))]
pub(crate) use self::lab::LabCommand;
#[cfg(feature = "middlebox")]
pub(crate) use self::middlebox::MiddleboxArgs;
#[cfg(feature = "profile")]
pub(crate) use self::profile::ProfileArgs;
pub(crate) use self::{
    admit::AdmitArgs,
    common::{InputArgs, OutputArgs},
    compare::CompareArgs,
    explain::ExplainArgs,
    reproduce::ReproduceArgs,
    tune::TuneArgs,
    values::Seeds,
};
#[cfg(all(feature = "gateway", target_os = "linux"))]
pub(crate) use self::{doctor::DoctorArgs, gateway::GatewayCommand};

/// Compare, choose and reproduce schedulers for work that needs more than one resource.
#[derive(Debug, Parser)]
#[command(name = "dovetail", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare what each policy does to the same traffic.
    Compare(CompareArgs),
    /// Explain who made packets wait, and what another policy would have done to them.
    Explain(Box<ExplainArgs>),
    /// Find the value of a policy's knob to run, and why.
    Tune(TuneArgs),
    /// Rerun published experiments and compare with the papers' figures.
    Reproduce(ReproduceArgs),
    /// Decide which flows can be guaranteed rates and delays.
    Admit(AdmitArgs),
    /// Measure what network functions cost on this machine.
    #[cfg(feature = "profile")]
    Profile(ProfileArgs),
    /// Run an HTTP gateway in front of a narrow downlink.
    #[cfg(feature = "gateway")]
    Gateway(GatewayArgs),
    /// Measure HTTP proxies at a narrow downlink between network namespaces.
    #[cfg(feature = "bed")]
    Bed(BedArgs),
    /// Run a middlebox between two interfaces.
    #[cfg(feature = "middlebox")]
    Middlebox(MiddleboxArgs),
    /// Run a demonstration middlebox between network namespaces.
    #[cfg(feature = "middlebox")]
    Lab(LabArgs),
    /// Run scenarios, captures, policies and seeds in every combination, on many cores or machines (needs the Python package).
    Sweep(SweepArgs),
    /// List the scenarios that come with the command.
    Scenarios(ScenariosArgs),
    /// List the policies with their knobs, costs and sources.
    Policies(PoliciesArgs),
    /// Print a completion script for a shell.
    Completions(CompletionsArgs),
    /// Write man pages, one for each command.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ScenariosArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PoliciesArgs {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

/// They are read by the Python package, whose `dovetail sweep --help` describes them.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct SweepArgs {
    /// GRID.toml --out DIR, and options
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<OsString>,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  dovetail completions bash > ~/.local/share/bash-completion/completions/dovetail
  dovetail completions zsh > ~/.zfunc/_dovetail";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder to write them to; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}
