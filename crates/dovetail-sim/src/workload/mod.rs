//! Sources of packets: captures, tables and synthetic scenarios, all as a stream of arrivals.
//!
//! A [`Workload`] specifies which packet arrives when, its flow, and its cost on every resource. Arrivals are requested one
//! by one, and the whole stream is never held: memory grows with flows, not with packets.
//!
//! | source | type | costs from |
//! |---|---|---|
//! | pcap and pcapng captures, plain or gzip | [`Capture`] | [`ClassSet`]: classes of flows with costs |
//! | CSV tables | [`Csv`] | the table itself |
//! | scenarios in TOML | [`Scenario`] | [`ClassSet`], from the scenario |
//!
//! Nothing here opens a file or reads a clock: bytes come through [`std::io::Read`], and file names are only for messages.
//! Invalid input gives a [`WorkloadError`]; input that is merely irregular (a clock that runs backwards, a truncated frame)
//! is counted in [`Notice`]s.

#[cfg(feature = "pcap")]
mod capture;
mod capture_options;
mod cdf;
mod class;
mod csv;
mod error;
pub(crate) mod input;
#[cfg(not(feature = "pcap"))]
mod no_capture;
mod noise;
mod prefix;
mod programs;
pub(crate) mod random;
mod scenario;
mod survey;
pub(crate) mod written;

#[cfg(feature = "pcap")]
pub use capture::Capture;
pub use capture_options::CaptureOptions;
pub use cdf::{Cdf, CdfError};
pub use class::{Class, ClassError, ClassSet, Ports, Resource};
pub use csv::{Csv, CsvOptions};
pub use dovetail_sched::cost::{Cost, CostError};
pub use error::WorkloadError;
#[cfg(not(feature = "pcap"))]
pub use no_capture::Capture;
pub use noise::{Expansion, Noise};
pub use prefix::{Prefix, PrefixError};
pub use programs::{programs_from_toml, programs_to_toml};
pub use scenario::{Scenario, Size, Synthetic};
pub use survey::{Survey, scale_for_load, survey};

use dovetail_sched::{
    Demand, FlowId, MAX_RESOURCES, Nanos, Weight,
    cost::{ProgramId, ProgramTable},
};

/// A packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Time of arrival; the workload's first packet is near time 0.
    pub at: Nanos,
    /// Its flow, a dense id.
    pub flow: FlowId,
    /// Its length on the wire, in bytes.
    pub bytes: u32,
    /// Its true cost on each of the workload's resources.
    pub demand: Demand,
    /// Factor by which processing on the first resource changes its length; the later demands account for it.
    pub expansion: f64,
    /// The program that it runs there.
    pub program: ProgramId,
}

impl Arrival {
    /// A packet with unknown program that keeps its length.
    #[inline]
    #[must_use]
    pub const fn new(at: Nanos, flow: FlowId, bytes: u32, demand: Demand) -> Self {
        Self { at, flow, bytes, demand, expansion: 1.0, program: ProgramId::UNKNOWN }
    }

    /// Costs known beforehand: nothing for the first resource, and for later ones those of a packet with its length on
    /// arrival.
    #[must_use]
    pub fn told(&self) -> Demand {
        let mut times = [Nanos::ZERO; MAX_RESOURCES];
        for (told, time) in times.iter_mut().zip(self.demand.times()).skip(1) {
            *told = if self.expansion == 1.0 { *time } else { Nanos::from_f64(time.as_f64() / self.expansion) };
        }
        Demand::new(&times[..self.demand.times().len()]).unwrap_or(self.demand)
    }
}

/// At most 60 characters of a given text, for a message; control characters are escaped, since terminals obey them.
pub(crate) fn clip(text: &str) -> String {
    let mut shown = String::new();
    for letter in dovetail_sched::units::clip(text).chars() {
        if letter.is_control() { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    shown
}

/// Rejects a text that would reach a terminal, which would obey its control characters.
pub(crate) fn check_printable(text: &str) -> Result<(), String> {
    match text.chars().find(|letter| letter.is_control()) {
        Some(letter) => Err(format!("there is a control character, {}: leave it out", letter.escape_default())),
        None => Ok(()),
    }
}

/// An irregularity that was handled, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Description, in words that follow a number: `3 packets …`.
    pub what: String,
    /// How often.
    pub count: u64,
}

impl Notice {
    /// What is said of one and of several; nothing of none.
    fn counted(count: u64, one: &str, several: &str) -> Option<Self> {
        (count > 0).then(|| Self { what: if count == 1 { one } else { several }.into(), count })
    }
}

/// What is said of one and of several packets without a length.
const EMPTY: (&str, &str) = ("packet is of length 0", "packets are of length 0");

/// A stream of packets.
pub trait Workload {
    /// The resources' names, in pipeline order: 1 to [`MAX_RESOURCES`].
    fn resources(&self) -> &[String];

    /// The next arrival, in order of time; `None` after the last.
    ///
    /// # Errors
    /// When the input cannot be read any further. After an error, or `None`, the stream has ended.
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError>;

    /// Replaces `arrival` with the next arrival; returns whether there was one. Same as [`next`](Self::next), but avoids
    /// moving a large value.
    ///
    /// # Errors
    /// Same as for [`next`](Self::next).
    #[inline]
    fn next_into(&mut self, arrival: &mut Arrival) -> Result<bool, WorkloadError> {
        let next = self.next()?;
        if let Some(next) = &next {
            *arrival = *next;
        }
        Ok(next.is_some())
    }

    /// A packet of `flow` left its queue at `now`: for a permanently backlogged flow, returns a packet that replaces it,
    /// arriving at `now`. `None` for any other flow, and when the flow has no more.
    fn refill(&mut self, _flow: FlowId, _now: Nanos) -> Option<Arrival> {
        None
    }

    /// Whether packets do not depend on what happens to earlier ones: no flow is ever refilled. `false` by default.
    fn is_open_loop(&self) -> bool {
        false
    }

    /// The flow's weight; requested when the flow first appears.
    fn weight(&self, _flow: FlowId) -> Weight {
        Weight::ONE
    }

    /// The flow's weight on each resource, if resources have separate weights; requested when it first appears.
    fn resource_weights(&self, _flow: FlowId) -> Option<&[Weight]> {
        None
    }

    /// The programs that packets run, with what is known of them beforehand.
    fn programs(&self) -> ProgramTable {
        ProgramTable::EMPTY
    }

    /// The flow's label in reports and records.
    fn label(&self, flow: FlowId) -> String;

    /// The name of the flow's class, if it has one.
    fn class(&self, _flow: FlowId) -> Option<&str> {
        None
    }

    /// The number of arrivals in total, as far as known; for progress bars.
    fn packets_hint(&self) -> Option<u64> {
        None
    }

    /// The irregularities met so far.
    fn notices(&self) -> Vec<Notice>;
}

impl<W: Workload + ?Sized> Workload for Box<W> {
    fn resources(&self) -> &[String] {
        (**self).resources()
    }
    #[inline]
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        (**self).next()
    }
    #[inline]
    fn next_into(&mut self, arrival: &mut Arrival) -> Result<bool, WorkloadError> {
        (**self).next_into(arrival)
    }
    #[inline]
    fn refill(&mut self, flow: FlowId, now: Nanos) -> Option<Arrival> {
        (**self).refill(flow, now)
    }
    fn is_open_loop(&self) -> bool {
        (**self).is_open_loop()
    }
    fn weight(&self, flow: FlowId) -> Weight {
        (**self).weight(flow)
    }
    fn resource_weights(&self, flow: FlowId) -> Option<&[Weight]> {
        (**self).resource_weights(flow)
    }
    fn programs(&self) -> ProgramTable {
        (**self).programs()
    }
    fn label(&self, flow: FlowId) -> String {
        (**self).label(flow)
    }
    fn class(&self, flow: FlowId) -> Option<&str> {
        (**self).class(flow)
    }
    fn packets_hint(&self) -> Option<u64> {
        (**self).packets_hint()
    }
    fn notices(&self) -> Vec<Notice> {
        (**self).notices()
    }
}

/// The most flows of any workload; schedulers bound their tables likewise.
pub(crate) const MAX_FLOWS: u32 = dovetail_sched::Limits::UNLIMITED.flows;

/// A well-mixed 64-bit number out of two (the finaliser of SplitMix64, applied to each).
#[must_use]
pub(crate) fn mix(seed: u64, value: u64) -> u64 {
    fn finalise(mut z: u64) -> u64 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    finalise(finalise(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ value.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
