//! How many frames are taken in at once.
//!
//! Packets that the box has no time for are lost, and where says whose they are. A full ring takes from all that arrives. At the
//! queues, flows lose what they send beyond what they get; but to refuse a packet takes time too, and thousands of frames are in
//! no cache. So all that arrives is taken in only where that makes a difference: where some flows send much less than others.
//! Where all send about as much, all lose as much, here or there, and no more is taken in than the policy needs for its choice.
//!
//! Arrivals are counted in stretches, each so long that the flows that had any had [`MEAN`] packets each on average. There
//! are flows that send little if some had fewer than [`LITTLE`], which by chance is rare: with independent arrivals of equal
//! flows, about one in ten million has.

use dovetail_sched::{FlowId, Nanos};

/// Frames of an interface, and actions of the node, that one round takes: few enough that no interface waits long, many
/// enough that a system call is shared.
pub(super) const ROUND: usize = 64;
/// All that arrives is as many as a round's in so long: 3.2 million a second, of which the refused take less than half of the
/// time.
const PER_ROUND: Nanos = Nanos::from_micros(20);
/// How many rounds' frames are taken in at once: what the ring has places for.
const MOST_ROUNDS: u64 = 64;
/// Frames that a policy has choice enough among, and that fit a second cache.
const ENOUGH: usize = 256;
/// What a round takes in where more are here: fewer than it works on, so that queues that no one gains by do not stay long.
const FEW: usize = ROUND / 4;
/// Packets of a flow in a stretch, on average.
const MEAN: u64 = 32;
/// What sends fewer in a stretch sends little.
const LITTLE: u32 = 8;
/// Packets of a stretch at least, so that it is not over before a second flow is seen.
const LEAST: u64 = 1024;
/// After so long a stretch begins anew: flows of long ago are not to put off the end of one in which there are too many packets.
const LONGEST: Nanos = Nanos::from_secs(5);
/// For how long all is taken in after a stretch in which a flow sent little: the next packet of such a flow may be as far away.
const UNEVEN_FOR: Nanos = Nanos::from_secs(1);

/// Says how many frames are taken in.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// When frames were last taken in.
    at: Nanos,
    uneven_until: Nanos,
    stretch: Stretch,
    /// Of each flow, in the last stretch in which it had any.
    counts: Vec<Count>,
}

#[derive(Debug, Default)]
struct Stretch {
    number: u32,
    began: Nanos,
    packets: u64,
    /// Flows that have had a packet.
    flows: u64,
    /// Those of them that have had more than a little.
    busy: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    stretch: u32,
    packets: u32,
}

impl Intake {
    /// How many to take in at `now`, where so many are held.
    pub(super) fn most(&mut self, now: Nanos, held: usize) -> usize {
        let rounds = (1 + (now - self.at).0 / PER_ROUND.0).min(MOST_ROUNDS);
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

    /// A packet of a flow is taken in.
    pub(super) fn note(&mut self, flow: FlowId, now: Nanos) {
        if self.counts.len() <= flow.index() {
            self.counts.resize(flow.index() + 1, Count::default());
        }
        let (count, stretch) = (&mut self.counts[flow.index()], &mut self.stretch);
        if now > stretch.began + LONGEST {
            stretch.begin_anew(now);
        }
        if count.stretch != stretch.number || count.packets == 0 {
            *count = Count { stretch: stretch.number, packets: 0 };
            stretch.flows += 1;
        }
        count.packets = count.packets.saturating_add(1);
        stretch.busy += u64::from(count.packets == LITTLE);
        stretch.packets += 1;
        if stretch.packets >= LEAST.max(MEAN * stretch.flows) {
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

    /// What all is to an intake that took frames in at [`NOW`], a little later.
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
                // In no time, no more than a round's arrives.
                assert_eq!(intake.most(LATER, 0), ROUND);
            }
        }
    }

    #[test]
    fn all_is_taken_in_for_a_second_where_a_flow_sends_little() {
        // Every thousandth packet is of a flow of its own, or of a second one.
        for others in [1, 100] {
            let flow = |at: u32| if at.is_multiple_of(1000) { 1 + at / 1000 % others } else { 0 };
            let mut intake = after((0..200_000).map(flow));
            assert_eq!(intake.most(LATER, 12_000), ALL);
            let until = NOW + UNEVEN_FOR;
            assert_eq!(intake.most(until - Nanos(1), 12_000), ROUND * MOST_ROUNDS as usize);
            assert_eq!(intake.most(until, 12_000), FEW);
        }
        // A quarter of what others send is much.
        let mut intake = after((0..200_000).map(|at| if at % 9 == 0 { 2 } else { at % 2 }));
        assert_eq!(intake.most(LATER, 12_000), FEW);
    }

    #[test]
    fn what_was_long_ago_says_nothing() {
        // Ten thousand flows with a packet each, and then the only two that there are.
        let mut intake = after(0..10_000);
        let flood = |intake: &mut Intake, now| {
            (0..2 * LEAST as u32).for_each(|at| intake.note(FlowId(u32::from(at % 500 == 0)), now))
        };
        flood(&mut intake, NOW);
        assert_eq!(intake.most(LATER, 12_000), FEW);
        let now = NOW + LONGEST + Nanos(1);
        flood(&mut intake, now);
        assert_eq!(intake.most(now + Nanos::from_micros(80), 12_000), ROUND * MOST_ROUNDS as usize);
    }

    #[test]
    fn of_equal_flows_none_sends_little_by_chance() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut intake = after((0..1_000_000).map(|_| random.next_u32() % 60));
        assert_eq!(intake.most(LATER, 12_000), FEW);
    }
}
