//! Decides how many frames to receive at once.
//!
//! Packets beyond the box's capacity are lost, and the place decides which flows lose them. A full receive ring drops from
//! all arrivals alike. At the queues, flows lose what they send beyond their share; but refusing a packet costs time too,
//! and thousands of frames fit into no cache. So everything is received only where that makes a difference: where some
//! flows send much less than others. Where all send about as much, all lose about as much in either place, and no more is
//! received than the policy needs for its choice.
//!
//! Arrivals are counted in periods, each long enough for [`MEAN`] packets on average per active flow. If some flow had
//! fewer than [`LITTLE`], there are flows that send little; by chance that is rare: with independent arrivals of equal
//! flows, about one flow in ten million has that few.

use dovetail_sched::{FlowId, Nanos};

/// Maximum frames per interface, and actions of the node, in one round: few enough that no interface waits long, many
/// enough that a system call is shared.
pub(super) const ROUND: usize = 64;
/// Interval in which at most a round's frames arrive: 3.2 million a second, of which refusing takes less than half of the
/// time.
const PER_ROUND: Nanos = Nanos::from_micros(20);
/// Maximum number of rounds' frames to receive at once: the capacity of the ring.
const MAX_ROUNDS: u64 = 64;
/// Frames that give a policy enough choice and fit into a second-level cache.
const ENOUGH: usize = 256;
/// Frames per round above that number: fewer than a round processes, so that queues that benefit no flow shrink.
const FEW: usize = ROUND / 4;
/// Mean packets per flow in a period.
const MEAN: u64 = 32;
/// A flow with fewer packets in a period sends little.
const LITTLE: u32 = 8;
/// Minimum packets in a period, so that it does not end before a second flow is seen.
const MIN_PACKETS: u64 = 1024;
/// A period is restarted after this time: flows that stopped long ago must not delay its end.
const MAX_PERIOD: Nanos = Nanos::from_secs(5);
/// How long everything is received after a period in which a flow sent little: its next packet may be that far away.
const UNEVEN_FOR: Nanos = Nanos::from_secs(1);

/// Decides how many frames to receive.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// When frames were last taken in.
    at: Nanos,
    uneven_until: Nanos,
    stretch: Stretch,
    /// Per flow, for the last period in which it had packets.
    counts: Vec<Count>,
}

#[derive(Debug, Default)]
struct Stretch {
    number: u32,
    began: Nanos,
    packets: u64,
    /// Flows that have had a packet.
    flows: u64,
    /// Flows that have had at least [`LITTLE`] packets.
    busy: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    stretch: u32,
    packets: u32,
}

impl Intake {
    /// How many frames to receive at `now`, given the number held.
    pub(super) fn most(&mut self, now: Nanos, held: usize) -> usize {
        let rounds = (1 + (now - self.at).0 / PER_ROUND.0).min(MAX_ROUNDS);
        self.at = now;
        let all = ROUND * rounds as usize;
        if now < self.uneven_until {
            all
        } else if held > ENOUGH {
            FEW
        } else {
            (ENOUGH - held).clamp(ROUND, all)
        }
    }

    /// Records a received packet of a flow.
    pub(super) fn note(&mut self, flow: FlowId, now: Nanos) {
        if self.counts.len() <= flow.index() {
            self.counts.resize(flow.index() + 1, Count::default());
        }
        let (count, stretch) = (&mut self.counts[flow.index()], &mut self.stretch);
        if now > stretch.began + MAX_PERIOD {
            stretch.begin_anew(now);
        }
        if count.stretch != stretch.number || count.packets == 0 {
            *count = Count { stretch: stretch.number, packets: 0 };
            stretch.flows += 1;
        }
        count.packets = count.packets.saturating_add(1);
        stretch.busy += u64::from(count.packets == LITTLE);
        stretch.packets += 1;
        if stretch.packets >= MIN_PACKETS.max(MEAN * stretch.flows) {
            if stretch.busy < stretch.flows {
                self.uneven_until = now + UNEVEN_FOR;
            }
            stretch.begin_anew(now);
        }
    }
}

impl Stretch {
    fn begin_anew(&mut self, now: Nanos) {
        *self = Self { number: self.number.wrapping_add(1), began: now, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::{
        Xoshiro256PlusPlus,
        rand_core::{Rng, SeedableRng},
    };

    use super::*;

    const NOW: Nanos = Nanos::from_secs(1);

    /// When [`ALL`] is the upper limit of an intake that last received frames at [`NOW`].
    const LATER: Nanos = Nanos::from_micros(1_000_080);
    const ALL: usize = 5 * ROUND;

    fn after(flows: impl IntoIterator<Item = u32>) -> Intake {
        let mut intake = Intake::default();
        intake.most(NOW, 0);
        flows.into_iter().for_each(|flow| intake.note(FlowId(flow), NOW));
        intake
    }

    #[test]
    fn a_choice_is_enough_where_flows_send_as_much() {
        for flows in [1, 60, 5000] {
            for (held, taken) in [(0, 256), (100, 156), (192, 64), (256, 64), (257, 16), (12_000, 16)] {
                let mut intake = after((0..200_000).map(|at| at % flows));
                assert_eq!(intake.most(LATER, held), taken, "{flows} flows");
                // At the same instant, the limit is one round's frames.
                assert_eq!(intake.most(LATER, 0), ROUND);
            }
        }
    }

    #[test]
    fn all_is_taken_in_for_a_second_where_a_flow_sends_little() {
        // Every thousandth packet belongs to a second flow, or to one of several.
        for others in [1, 100] {
            let flow = |at: u32| if at.is_multiple_of(1000) { 1 + at / 1000 % others } else { 0 };
            let mut intake = after((0..200_000).map(flow));
            assert_eq!(intake.most(LATER, 12_000), ALL);
            let until = NOW + UNEVEN_FOR;
            assert_eq!(intake.most(until - Nanos(1), 12_000), ROUND * MAX_ROUNDS as usize);
            assert_eq!(intake.most(until, 12_000), FEW);
        }
        // A quarter of what others send is not little.
        let mut intake = after((0..200_000).map(|at| if at % 9 == 0 { 2 } else { at % 2 }));
        assert_eq!(intake.most(LATER, 12_000), FEW);
    }

    #[test]
    fn what_was_long_ago_says_nothing() {
        // Ten thousand flows with a packet each, and then only two flows.
        let mut intake = after(0..10_000);
        let flood = |intake: &mut Intake, now| {
            (0..2 * MIN_PACKETS as u32).for_each(|at| intake.note(FlowId(u32::from(at % 500 == 0)), now))
        };
        flood(&mut intake, NOW);
        assert_eq!(intake.most(LATER, 12_000), FEW);
        let now = NOW + MAX_PERIOD + Nanos(1);
        flood(&mut intake, now);
        assert_eq!(intake.most(now + Nanos::from_micros(80), 12_000), ROUND * MAX_ROUNDS as usize);
    }

    #[test]
    fn of_equal_flows_none_sends_little_by_chance() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut intake = after((0..1_000_000).map(|_| random.next_u32() % 60));
        assert_eq!(intake.most(LATER, 12_000), FEW);
    }
}
