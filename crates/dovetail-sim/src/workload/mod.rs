//! Where packets come from: captures, tables and synthetic scenarios, all as one stream of arrivals.
//!
//! A [`Workload`] says which packet arrives when, to which flow it belongs and what it costs on every resource. It is
//! asked for one arrival after the other and never holds the whole stream: memory grows with flows, not with packets.
//!
//! | source | made by | its costs come from |
//! |---|---|---|
//! | pcap and pcapng captures, plain or gzip | [`Capture`] | [`ClassSet`]: classes of flows with costs |
//! | CSV tables | [`Csv`] | the table itself |
//! | scenarios in TOML | [`Scenario`] | [`ClassSet`], out of the scenario |
//!
//! Nothing here opens a file or reads a clock: bytes come through [`std::io::Read`], names of files are only for
//! messages. Input that is wrong gives a [`WorkloadError`]; input that is merely odd (a clock that runs back, a frame
//! that was cut) is counted in [`Notice`]s.

mod capture;
mod class;
mod cost;
mod csv;
mod error;
mod input;
mod prefix;
mod scenario;
mod survey;

pub use capture::{Capture, CaptureOptions};
pub use class::{Class, ClassError, ClassSet, Ports, Resource};
pub use cost::{Cost, CostError};
pub use csv::{Csv, CsvOptions};
pub use error::WorkloadError;
pub use prefix::{Prefix, PrefixError};
pub use scenario::{Cdf, CdfError, Scenario, Size, Synthetic};
pub use survey::{Survey, scale_for_load, survey};

use dovetail_sched::{Demand, FlowId, Nanos, Weight};

/// A packet that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When; the workload's first packet is near time 0.
    pub at: Nanos,
    /// To which flow it belongs, a dense id.
    pub flow: FlowId,
    /// Its length on the wire, in bytes.
    pub bytes: u32,
    /// What it costs on each of the workload's resources.
    pub demand: Demand,
}

/// Something odd that was met and worked around, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What, in words that follow a number: `3 packets …`.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// A stream of packets.
pub trait Workload {
    /// The resources' names, in pipeline order: 1 to [`MAX_RESOURCES`](dovetail_sched::MAX_RESOURCES).
    fn resources(&self) -> &[String];

    /// The next arrival, in order of time; `None` after the last.
    ///
    /// # Errors
    /// When the input cannot be read any further. After an error, or `None`, the stream is at its end.
    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError>;

    /// A packet of `flow` left its queue at `now`: for a flow that is always backlogged, a packet to take its place,
    /// arriving at `now`. `None` for any other flow, and when the flow has no more.
    fn refill(&mut self, _flow: FlowId, _now: Nanos) -> Option<Arrival> {
        None
    }

    /// The flow's weight; asked when the flow first appears.
    fn weight(&self, _flow: FlowId) -> Weight {
        Weight::ONE
    }

    /// What the flow is called in reports and records.
    fn label(&self, flow: FlowId) -> String;

    /// The name of the flow's class, if it has one.
    fn class(&self, _flow: FlowId) -> Option<&str> {
        None
    }

    /// How many arrivals there will be, as far as it is known; for progress bars.
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
    fn refill(&mut self, flow: FlowId, now: Nanos) -> Option<Arrival> {
        (**self).refill(flow, now)
    }
    fn weight(&self, flow: FlowId) -> Weight {
        (**self).weight(flow)
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

/// The most flows that any workload gives out; schedulers bound their tables likewise.
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

/// At most 60 characters of a text of somebody's, for a message.
pub(crate) fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(60).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}
