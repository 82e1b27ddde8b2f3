//! Pairs the same packets under two policies as they end.
//!
//! A packet is identified by its flow and its rank in that flow, which no policy changes. Both runs proceed at the same pace:
//! the one that is ahead in virtual time pauses while too many of its packets are unpaired, so that memory grows with the
//! packets that wait in one run and not in the other, never with the length of the run.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use dovetail_sched::{FlowId, Nanos};
use dovetail_sim::blame::Ended;

/// Number of unpaired packets at which a run that is ahead pauses.
const AHEAD: usize = 1 << 16;

/// Packets handed over at once.
const BATCH: usize = 256;

/// Statistics of a flow's packets under both policies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Paired {
    /// Packets that ended under both.
    pub(crate) pairs: u64,
    /// Packets that only one of them sent.
    pub(crate) only: [u64; 2],
    /// Sums of the pairs' latencies.
    pub(crate) latency_nanos: [u128; 2],
    /// Packets that are quicker under the second policy.
    pub(crate) gained: u64,
    /// Packets that are slower under it.
    pub(crate) lost: u64,
    /// The largest increase of latency, and the packet's number.
    pub(crate) worst: Option<(Nanos, u64)>,
}

impl Paired {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.gained += other.gained;
        self.lost += other.lost;
        for at in 0..2 {
            self.only[at] += other.only[at];
            self.latency_nanos[at] += other.latency_nanos[at];
        }
        if other.worst.is_some_and(|(loss, _)| self.worst.is_none_or(|(known, _)| loss > known)) {
            self.worst = other.worst;
        }
    }

    /// The mean latency under each policy.
    pub(crate) fn mean_ms(&self) -> [f64; 2] {
        self.latency_nanos.map(|sum| sum as f64 / 1e6 / self.pairs.max(1) as f64)
    }

    /// Records the packet with this number: its latency under each policy, if it ended.
    pub(crate) fn meet(&mut self, number: u64, took: [Option<Nanos>; 2]) {
        let (first, second) = match took {
            [Some(first), Some(second)] => (first, second),
            [first, second] => {
                self.only[0] += u64::from(first.is_some());
                self.only[1] += u64::from(second.is_some());
                return;
            }
        };
        self.pairs += 1;
        self.latency_nanos[0] += u128::from(first.0);
        self.latency_nanos[1] += u128::from(second.0);
        self.gained += u64::from(second < first);
        self.lost += u64::from(second > first);
        if second > first && self.worst.is_none_or(|(known, _)| second - first > known) {
            self.worst = Some((second - first, number));
        }
    }
}

/// The same for two complete runs, given as flow and duration (if it ended) in order of number. Those with the same rank
/// within a flow are paired.
pub(super) fn paired_by_rank(runs: [Vec<(FlowId, Option<Nanos>)>; 2]) -> BTreeMap<FlowId, Paired> {
    let [first, second] = runs.map(|run| {
        let mut ranks: BTreeMap<FlowId, u64> = BTreeMap::new();
        let ranked = run.into_iter().enumerate().map(|(number, (flow, took))| {
            let rank = ranks.entry(flow).or_default();
            *rank += 1;
            ((flow, *rank), (number as u64, took))
        });
        ranked.collect::<BTreeMap<_, _>>()
    });
    let mut flows: BTreeMap<FlowId, Paired> = BTreeMap::new();
    for (key, (number, took)) in &first {
        let twin = second.get(key).and_then(|(_, took)| *took);
        flows.entry(key.0).or_default().meet(*number, [*took, twin]);
    }
    for (key, (number, took)) in second.iter().filter(|(key, _)| !first.contains_key(key)) {
        flows.entry(key.0).or_default().meet(*number, [None, *took]);
    }
    flows
}

/// Where two runs are paired.
#[derive(Default)]
pub(crate) struct Pairing {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    // Packets of either run whose counterpart has not ended.
    alone: HashMap<(FlowId, u64), (usize, Ended)>,
    waiting: [usize; 2],
    reached: [Nanos; 2],
    has_ended: [bool; 2],
    flows: BTreeMap<FlowId, Paired>,
}

/// One run's side of a [`Pairing`].
pub(crate) struct Side<'a> {
    pairing: &'a Pairing,
    at: usize,
    batch: Vec<Ended>,
    reached: Nanos,
}

impl Pairing {
    /// The side of the first run or of the second.
    pub(crate) fn side(&self, at: usize) -> Side<'_> {
        Side { pairing: self, at, batch: Vec::with_capacity(BATCH), reached: Nanos::ZERO }
    }

    /// The statistics of each flow. Both runs must have ended.
    pub(crate) fn finish(self) -> BTreeMap<FlowId, Paired> {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (at, ended) in state.alone.into_values() {
            let mut took = [None; 2];
            took[at] = Some(ended.latency);
            state.flows.entry(ended.flow).or_default().meet(ended.packet, took);
        }
        state.flows
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Side<'_> {
    /// A packet ended in this run.
    #[inline]
    pub(crate) fn ended(&mut self, ended: &Ended) {
        self.reached = self.reached.max(ended.arrival + ended.latency);
        self.batch.push(*ended);
        if self.batch.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let (at, other) = (self.at, 1 - self.at);
        let mut state = self.pairing.lock();
        state.reached[at] = self.reached;
        for ended in self.batch.drain(..) {
            state.meet(at, ended);
        }
        self.pairing.moved.notify_all();
        // The run that is behind never pauses, so one of them always proceeds.
        while state.waiting[at] > AHEAD && !state.has_ended[other] && state.reached[at] > state.reached[other] {
            state = self.pairing.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Side<'_> {
    /// However the run ended, the other one must not pause for it.
    fn drop(&mut self) {
        self.pairing.lock().has_ended[self.at] = true;
        self.hand_over();
    }
}

impl State {
    fn meet(&mut self, at: usize, ended: Ended) {
        let key = (ended.flow, ended.rank);
        match self.alone.remove(&key) {
            Some((from, twin)) => {
                self.waiting[from] -= 1;
                let (first, second) = if at == 0 { (ended, twin) } else { (twin, ended) };
                let took = [first, second].map(|ended| Some(ended.latency));
                self.flows.entry(ended.flow).or_default().meet(first.packet, took);
            }
            None => {
                self.waiting[at] += 1;
                self.alone.insert(key, (at, ended));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn ended(number: u64, arrival: u64, latency: u64) -> Ended {
        let (flow, rank) = (FlowId((number % 3) as u32), number / 3);
        Ended { packet: number, flow, rank, arrival: Nanos(arrival), latency: Nanos(latency) }
    }

    #[test]
    fn packets_meet_whatever_the_order_and_the_pace() {
        let pairing = Pairing::default();
        const PACKETS: u64 = 300_000;
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut side = pairing.side(0);
                (0..PACKETS).for_each(|at| side.ended(&ended(at, at, 10)));
            });
            scope.spawn(|| {
                let mut side = pairing.side(1);
                // Each pair of neighbours swaps, one in ten is slower, and three of the last four are not sent.
                for at in (0..PACKETS - 3).map(|at| at ^ 1) {
                    side.ended(&ended(at, at, if at % 10 == 0 { 13 } else { 9 }));
                }
            });
        });
        let flows = pairing.finish();
        let mut all = Paired::default();
        flows.values().for_each(|flow| all.merge(flow));
        assert_eq!((all.pairs, all.only), (PACKETS - 3, [3, 0]));
        assert_eq!((all.lost, all.gained), (PACKETS / 10, all.pairs - PACKETS / 10));
        assert_eq!(all.worst.map(|(loss, _)| loss), Some(Nanos(3)));
        assert_eq!(all.latency_nanos[0], u128::from(all.pairs) * 10);
    }

    #[test]
    fn those_of_the_same_rank_in_two_runs_are_paired() {
        let [ann, bob] = [FlowId(0), FlowId(1)];
        let first = vec![(ann, Some(Nanos(4))), (bob, Some(Nanos(5))), (ann, None), (bob, Some(Nanos(9)))];
        let second = vec![(bob, Some(Nanos(7))), (ann, Some(Nanos(3))), (ann, Some(Nanos(1))), (ann, Some(Nanos(2)))];
        let flows = paired_by_rank([first, second]);
        let of = |flow: FlowId| (flows[&flow].pairs, flows[&flow].only, flows[&flow].gained, flows[&flow].worst);
        assert_eq!(of(ann), (1, [0, 2], 1, None));
        assert_eq!(of(bob), (1, [1, 0], 0, Some((Nanos(2), 1))));
    }

    #[test]
    fn a_run_that_breaks_off_does_not_keep_the_other_waiting() {
        let pairing = Pairing::default();
        drop(pairing.side(1));
        let mut side = pairing.side(0);
        (0..2 * AHEAD as u64).for_each(|at| side.ended(&ended(at, at, 1)));
        drop(side);
        let only: u64 = pairing.finish().values().map(|flow| flow.only[0]).sum();
        assert_eq!(only, 2 * AHEAD as u64);
    }
}
