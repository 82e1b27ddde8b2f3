//! What `dovetail gateway` is told.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::doctor::DoctorArgs;

const EXAMPLES: &str = "\
Examples:
  dovetail gateway --config gateway.toml --check
      explains the configuration, with warnings
  dovetail gateway --config gateway.toml
      runs until SIGTERM or SIGINT, then finishes open requests; SIGHUP reloads the file
  dovetail gateway --config gateway.toml --take-over
      the same, replacing a running gateway without an interruption
  dovetail gateway doctor --to http://203.0.113.9/large --output gateway.toml
      measures the link and writes a first configuration";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
pub(crate) struct GatewayArgs {
    /// What to do instead of running it
    #[command(subcommand)]
    pub(crate) command: Option<GatewayCommand>,

    /// Configuration to run
    #[arg(long, value_name = "FILE.toml", required = true)]
    pub(crate) config: Option<PathBuf>,

    /// Explain the configuration and check that this machine has what it names; do not run
    #[arg(long)]
    pub(crate) check: bool,

    /// Take the listening sockets over from a running gateway with the same addresses and the same user, which finishes its
    /// open requests and ends; start normally if there is none
    #[arg(long, conflicts_with = "check")]
    pub(crate) take_over: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Measure the link and examine this machine, and write a first configuration.
    Doctor(DoctorArgs),
}
