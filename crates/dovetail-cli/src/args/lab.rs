//! What `dovetail lab` is told.

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  sudo dovetail lab up
      three namespaces, a box between two of them, three downloads with functions of unlike cost; a line a second
  sudo dovetail lab up --policy fifo --duration 10s
      the same traffic through another policy";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LabArgs {
    /// What to do with it
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Set up the lab, run a box and traffic, remove everything at the end
    Up(LabUpArgs),
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LabUpArgs {
    /// Policy of the box
    #[arg(long, value_name = "POLICY", default_value = "drfq")]
    pub(crate) policy: String,

    /// Rate of the link behind the box
    #[arg(long, value_name = "RATE", default_value = "50Mbps")]
    pub(crate) link: String,

    /// How long to run; until Ctrl-C if it is not given
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,

    /// Leave out the traffic: the lab is yours until Ctrl-C
    #[arg(long)]
    pub(crate) idle: bool,
}
