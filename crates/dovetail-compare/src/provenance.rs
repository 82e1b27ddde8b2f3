//! Provenance of figures: everything that determines them, so that a run can be repeated and distinguished from others.
//!
//! Properties of the middlebox or the traffic that are not given are taken from a scenario or assumed, so values come with
//! their [`Origin`]. Policies are written with every knob that has a value. Two runs with the same block have the same
//! figures, except for how long they took.

use dovetail_sim::network::Network;
use serde::Serialize;

use crate::table::Table;

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// An option.
    Given,
    /// The scenario.
    Scenario,
    /// Neither: a default.
    Assumed,
}

impl Origin {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Scenario => "the scenario's",
            Self::Assumed => "assumed",
        }
    }
}

/// A value and its origin.
#[derive(Debug, Clone, Serialize)]
pub struct Stated<T> {
    /// The value.
    pub value: T,
    /// Its origin.
    pub origin: Origin,
}

impl<T> Stated<T> {
    /// The given value, or else the scenario's.
    pub(crate) fn first(given: Option<T>, scenario: Option<T>) -> Option<Self> {
        let given = given.map(|value| Self { value, origin: Origin::Given });
        given.or(scenario.map(|value| Self { value, origin: Origin::Scenario }))
    }

    /// A default.
    pub(crate) const fn assumed(value: T) -> Self {
        Self { value, origin: Origin::Assumed }
    }
}

/// A file, or a built-in scenario.
#[derive(Debug, Clone, Serialize)]
pub struct InputFile {
    /// Its role: a scenario, a file that it refers to, a trace, a workload, or programs.
    pub kind: &'static str,
    /// Without its folder.
    pub name: String,
    /// Digest of all its bytes; `None` for a pipe that is not read to its end, and if no output shows it.
    pub sha256: Option<String>,
}

/// Origin of an input's traffic.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Whether digests of files are computed: some output shows them.
    pub(crate) with_digests: bool,
    /// Files that are read.
    pub files: Vec<InputFile>,
    /// Seed of everything random; a table has none.
    pub seed: Option<u64>,
    /// The load that time is scaled to; without it, the traffic has its own pace.
    pub load: Option<Stated<f64>>,
    /// Rate of the resource `link`, in bits per second.
    pub link_bps: Option<Stated<f64>>,
}

/// Everything that determines a run's figures.
#[derive(Debug, Clone, Serialize)]
pub struct Provenance {
    pub(crate) version: &'static str,
    pub(crate) inputs: Vec<InputFile>,
    pub(crate) seed: Option<u64>,
    pub(crate) load: Option<Stated<f64>>,
    pub(crate) link_bps: Option<Stated<f64>>,
    /// Without a value, each policy has the pipeline that it is designed for. A network has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pipeline: Option<Stated<Option<String>>>,
    pub(crate) queue_packets: Option<u32>,
    pub(crate) buffer_packets: Option<u32>,
    /// For a network's watched link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) buffer_bytes: Option<u64>,
    pub(crate) drop: String,
    /// For figures that are computed over windows; a network has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) window_s: Option<f64>,
    pub(crate) policies: Vec<String>,
}

impl Provenance {
    /// Everything that determines the figures of runs over a network.
    pub(crate) fn of_network(network: &Network, sources: &Sources, policies: Vec<String>) -> Self {
        let limits = &network.links[network.watched].limits;
        let Sources { files, seed, load, link_bps, .. } = sources.clone();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            inputs: files,
            seed,
            load,
            link_bps,
            pipeline: None,
            queue_packets: limits.flow_packets,
            buffer_packets: limits.packets,
            buffer_bytes: limits.bytes,
            drop: limits.on_full.to_string(),
            window_s: None,
            policies,
        }
    }

    /// For a page.
    pub(crate) fn table(&self) -> Table {
        fn stated<T>(stated: Option<&Stated<T>>, none: &str, shown: impl Fn(&T) -> String) -> String {
            let said = |stated: &Stated<T>| format!("{} ({})", shown(&stated.value), stated.origin.as_str());
            stated.map_or_else(|| none.to_owned(), said)
        }
        let limit = |packets: Option<u32>| packets.map_or_else(|| "none".to_owned(), |packets| packets.to_string());
        let mut table = Table::new(&["provenance", ""], 2);
        let mut row = |what: &str, value: String| table.push([what.to_owned(), value]);
        row("dovetail", self.version.to_owned());
        for file in &self.inputs {
            let sha256 = file.sha256.as_deref().unwrap_or("unknown, as it is not read to its end");
            row(file.kind, format!("{}, SHA-256 {sha256}", file.name));
        }
        row("seed", self.seed.map_or_else(|| "none".to_owned(), |seed| seed.to_string()));
        row("load", stated(self.load.as_ref(), "the traffic's own", f64::to_string));
        row("link", stated(self.link_bps.as_ref(), "none", |bps| format!("{bps} bit/s")));
        let designed = || "what each policy is designed for".to_owned();
        if let Some(pipeline) = &self.pipeline {
            row("pipeline", stated(Some(pipeline), "", |mode| mode.clone().unwrap_or_else(designed)));
        }
        row("packets a queue", limit(self.queue_packets));
        row("packets in all", limit(self.buffer_packets));
        if let Some(bytes) = self.buffer_bytes {
            row("bytes in all", bytes.to_string());
        }
        row("drop", self.drop.clone());
        if let Some(window) = self.window_s {
            row("window", format!("{window} s"));
        }
        for policy in &self.policies {
            row("policy", policy.clone());
        }
        table
    }
}
