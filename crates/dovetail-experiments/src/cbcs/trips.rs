//! Runs, with the times of their packets on each resource.

use dovetail_sched::{FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
use dovetail_sim::{Observer, Options, Passage, PipelineMode, Profile, simulate, workload::Workload};

use super::packets::Packets;
use crate::{error::Error, experiment::Given};

/// A packet's passage over the CPU (0) and the link (1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trip {
    pub(super) flow: usize,
    pub(super) arrival: Nanos,
    pub(super) start: [Nanos; 2],
    pub(super) end: [Nanos; 2],
}

impl Trip {
    /// From arrival to the end of the link, in seconds.
    pub(super) fn delay_s(&self) -> f64 {
        (self.end[1] - self.arrival).as_secs_f64()
    }

    /// How long it waited for a resource, in seconds.
    pub(super) fn wait_s(&self, resource: usize) -> f64 {
        let from = if resource == 0 { self.arrival } else { self.end[resource - 1] };
        (self.start[resource] - from).as_secs_f64()
    }

    /// How long it occupied a resource between two instants, in seconds.
    fn held_s(&self, resource: usize, from: Nanos, to: Nanos) -> f64 {
        let (start, end) = (self.start[resource].max(from), self.end[resource].min(to));
        (end - start).as_secs_f64()
    }
}

/// The trips of a run, in order of release.
#[derive(Debug, Clone, Default)]
pub(super) struct Trips(pub(super) Vec<Trip>);

impl Trips {
    /// The trips of one flow.
    pub(super) fn of(&self, flow: usize) -> impl Iterator<Item = &Trip> {
        self.0.iter().filter(move |trip| trip.flow == flow)
    }

    /// Seconds that a resource was busy between two instants, with packets of one flow or of all.
    pub(super) fn busy_s(&self, flow: Option<usize>, resource: usize, from: Nanos, to: Nanos) -> f64 {
        let own = self.0.iter().filter(|trip| flow.is_none_or(|flow| trip.flow == flow));
        own.map(|trip| trip.held_s(resource, from, to)).sum()
    }
}

/// The longest delay of some trips, in seconds.
pub(super) fn worst_s<'a>(trips: impl Iterator<Item = &'a Trip>) -> f64 {
    trips.map(Trip::delay_s).fold(0.0, f64::max)
}

impl Observer for Trips {
    fn appeared(&mut self, _: FlowId, _: &Profile<'_>) {}
    fn arrived(&mut self, _: &Packet) {}
    fn dropped(&mut self, _: &Packet, _: Nanos) {}
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let (start, end) = (passage.start(), passage.end());
        let [start, end] = [start, end].map(|times| [times[0], times[1]]);
        self.0.push(Trip { flow: packet.flow.index(), arrival: packet.arrival, start, end });
    }
}

/// Sends all packets through a policy, a CPU and a link, with unlimited room between them.
pub(super) fn play(packets: &Packets, policy: &str, given: &Given<'_>) -> Result<Trips, Error> {
    let mut workload = packets.replay();
    let setup = Setup { programs: workload.programs(), ..Setup::new(packets.resources.len(), Limits::UNLIMITED) };
    let mut scheduler = policy.parse::<PolicySpec>()?.build(&setup)?;
    let options = Options { stop: given.stop(), ..Options::default() };
    let mut trips = Trips(Vec::with_capacity(packets.arrivals.len()));
    simulate(&mut workload, scheduler.as_mut(), PipelineMode::Unbounded, &mut trips, options)
        .map_err(|error| Error::broken(format!("{policy}: {error}")))?;
    Ok(trips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up() {
        let seconds = |at: u64| Nanos(at * 1_000_000_000);
        let trip = Trip { flow: 1, arrival: seconds(1), start: [3, 7].map(seconds), end: [5, 10].map(seconds) };
        assert_eq!((trip.delay_s(), trip.wait_s(0), trip.wait_s(1)), (9.0, 2.0, 2.0));
        let other = Trip { flow: 0, start: [5, 10].map(seconds), end: [6, 12].map(seconds), ..trip };
        let trips = Trips(vec![trip, other]);
        assert_eq!(trips.busy_s(None, 0, seconds(4), seconds(100)), 2.0);
        assert_eq!(trips.busy_s(Some(1), 1, seconds(0), seconds(9)), 2.0);
        assert_eq!(trips.busy_s(Some(0), 1, seconds(0), seconds(9)), 0.0);
        assert_eq!(worst_s(trips.of(0)), 11.0);
    }
}
