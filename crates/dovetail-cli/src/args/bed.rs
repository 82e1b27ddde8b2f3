//! What `dovetail bed` is told.

use clap::{ArgGroup, Args};
use dovetail_sched::{
    Nanos,
    registry::RequestSpec,
    units::{Rate, parse_rate, parse_time},
};

use super::values::{Seeds, parse_load, parse_seeds};

const EXAMPLES: &str = "\
Examples:
  sudo dovetail bed --squid --policy grants
      Squid, then Dovetail's gateway: the same requests at the same times, over the same downlink
  sudo dovetail bed --squid --proxy mine='exec ./proxy --listen $LISTEN' --rate 20Mbps --connect
      a proxy of your own beside Squid, by tunnels, on a faster link
  sudo dovetail bed --direct --policy grants --seeds 1..5 --jobs 10
      five seeds, all runs at once; also without any proxy";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[command(group(ArgGroup::new("whom").required(true).multiple(true).args(["proxies", "policies", "squid", "direct"])))]
pub(crate) struct BedArgs {
    /// A proxy: its name, and a shell command that runs it in the foreground. In its environment are LISTEN, where it has to
    /// listen, RATE_BPS and GOODPUT_BPS, of the downlink, PROVIDER, an address beyond it that answers pings, and FOLDER, for
    /// its files; can be given several times
    #[arg(long = "proxy", value_name = "NAME=COMMAND", value_parser = parse_proxy)]
    pub(crate) proxies: Vec<(String, String)>,

    /// Dovetail's gateway under this policy of requests, with weights 4, 2 and 1 for the three classes of users; can be given
    /// several times
    #[arg(long = "policy", value_name = "POLICY")]
    pub(crate) policies: Vec<RequestSpec>,

    /// Squid without a cache, otherwise with its defaults
    #[arg(long)]
    pub(crate) squid: bool,

    /// No proxy at all: users reach the servers directly
    #[arg(long)]
    pub(crate) direct: bool,

    /// Rate of the downlink, Ethernet frames included
    #[arg(long, value_name = "RATE", default_value = "2Mbps", value_parser = parse_rate)]
    pub(crate) rate: Rate,

    /// Packets for which the queue at the downlink's far end has room
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) buffer_packets: u32,

    /// Load that users offer, as a fraction of the downlink, whatever the responses
    #[arg(long, value_name = "X", default_value = "0.9", value_parser = parse_load, conflicts_with = "outstanding")]
    pub(crate) load: f64,

    /// Requests that each user keeps outstanding instead
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) outstanding: Option<u32>,

    /// Reach the servers by CONNECT
    #[arg(long)]
    pub(crate) connect: bool,

    /// Seeds, each of which gives every proxy the same requests: one, a range such as 1..5, or a list such as 1,5,9
    #[arg(long, value_name = "SEEDS", default_value = "1", value_parser = parse_seeds)]
    pub(crate) seeds: Seeds,

    /// How long users send requests; responses get 100 s more
    #[arg(long, value_name = "TIME", default_value = "150s", value_parser = parse_time)]
    pub(crate) duration: Nanos,

    /// How much of that is not counted
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub(crate) warm_up: Nanos,

    /// Runs at once: the CPU times of runs that are made at once are not comparable
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,

    /// Print one JSON document and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_proxy(text: &str) -> Result<(String, String), String> {
    let (name, command) = text
        .split_once('=')
        .filter(|(name, command)| !name.is_empty() && !command.trim().is_empty())
        .ok_or_else(|| "give a name and a command, such as mine='exec ./proxy --listen $LISTEN'".to_owned())?;
    if name.chars().any(|letter| !letter.is_ascii_alphanumeric() && !"-._".contains(letter)) {
        return Err(format!("the name before '=' has letters, digits, '-', '.' and '_': {name:?}"));
    }
    Ok((name.to_owned(), command.to_owned()))
}
