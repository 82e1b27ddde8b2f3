//! Networks: what the command line makes of one, and a policy's run over it.

pub(crate) mod access;
pub(crate) mod times;

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use dovetail_sched::PolicySpec;
use dovetail_sim::{
    Observer,
    measure::{DEFAULT_WINDOW, Meters},
    network::{
        Arrivals, Asks, Contender, Kind, Network, NetworkError, NetworkOptions, NetworkOutcome, simulate_access,
        simulate_network,
    },
    records::{Format, Records, path_for},
};
use indicatif::ProgressBar;

use self::access::LinkLoad;
use crate::{
    args::InputArgs,
    failure::Failure,
    input::beside,
    run::{Run, counting_bar},
};

/// What a link's queue is called as a resource.
pub(crate) const LINK: &str = "link";

/// Networks that come with the command, by name.
const BUILTIN: &[(&str, &str)] = &[
    ("access", include_str!("../../../../scenarios/access.toml")),
    ("access-far", include_str!("../../../../scenarios/access-far.toml")),
    ("msfrs", include_str!("../../../../scenarios/msfrs.toml")),
    ("drr-sff", include_str!("../../../../scenarios/drr-sff.toml")),
    ("drr-sff-ftp", include_str!("../../../../scenarios/drr-sff-ftp.toml")),
    ("drr-sff-flood", include_str!("../../../../scenarios/drr-sff-flood.toml")),
];

/// The network that the command line names, with what it changes; `None` where it names something else.
/// `text` is the file's.
pub(crate) fn resolve(args: &InputArgs, text: Option<&str>) -> Result<Option<Network>, Failure> {
    let Some((path, text)) = args.scenario.as_deref().zip(text) else { return Ok(None) };
    if !Network::is_described_by(text) {
        return Ok(None);
    }
    let network = Network::parse(text, &path.display().to_string(), &mut beside(path));
    let mut network = network.map_err(Failure::new)?;
    adapt(&mut network, args)?;
    Ok(Some(network))
}

/// A network that comes with the command.
pub(crate) fn builtin(name: &str) -> Result<Network, Failure> {
    let (_, text) = BUILTIN
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| Failure::new(format!("there is no built-in network '{name}'")))?;
    let mut none =
        |file: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("a built-in network names {file}")));
    Network::parse(text, name, &mut none).map_err(Failure::new)
}

/// What the command line says over what the file says.
pub(crate) fn adapt(network: &mut Network, args: &InputArgs) -> Result<(), Failure> {
    let not_here = [
        (args.trace.is_some(), "--trace", "its packets come from hosts that answer to what happens to them"),
        (args.pipeline.is_some(), "--pipeline", "each link is one resource"),
        (args.queue_packets.is_some(), "--queue-packets", "the file says how much a link's buffer holds"),
    ];
    if let Some((_, option, why)) = not_here.into_iter().find(|&(given, ..)| given) {
        return Err(Failure::usage(format!("{option}: {} is a network: {why}", network.name)));
    }
    network.seed = args.seed.unwrap_or(network.seed);
    if let Some(rate) = args.link {
        network.links[network.watched].rate = rate;
    }
    if args.load.is_some() && network.transfers() == 0 && network.access.is_none() {
        return Err(Failure::usage(format!("--load: {} has no transfers to bring closer together", network.name)));
    }
    if let Some(load) = args.load {
        for traffic in &mut network.traffic {
            match &mut traffic.kind {
                Kind::Transfers { arrivals, .. } => *arrivals = Arrivals::Load(load),
                Kind::Requests(requests) => requests.asks = Asks::Load(load),
                Kind::LongLived(_) | Kind::Datagrams(_) => {}
            }
        }
    }
    Ok(())
}

/// What a run leaves behind beside its figures.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Keep<'a> {
    pub(crate) records: Option<(&'a Path, Format)>,
    /// A folder for captures of what leaves the watched link.
    pub(crate) pcap: Option<&'a Path>,
}

/// What is looked at: a policy before the watched link, or what a gateway does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Under<'a> {
    Policy(&'a PolicySpec),
    Gateway(&'a Contender),
}

impl fmt::Display for Under<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::Gateway(gateway) => gateway.fmt(f),
        }
    }
}

/// A policy's run over a network.
pub(crate) struct NetworkRun {
    /// As of a pipeline of the watched link alone.
    pub(crate) run: Run,
    pub(crate) outcome: NetworkOutcome,
    pub(crate) load: LinkLoad,
}

/// A bar for so many runs: of transfers, or of virtual seconds where there are none.
pub(crate) fn bar(network: &Network, runs: usize) -> ProgressBar {
    let (what, each) = match network.transfers() {
        0 => ("virtual seconds", network.stop_at.unwrap_or_default().0 / 1_000_000_000),
        transfers => ("transfers", transfers),
    };
    counting_bar(what, &network.name, 0, Some(each * runs as u64))
}

/// Runs the network so. `bar` is one of [`bar`]'s.
pub(crate) fn run(
    network: &Network,
    under: Under<'_>,
    keep: Keep<'_>,
    bar: &ProgressBar,
) -> Result<NetworkRun, Failure> {
    let (mut meters, mut load) = (Meters::new(1, DEFAULT_WINDOW), LinkLoad::default());
    let mut told = 0;
    let mut progress = |progress: dovetail_sim::network::NetworkProgress| {
        let done = if progress.transfers == 0 { progress.now.0 / 1_000_000_000 } else { progress.done };
        bar.inc(done - told);
        told = done;
    };
    let name = under.to_string();
    let mut capture = keep.pcap.map(|folder| Capture::create(folder, &name)).transpose()?;
    let options = NetworkOptions {
        progress: Some(&mut progress),
        capture: capture.as_mut().map(|capture| &mut capture.file as &mut dyn Write),
    };
    let path = keep.records.map(|(folder, format)| (path_for(folder, &name, format), format));
    let begun = Instant::now();
    let mut meters_and_load = (&mut meters, &mut load);
    let outcome = match &path {
        None => play(network, under, &mut meters_and_load, options)?,
        Some((path, format)) => {
            let unwritten = |error| Failure::file("write", path, error);
            let mut records = Records::create(path, *format, &[LINK.to_owned()]).map_err(unwritten)?;
            let mut all = (&mut meters_and_load, &mut records);
            let outcome = play(network, under, &mut all, options)?;
            records.finish().map_err(unwritten)?;
            outcome
        }
    };
    let wall = begun.elapsed();
    if let Some(capture) = capture {
        capture.finish()?;
    }
    let run = Run {
        policy: name,
        outcome: outcome.link,
        summary: meters.finish(),
        counters: outcome.counters.clone(),
        learnt: None,
        notices: Vec::new(),
        records: path.map(|(path, _)| path),
        wall,
    };
    Ok(NetworkRun { run, outcome, load })
}

/// Plays the network in virtual time.
pub(crate) fn play<O: Observer>(
    network: &Network,
    under: Under<'_>,
    observer: &mut O,
    options: NetworkOptions<'_>,
) -> Result<NetworkOutcome, Failure> {
    let outcome = match under {
        Under::Policy(policy) => simulate_network(network, policy, observer, options),
        Under::Gateway(gateway) => simulate_access(network, gateway, observer, options),
    };
    outcome.map_err(|error: NetworkError| Failure::new(format!("{under}: {error}")))
}

/// A capture in the making.
struct Capture {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Capture {
    fn create(folder: &Path, policy: &str) -> Result<Self, Failure> {
        let path = path_for(folder, policy, Format::Csv).with_extension("pcap");
        let file = File::create(&path).map_err(|error| Failure::file("write", &path, error))?;
        Ok(Self { path, file: BufWriter::new(file) })
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|error| Failure::file("write", &self.path, error))
    }
}
