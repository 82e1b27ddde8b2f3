//! `cbcs` with the stamp of every queued packet written down and each choice made by a scan, while flows lose packets, are
//! forgotten and weighed anew. No time passes, so that the paper's clock stands still.

use std::collections::VecDeque;

use crate::{
    single::build,
    steps::{EXACT, FLOWS, Flows, Plain, compare, steps},
};
use dovetail_sched::{DropPolicy, Limits};
use proptest::prelude::*;

/// All that is known of a flow: where its packets start and end.
#[derive(Default, Clone)]
struct Lane {
    /// The finish tag of the last packet that was sent, or where the first one queued started.
    sent: f64,
    /// The finish tag of its last packet.
    finish: f64,
    queued: VecDeque<f64>,
}

struct Stamps {
    serves: bool,
    is_limited: bool,
    clock: f64,
    served: f64,
    lanes: Vec<Lane>,
}

/// The sum of eq. 12 with the same weight on all resources.
fn charge(times: &[u64], weight: f64) -> f64 {
    times.iter().map(|&time| time as f64).sum::<f64>() / weight
}

impl Plain for Stamps {
    fn arrived(&mut self, flows: &Flows, flow: usize) {
        if flows.packets() == 1 {
            (self.clock, self.served) = (0.0, 0.0);
            self.lanes.fill(Lane::default());
        }
        let lane = &mut self.lanes[flow];
        let start = lane.finish.max(self.clock);
        if lane.queued.is_empty() {
            lane.sent = start;
        }
        let times = flows.queues[flow].back().expect("it arrived");
        lane.finish = start + charge(times, flows.weights[flow]);
        lane.queued.push_back(lane.finish);
    }

    fn serve(&mut self, flows: &mut Flows) -> Option<usize> {
        let heads = self.lanes.iter().enumerate().filter_map(|(flow, lane)| Some((*lane.queued.front()?, flow)));
        let (stamp, flow) = heads.min_by(|a, b| a.partial_cmp(b).expect("numbers"))?;
        flows.queues[flow].pop_front();
        self.lanes[flow].queued.pop_front();
        self.lanes[flow].sent = stamp;
        self.served = self.served.max(stamp);
        if self.serves {
            self.clock = stamp;
        }
        Some(flow)
    }

    fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// A packet behind the one that is lost starts in its place, if that is not past; how far they were apart stays.
    fn evicted(&mut self, flows: &Flows, flow: usize, is_head: bool) {
        let Some(new_head) = flows.queues[flow].front() else { return self.discarded(flows, flow) };
        let charge = charge(new_head, flows.weights[flow]);
        let lane = &mut self.lanes[flow];
        if !is_head {
            lane.queued.pop_back();
        } else {
            lane.queued.pop_front();
            let earliest = lane.sent.max(self.clock) + charge;
            let moved_up = (lane.queued[0] - earliest).max(0.0);
            lane.queued.iter_mut().for_each(|stamp| *stamp -= moved_up);
        }
        lane.finish = lane.queued[lane.queued.len() - 1];
    }

    /// What was not sent is not charged.
    fn discarded(&mut self, _flows: &Flows, flow: usize) {
        let lane = &mut self.lanes[flow];
        lane.finish = lane.sent;
        lane.queued.clear();
    }

    /// The work by which it is ahead of what was served remains, and so do its pauses; what it is behind only shrinks.
    fn weighed(&mut self, flows: &Flows, flow: usize, old: f64) {
        let (new, served) = (flows.weights[flow], self.served);
        let kept = |tag: f64| if tag > served || new > old { served + (tag - served) * old / new } else { tag };
        let lane = &mut self.lanes[flow];
        if lane.queued.is_empty() {
            if lane.finish > served {
                lane.finish = kept(lane.finish);
            }
            return;
        }
        let mut ended = (lane.queued[0] - charge(&flows.queues[flow][0], old)).max(lane.sent);
        lane.finish = kept(ended);
        for (stamp, times) in lane.queued.iter_mut().zip(&flows.queues[flow]) {
            let pause = (*stamp - charge(times, old) - ended).max(0.0);
            ended = *stamp;
            lane.finish += pause + charge(times, new);
            *stamp = lane.finish;
        }
        lane.sent = kept(lane.sent);
    }

    fn forgotten(&mut self, _flows: &Flows, flow: usize) {
        self.lanes[flow] = Lane::default();
    }
}

/// Without limits, and where heads or tails of queues are evicted.
const LIMITS: [Limits; 3] = [
    Limits::UNLIMITED,
    Limits { flow_packets: Some(4), on_full: DropPolicy::Head, ..Limits::UNLIMITED },
    Limits { packets: Some(8), on_full: DropPolicy::Longest, ..Limits::UNLIMITED },
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn serves_the_smallest_stamp(
        serves in any::<bool>(),
        limits in prop::sample::select(&LIMITS[..]),
        (resources, steps) in (1usize..=2).prop_flat_map(|resources| (Just(resources), steps(resources, EXACT, 150))),
    ) {
        let policy = if serves { "cbcs:estimator=known,clock=self" } else { "cbcs:estimator=known" };
        let is_limited = limits != Limits::UNLIMITED;
        let mut stamps = Stamps { serves, is_limited, clock: 0.0, served: 0.0, lanes: vec![Lane::default(); FLOWS] };
        compare(&mut *build(policy, resources, limits, &[]), &mut stamps, resources, &steps)?;
    }
}
