//! What `dovetail gateway doctor` is told.

use std::path::PathBuf;

use clap::Args;
use dovetail_sched::{
    Nanos,
    units::{Rate, parse_rate, parse_time},
};

const EXAMPLES: &str = "\
Examples:
  dovetail gateway doctor --to http://203.0.113.9/large --output gateway.toml
      fills the link from your own server for 12 s or 64 MB: the rate, the far buffer, and the probe that sees it
  dovetail gateway doctor --to http://203.0.113.9/large --upload http://203.0.113.9/take --time 20s --bytes 200MB
      also the uplink, for longer; prints what it finds and writes nothing
  dovetail gateway doctor --to 203.0.113.9 --rate 2Mbps --output gateway.toml
      with the provider's figure for the rate: only probes are tried
  dovetail gateway doctor
      sends nothing: examines this machine";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// A server of yours beyond the link: the URL of a large file on it, over plain HTTP, to measure the downlink; or its
    /// name or address, to try probes alone
    #[arg(long, value_name = "URL|HOST")]
    pub(crate) to: Option<String>,

    /// Where to POST to, to measure the uplink
    #[arg(long, value_name = "URL")]
    pub(crate) upload: Option<String>,

    /// Probe to try, as the configuration has it, such as 10.99.0.1 or hop:2@203.0.113.9; can be given several times
    /// [default: those that there may be on the way to the server]
    #[arg(long = "probe", value_name = "PROBE")]
    pub(crate) probes: Vec<String>,

    /// The provider's figure for the downlink, where it is not measured
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// How long to fill each direction at most, 2s to 5min
    #[arg(long, value_name = "TIME", default_value = "12s", value_parser = parse_time)]
    pub(crate) time: Nanos,

    /// How much to move in each direction at most; what is in flight at the end comes on top
    #[arg(long, value_name = "BYTES", default_value = "64MB", value_parser = dovetail_sched::units::parse_bytes)]
    pub(crate) bytes: u64,

    /// Write a first configuration to this file, which must not exist
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) output: Option<PathBuf>,

    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}
