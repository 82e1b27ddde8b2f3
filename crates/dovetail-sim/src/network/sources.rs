//! The next action of traffic. Nothing here depends on what happens to packets, so every policy meets the same traffic.

use std::mem;

use dovetail_sched::{Nanos, units::Rate};

use super::{
    sizes::{Sizes, stream},
    spec::{Arrivals, Datagrams, Kind, Traffic},
    transport::Transport,
};
use crate::workload::random::Random;

/// A source of traffic.
#[derive(Debug)]
pub(super) struct Source {
    kind: Doing,
    // Separate generators for sizes, times and places, so that one does not affect the other.
    times: Random,
    places: Random,
}

#[derive(Debug)]
enum Doing {
    Transfers { left: u32, sizes: Sizes, mean_gap_ns: f64 },
    LongLived { left: u32, mean_gap_ns: f64 },
    Datagrams { what: Datagrams, burst_ends: Nanos },
    Interactive { mean_gap_ns: f64, is_open: bool },
    // The users act, not the traffic.
    Nothing,
}

/// A single action of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    /// Opens a connection that carries this many bytes.
    Transfer(u64),
    /// Opens an unlimited connection.
    LongLived,
    /// Opens an interactive session.
    Session,
    /// Presses a key in the session.
    Keystroke,
    /// Sends a UDP packet of this many bytes.
    Datagram(u32),
    /// Nothing yet.
    Nothing,
}

impl Source {
    /// For number `at` of the network's traffic; `watched` is the rate that loads refer to.
    pub(super) fn new(traffic: &Traffic, at: usize, seed: u64, transport: &Transport, watched: Rate) -> Self {
        let kind = match &traffic.kind {
            Kind::Transfers { count, size, unit_bytes, arrivals } => {
                let sizes = Sizes::new(size, *unit_bytes, at, seed);
                let mean_gap_ns = match *arrivals {
                    Arrivals::Together => 0.0,
                    Arrivals::PerSecond(rate) => 1e9 / rate,
                    Arrivals::Load(load) => {
                        let bytes: u64 = traffic.sizes(at, seed).map(|bytes| transport.wire_bytes(bytes)).sum();
                        watched.nanos_for(bytes as f64) / load / f64::from(*count)
                    }
                };
                Doing::Transfers { left: *count, sizes, mean_gap_ns }
            }
            Kind::LongLived(flows) => {
                Doing::LongLived { left: *flows, mean_gap_ns: SPREAD.as_f64() / f64::from(*flows) }
            }
            Kind::Datagrams(what) => Doing::Datagrams { what: *what, burst_ends: Nanos::MAX },
            Kind::Interactive(what) => Doing::Interactive { mean_gap_ns: what.gap.as_f64(), is_open: false },
            Kind::Requests(_) => Doing::Nothing,
        };
        let mut source =
            Self { kind, times: Random::new(seed, stream(at, TIMES)), places: Random::new(seed, stream(at, PLACES)) };
        if let Doing::Datagrams { what: Datagrams { on_off: Some((on, _)), .. }, .. } = source.kind {
            let burst = traffic.start + source.wait(on.as_f64());
            source.burst_ends(burst);
        }
        source
    }

    /// What to do at `now`, and when to call again.
    pub(super) fn act(&mut self, now: Nanos) -> (Act, Option<Nanos>) {
        match &mut self.kind {
            Doing::Transfers { left, sizes, mean_gap_ns } => {
                let bytes = sizes.next();
                *left -= 1;
                let (more, mean) = (*left > 0, *mean_gap_ns);
                (Act::Transfer(bytes), more.then(|| now + self.wait(mean)))
            }
            Doing::LongLived { left, mean_gap_ns } => {
                *left -= 1;
                let (more, mean) = (*left > 0, *mean_gap_ns);
                (Act::LongLived, more.then(|| now + self.wait(mean)))
            }
            Doing::Interactive { mean_gap_ns, is_open } => {
                let act = if mem::replace(is_open, true) { Act::Keystroke } else { Act::Session };
                let mean_ns = *mean_gap_ns;
                // Never zero, or time would not advance.
                (act, Some(now + self.wait(mean_ns).max(Nanos(1))))
            }
            Doing::Nothing => (Act::Nothing, None),
            Doing::Datagrams { what, burst_ends } => {
                let Datagrams { bytes, gap, random, on_off, .. } = *what;
                let Some((on, off)) = on_off.filter(|_| now >= *burst_ends) else {
                    // Never zero, or time would not advance.
                    let gap = if random { self.wait(gap.as_f64()).max(Nanos(1)) } else { gap };
                    return (Act::Datagram(bytes), Some(now + gap));
                };
                let begins = now + self.wait(off.as_f64());
                let burst = begins + self.wait(on.as_f64());
                self.burst_ends(burst);
                (Act::Nothing, Some(begins))
            }
        }
    }

    /// Transfers that have not begun.
    pub(super) fn transfers_left(&self) -> u32 {
        if let Doing::Transfers { left, .. } = self.kind { left } else { 0 }
    }

    /// Whether every packet is a flow of its own.
    pub(super) fn is_flow_each(&self) -> bool {
        matches!(self.kind, Doing::Datagrams { what: Datagrams { flow_each: true, .. }, .. })
    }

    /// The sender and the receiver of a flow.
    pub(super) fn places(&mut self, traffic: &Traffic) -> (usize, usize) {
        let mut draw = |nodes: &[usize]| nodes[(self.places.unit() * nodes.len() as f64) as usize];
        (draw(&traffic.from), draw(&traffic.to))
    }

    /// A seed for another generator.
    pub(super) fn seed(&mut self) -> u64 {
        (self.places.unit() * (1u64 << 53) as f64) as u64
    }

    fn wait(&mut self, mean_ns: f64) -> Nanos {
        if mean_ns > 0.0 { Nanos::from_f64(self.times.exponential() * mean_ns) } else { Nanos::ZERO }
    }

    fn burst_ends(&mut self, at: Nanos) {
        if let Doing::Datagrams { burst_ends, .. } = &mut self.kind {
            *burst_ends = at;
        }
    }
}

/// Unlimited connections begin spread over about this time: those that open at the same instant would lose their SYNs
/// together, and retransmit them together.
const SPREAD: Nanos = Nanos::from_millis(100);
const TIMES: u64 = 1;
const PLACES: u64 = 2;
