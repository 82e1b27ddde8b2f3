//! Records in memory, one vector per column, for computations in the same process.

use dovetail_sched::{FlowId, Nanos, Packet};

use crate::{Observer, Passage, Profile};

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    /// It crossed all resources.
    Sent = 0,
    /// It was refused or evicted.
    Dropped = 1,
    /// It still waited when the network stopped.
    Left = 2,
}

impl Outcome {
    /// Names of the outcomes, in order of their numbers.
    pub const WORDS: [&'static str; 3] = ["sent", "dropped", "left"];
}

/// Rows in the order in which packets' outcomes were decided; memory grows with their number.
#[derive(Debug, Default)]
pub struct Columns {
    /// The workload's packets are numbered from 0.
    pub packet: Vec<u64>,
    /// Indices into [`names`](Self::names).
    pub flow: Vec<u32>,
    /// Lengths.
    pub bytes: Vec<u32>,
    /// Arrivals, in nanoseconds.
    pub arrival_ns: Vec<u64>,
    /// Start and end of a packet on each resource, in nanoseconds; 0 for packets that were not sent.
    pub passage_ns: Vec<[Vec<u64>; 2]>,
    /// Outcomes.
    pub outcome: Vec<Outcome>,
    names: Vec<String>,
}

impl Columns {
    /// No rows yet, for packets that cross `resources` resources.
    #[must_use]
    pub fn new(resources: usize) -> Self {
        Self { passage_ns: vec![<[Vec<u64>; 2]>::default(); resources], ..Self::default() }
    }

    /// The names of the flows.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn push(&mut self, packet: &Packet, passage: Option<&Passage>, outcome: Outcome) {
        self.packet.push(packet.handle);
        self.flow.push(packet.flow.0);
        self.bytes.push(packet.bytes);
        self.arrival_ns.push(packet.arrival.0);
        for (at, [starts, ends]) in self.passage_ns.iter_mut().enumerate() {
            let time = |times: &[Nanos]| times.get(at).map_or(0, |time| time.0);
            starts.push(passage.map_or(0, |passage| time(passage.start())));
            ends.push(passage.map_or(0, |passage| time(passage.end())));
        }
        self.outcome.push(outcome);
    }
}

impl Observer for Columns {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.names.len() {
            self.names.resize(flow.index() + 1, String::new());
        }
        self.names[flow.index()] = profile.label.to_owned();
    }

    fn arrived(&mut self, _: &Packet) {}

    fn dropped(&mut self, packet: &Packet, _: Nanos) {
        self.push(packet, None, Outcome::Dropped);
    }

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.push(packet, Some(passage), Outcome::Sent);
    }

    fn left(&mut self, packet: &Packet) {
        self.push(packet, None, Outcome::Left);
    }
}
