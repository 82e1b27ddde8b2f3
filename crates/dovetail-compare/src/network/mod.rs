//! Networks: resolving options for one, and running a policy over it.

pub mod times;
pub mod users;

use std::{
    fmt,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::Instant,
};

use self::users::LinkLoad;
use crate::{
    builtin::text_of,
    error::{Error, Misuse},
    files::{NewFile, capture_path},
    input::{Opener, parsed},
    options::InputOptions,
    progress::{Meter, Progress, Task},
    provenance::{Provenance, Sources, Stated},
    recording::Recording,
    run::PolicyRun,
};
use dovetail_sched::{PolicySpec, units::Rate};
use dovetail_sim::{
    Observer,
    blame::{RequestBlame, TransferBlame},
    measure::{DEFAULT_WINDOW, Meters},
    network::{
        Arrivals, Asks, Contender, Kind, Network, NetworkError, NetworkOptions, NetworkOutcome, simulate_access,
        simulate_network,
    },
    records::Format,
};

/// The name of a link's queue as a resource.
pub const LINK: &str = "link";

/// The provenance of figures of these runs over a network.
pub(crate) fn provenance(asked: &Asked, examined: &[Under<'_>]) -> Provenance {
    Provenance::of_network(&asked.network, &asked.sources, examined.iter().map(Under::in_full).collect())
}

/// The requested network, and where it comes from.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The network, with changes by the options.
    pub network: Network,
    /// The file, and the values given by options.
    pub sources: Sources,
}

/// The network given by the options, with their changes; `None` if they name something else. `text` is the file's.
pub fn resolve(args: &InputOptions, text: Option<&str>) -> Result<Option<Asked>, Error> {
    let Some((path, text)) = args.scenario.as_deref().zip(text) else { return Ok(None) };
    if !Network::is_described_by(text) {
        return Ok(None);
    }
    asked(path, text, args).map(Some)
}

/// The built-in network with this name, with changes by the options.
pub(crate) fn resolve_builtin(name: &str, args: &InputOptions) -> Result<Asked, Error> {
    asked(Path::new(name), builtin_text(name)?, args)
}

fn asked(path: &Path, text: &str, args: &InputOptions) -> Result<Asked, Error> {
    let parse = |text: &str, name: &str, open: Opener<'_>| Network::parse(text, name, open).map_err(Error::from);
    let (mut network, files) = parsed(path, text, true, parse)?;
    let link_bps = Stated::first(args.link.map(Rate::bps), Some(network.links[network.watched].rate.bps()));
    let load = Stated::first(args.load, network.traffic.iter().find_map(|traffic| load_of(&traffic.kind)));
    adapt(&mut network, args)?;
    let sources = Sources { files, seed: Some(network.seed), load, link_bps, with_digests: true };
    Ok(Asked { network, sources })
}

/// The load of a traffic on the watched link, if it is specified by load.
fn load_of(kind: &Kind) -> Option<f64> {
    match kind {
        Kind::Transfers { arrivals: Arrivals::Load(load), .. } => Some(*load),
        Kind::Requests(requests) => match requests.asks {
            Asks::Load(load) => Some(load),
            _ => None,
        },
        _ => None,
    }
}

/// A built-in network.
pub fn builtin(name: &str) -> Result<Network, Error> {
    let text = builtin_text(name)?;
    let mut none =
        |file: &str| Err(io::Error::new(io::ErrorKind::NotFound, format!("a built-in network names {file}")));
    Network::parse(text, name, &mut none).map_err(Error::from)
}

fn builtin_text(name: &str) -> Result<&'static str, Error> {
    text_of(name).ok_or_else(|| Error::NoBuiltin { kind: "network", name: name.to_owned() })
}

/// Applies the options to the file's values.
pub fn adapt(network: &mut Network, args: &InputOptions) -> Result<(), Error> {
    let not_here: [(bool, &[&str], &str); 5] = [
        (args.trace.is_some(), &["trace"], "its packets come from hosts that react to delays and losses"),
        (args.pipeline.is_some(), &["pipeline"], "each link is one resource"),
        (args.queue_packets.is_some(), &["queue_packets"], "the file says how much a link's buffer holds"),
        (args.buffer_packets.is_some(), &["buffer_packets"], "the file says how much a link's buffer holds"),
        (
            args.drop.is_some() && network.access.is_some(),
            &["drop"],
            "its gateway is behind an ordinary queue that drops what finds no room",
        ),
    ];
    if let Some((_, fields, why)) = not_here.into_iter().find(|&(given, ..)| given) {
        return Err(Misuse::option(fields, format!("{} is a network: {why}", network.name)).into());
    }
    network.seed = args.seed.unwrap_or(network.seed);
    if let Some(rate) = args.link {
        network.links[network.watched].rate = rate;
    }
    if let Some(drop) = args.drop {
        network.links[network.watched].limits.on_full = drop;
    }
    if args.load.is_some() && network.transfers() == 0 && network.access.is_none() {
        let why = format!("{} has no transfers whose load could be scaled", network.name);
        return Err(Misuse::option(&["load"], why).into());
    }
    if let Some(load) = args.load {
        for traffic in &mut network.traffic {
            match &mut traffic.kind {
                Kind::Transfers { arrivals, .. } => *arrivals = Arrivals::Load(load),
                Kind::Requests(requests) => requests.asks = Asks::Load(load),
                Kind::LongLived(_) | Kind::Datagrams(_) | Kind::Interactive(_) => {}
            }
        }
    }
    Ok(())
}

/// A run's outputs other than its figures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep<'a> {
    /// A folder for records, one row per packet, and their format.
    pub records: Option<(&'a Path, Format)>,
    /// A folder for captures of what leaves the watched link.
    pub pcap: Option<&'a Path>,
}

/// What is compared: a policy in front of the watched link, or a gateway.
#[derive(Debug, Clone, Copy)]
pub enum Under<'a> {
    /// A packet policy in front of the watched link.
    Policy(&'a PolicySpec),
    /// What a gateway does with requests.
    Gateway(&'a Contender),
}

impl Under<'_> {
    /// With every knob written out.
    pub(crate) fn in_full(&self) -> String {
        match self {
            Self::Policy(policy) => policy.in_full().to_string(),
            Self::Gateway(gateway) => gateway.in_full(),
        }
    }
}

impl fmt::Display for Under<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(policy) => policy.fmt(f),
            Self::Gateway(gateway) => gateway.fmt(f),
        }
    }
}

/// What waiting time is attributed.
pub(crate) enum Blame<'a> {
    /// None.
    Nothing,
    /// That of transfers.
    Transfers(&'a mut TransferBlame),
    /// That of requests.
    Requests(&'a mut RequestBlame),
}

/// A policy's run over a network.
pub struct NetworkRun {
    /// As if of a pipeline with the watched link as its only resource.
    pub run: PolicyRun,
    /// The network's results.
    pub outcome: NetworkOutcome,
    /// Bytes sent by the watched link.
    pub load: LinkLoad,
}

/// A progress bar for this many runs: of transfers, or of virtual seconds if there are none.
pub fn bar(network: &Network, runs: usize, progress: &dyn Progress) -> Box<dyn Meter> {
    let (counts, each) = match network.transfers() {
        0 => ("virtual seconds", network.stop_at.unwrap_or_default().0 / 1_000_000_000),
        transfers => ("transfers", transfers),
    };
    progress.begin(Task { name: &network.name, width: 0, counts, total: Some(each * runs as u64) })
}

/// Runs the network under this policy or gateway. `bar` comes from [`bar`].
pub fn run(network: &Network, under: Under<'_>, keep: Keep<'_>, bar: &dyn Meter) -> Result<NetworkRun, Error> {
    run_blamed(network, under, keep, bar, Blame::Nothing)
}

/// The same with an `observer` of the watched link's packets.
pub(crate) fn run_watched<O: Observer>(
    network: &Network,
    under: Under<'_>,
    bar: &dyn Meter,
    observer: &mut O,
) -> Result<NetworkRun, Error> {
    run_seen(network, under, Keep::default(), bar, Blame::Nothing, observer)
}

/// The same with attribution of waiting time by `blame`.
pub(crate) fn run_blamed(
    network: &Network,
    under: Under<'_>,
    keep: Keep<'_>,
    bar: &dyn Meter,
    blame: Blame<'_>,
) -> Result<NetworkRun, Error> {
    run_seen(network, under, keep, bar, blame, &mut ())
}

fn run_seen<O: Observer>(
    network: &Network,
    under: Under<'_>,
    keep: Keep<'_>,
    bar: &dyn Meter,
    blame: Blame<'_>,
    observer: &mut O,
) -> Result<NetworkRun, Error> {
    let (mut meters, mut load) = (Meters::new(1, DEFAULT_WINDOW), LinkLoad::default());
    let mut told = 0;
    let mut progress = |progress: dovetail_sim::network::NetworkProgress| {
        let done = if progress.transfers == 0 { progress.now.0 / 1_000_000_000 } else { progress.done };
        bar.inc(done - told);
        told = done;
    };
    let name = under.to_string();
    let mut capture = keep.pcap.map(|folder| Capture::begin(folder, &name)).transpose()?;
    let (blame, requests) = match blame {
        Blame::Nothing => (None, None),
        Blame::Transfers(blame) => (Some(blame), None),
        Blame::Requests(blame) => (None, Some(blame)),
    };
    let options = NetworkOptions {
        progress: Some(&mut progress),
        capture: capture.as_mut().map(|capture| capture as &mut dyn Write),
        blame,
        requests,
        stop: bar.stop(),
    };
    let recording =
        keep.records.map(|(folder, format)| Recording::begin(folder, &name, format, &[LINK.to_owned()], &[]));
    let mut recording = recording.transpose()?;
    let begun = Instant::now();
    let mut figures = (&mut meters, &mut load);
    let mut seen = (&mut figures, observer);
    let outcome = match &mut recording {
        None => play(network, under, &mut seen, options)?,
        Some(recording) => play(network, under, &mut (&mut seen, &mut recording.records), options)?,
    };
    let wall = begun.elapsed();
    let mut unwritten = Vec::new();
    let records = recording.and_then(|recording| recording.end().map_err(|error| unwritten.push(error)).ok());
    unwritten.extend(capture.and_then(|capture| capture.end().err()));
    let run = PolicyRun {
        policy: name,
        outcome: outcome.link,
        summary: meters.finish(),
        counters: outcome.counters.clone(),
        learnt: None,
        notices: Vec::new(),
        records,
        unwritten,
        wall,
    };
    Ok(NetworkRun { run, outcome, load })
}

/// Simulates the network in virtual time.
pub fn play<O: Observer>(
    network: &Network,
    under: Under<'_>,
    observer: &mut O,
    options: NetworkOptions<'_>,
) -> Result<NetworkOutcome, Error> {
    let outcome = match under {
        Under::Policy(policy) => simulate_network(network, policy, observer, options),
        Under::Gateway(gateway) => simulate_access(network, gateway, observer, options),
    };
    outcome.map_err(|source: NetworkError| Error::NetworkRun { under: under.to_string(), source })
}

/// A capture being written. If writing fails, the run goes on without it.
struct Capture {
    file: BufWriter<File>,
    place: NewFile,
    failed: Option<io::Error>,
}

impl Capture {
    fn begin(folder: &Path, policy: &str) -> Result<Self, Error> {
        let place = NewFile::open(&capture_path(folder, policy))?;
        Ok(Self { file: BufWriter::new(place.writer()?), place, failed: None })
    }

    fn end(mut self) -> Result<(), Error> {
        let written = self.failed.take().map_or_else(|| self.file.flush(), Err);
        written.map_err(|error| Error::file("write", self.place.path(), error))?;
        self.place.keep()
    }
}

impl Write for Capture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.file.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
