//! What `dovetail admit` is told.

use std::path::PathBuf;

use clap::Args;
use dovetail_sched::cost::admission::Bound;

const EXAMPLES: &str = "\
Examples:
  dovetail admit reservations.toml
      which reservations are admitted, in the file's order, which are refused by which rule, and what is left
  dovetail admit reservations.toml --bound separate --json
      delay bounds for a scheduler per resource; one JSON document on standard output";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdmitArgs {
    /// The node and the reservations requested of it
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,

    /// Delay bound that reservations are held to: composite (eq. 14) or separate (eq. 13)
    #[arg(long, value_name = "FORMULA", default_value = "composite")]
    pub(crate) bound: Bound,

    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}
