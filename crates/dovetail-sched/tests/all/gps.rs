//! `wfq` and `wf2q+` against the fluid that they approximate, and the published bounds.

use std::collections::VecDeque;

use crate::fluid::Gps;
use crate::single::{Reweighing, Traffic, build, served, traffic};
use crate::support::{Job, Mode, Sent, pass_on, play};
use dovetail_sched::{
    Admission, Dispatch, DropPolicy, FlowId, Limits, Nanos, Packet, Scheduler, Weight, fluid::GpsClock,
};
use proptest::prelude::*;

const WEIGHTS: &[f64] = &[1.0, 1.0, 2.0, 3.0, 7.5, 0.1, 40.0];
/// For sums of some hundreds of numbers under 10^5.
const EPSILON: f64 = 1e-6;

fn gps_of(traffic: &Traffic) -> Gps {
    let mut gps = Gps::new(&traffic.weights);
    for (number, job) in traffic.jobs.iter().enumerate() {
        gps.advance(job.arrival as f64);
        gps.arrive(job.flow, number, job.demand[0] as f64);
    }
    let work: f64 = (0..traffic.jobs.len()).map(|job| traffic.work(job)).sum();
    gps.advance(gps.now() + work + 1.0);
    gps
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn wfq_ends_every_packet_at_most_the_largest_after_gps(traffic in traffic(WEIGHTS, 0, 120)) {
        let gps = gps_of(&traffic);
        for one in traffic.play("wfq") {
            let ideal = gps.finished[&one.job];
            prop_assert!(
                one.end[0] as f64 <= ideal + traffic.largest() + EPSILON,
                "packet {} ended at {} and in the fluid at {ideal}", one.job, one.end[0]
            );
        }
    }

    #[test]
    fn wfq_is_never_behind_gps_by_more_than_the_largest_packet(traffic in traffic(WEIGHTS, 0, 100)) {
        let gps = gps_of(&traffic);
        let sent = traffic.play("wfq");
        let ends = sent.iter().flat_map(|one| [one.start[0] as f64, one.end[0] as f64]);
        // Both services are piecewise linear, so the difference is largest where one of them bends.
        let bends: Vec<f64> = ends.chain(gps.history.iter().map(|&(time, _)| time)).collect();
        for flow in traffic.flows() {
            for &at in &bends {
                let behind = gps.served(flow, at) - served(&sent, flow, at);
                prop_assert!(behind <= traffic.largest() + EPSILON, "flow {flow} is {behind} behind at {at}");
            }
        }
    }

    #[test]
    fn wfq_sends_what_gps_finishes_first(traffic in traffic(WEIGHTS, 0, 120)) {
        let gps = gps_of(&traffic);
        let sent = traffic.play("wfq");
        for (place, one) in sent.iter().enumerate() {
            for other in &sent[place + 1..] {
                if traffic.jobs[other.job].arrival <= one.released {
                    let (mine, its) = (gps.finished[&one.job], gps.finished[&other.job]);
                    prop_assert!(mine <= its + EPSILON, "packet {} ({mine}) before {} ({its})", one.job, other.job);
                }
            }
        }
    }

    #[test]
    fn wfq_follows_gps_through_evictions_discards_new_weights_and_forgotten_flows(
        // Packets without work that arrive while the fluid is idle share one tag, whenever they arrive.
        traffic in traffic(WEIGHTS, 1, 150),
        on_full in prop::sample::select(&[DropPolicy::Head, DropPolicy::Longest][..]),
        flow_packets in prop::option::of(1u32..6),
        packets in prop::option::of(3u32..12),
        changes in prop::collection::vec((0usize..300, 0u32..5, prop::sample::select(WEIGHTS)), 0..20),
        forgets in prop::collection::vec((0usize..300, 0u32..5), 0..20),
        discards in prop::collection::vec((0usize..300, 0u32..5), 0..8),
        slow in prop::sample::select(&[0u64, 2, 3][..]),
    ) {
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        // If packets are ordered by the second resource's work, the first may delay them while the fluid goes on.
        let demand = |job: &Job| vec![slow * job.demand[0], job.demand[0]];
        let jobs: Vec<Job> = traffic.jobs.iter().map(|job| Job { demand: demand(job), ..job.clone() }).collect();
        let mut probe = Probe {
            inner: build("wfq", 2, limits, &traffic.weights),
            gps: Gps::new(&traffic.weights),
            waiting: Vec::new(),
            evicted: VecDeque::new(),
            changes,
            forgets,
            discards,
            calls: 0,
        };
        play(&mut probe, &jobs, Mode::NoWait);
    }

    #[test]
    fn wf2q_plus_ends_every_packet_as_on_a_server_of_its_own(traffic in traffic(WEIGHTS, 0, 150)) {
        check_own_server(&traffic, &traffic.play("wf2q+"))?;
    }

    #[test]
    fn wf2q_plus_keeps_its_worst_case_fair_index(traffic in traffic(WEIGHTS, 0, 150)) {
        let sent = traffic.play("wf2q+");
        let rates: Vec<f64> = traffic.flows().map(|flow| traffic.rate(flow)).collect();
        check_worst_case_fairness(&traffic, &sent, 0, &rates)?;
    }

    /// Weights change in the middle of the run. A flow's lead at its old rate is preserved.
    #[test]
    fn wf2q_plus_is_worst_case_fair_by_new_weights_from_when_they_are_set(
        traffic in traffic(WEIGHTS, 0, 150),
        new in prop::collection::vec(prop::sample::select(WEIGHTS), 5),
        change in 0usize..100,
    ) {
        let mut traffic = traffic;
        let old: Vec<f64> = traffic.flows().map(|flow| traffic.rate(flow)).collect();
        let mut scheduler = Reweighing::new(build("wf2q+", 1, Limits::UNLIMITED, &traffic.weights), &new, change);
        let sent = play(&mut scheduler, &traffic.jobs, Mode::Unbounded);
        traffic.weights = new[..traffic.weights.len()].to_vec();
        if let Some(first) = sent.get(change) {
            check_worst_case_fairness(&traffic, &sent, first.start[0], &old)?;
        }
    }

    /// Lost packets delay no other packet.
    #[test]
    fn wf2q_plus_keeps_its_bound_through_evictions(
        traffic in traffic(WEIGHTS, 1, 150),
        on_full in prop::sample::select(&[DropPolicy::Head, DropPolicy::Longest][..]),
        flow_packets in prop::option::of(1u32..5),
        packets in prop::option::of(3u32..12),
    ) {
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        let sent = play(&mut *build("wf2q+", 1, limits, &traffic.weights), &traffic.jobs, Mode::Unbounded);
        check_own_server(&traffic, &sent)?;
    }

    #[test]
    fn wf2q_plus_never_runs_ahead_of_the_fluid_of_backlogged_flows(
        weights in prop::collection::vec(prop::sample::select(WEIGHTS), 1..=5),
        works in prop::collection::vec((0u32..5, 1u64..60), 1..150),
    ) {
        let flows = weights.len() as u32;
        let packet = |(flow, work)| Job { flow: flow % flows, bytes: 100, arrival: 0, demand: vec![work] };
        let traffic = Traffic { weights, jobs: works.into_iter().map(packet).collect() };
        let gps = gps_of(&traffic);
        let sent = traffic.play("wf2q+");
        // All stay backlogged until the first flow has been sent its last packet.
        let last = |flow| sent.iter().rposition(|one| one.flow == flow);
        let until = traffic.flows().filter_map(last).min().expect("a packet");
        for one in &sent[..=until] {
            let (start, ideal) = (one.start[0] as f64, gps.started[&one.job]);
            prop_assert!(start >= ideal - EPSILON, "packet {} started at {start}, in the fluid at {ideal}", one.job);
            for flow in traffic.flows() {
                let end = one.end[0] as f64;
                let ahead = served(&sent, flow, end) - gps.served(flow, end);
                let bound = traffic.largest_of(flow) * (1.0 - traffic.rate(flow));
                prop_assert!(ahead <= bound + EPSILON, "flow {flow} is {ahead} ahead at {end}, over {bound}");
                let behind = gps.served(flow, start) - served(&sent, flow, start);
                prop_assert!(behind <= traffic.largest() + EPSILON, "flow {flow} is {behind} behind at {start}");
            }
        }
    }
}

/// Each packet must end at most the largest packet after it would on a server of the flow's own, of its share's rate.
fn check_own_server(traffic: &Traffic, sent: &[Sent]) -> Result<(), TestCaseError> {
    let mut own = vec![0.0f64; traffic.weights.len()];
    let mut bound = vec![0.0; traffic.jobs.len()];
    for (number, job) in traffic.jobs.iter().enumerate() {
        let end = &mut own[job.flow as usize];
        *end = end.max(job.arrival as f64) + traffic.work(number) / traffic.rate(job.flow);
        bound[number] = *end + traffic.largest();
    }
    for one in sent {
        let (end, bound) = (one.end[0] as f64, bound[one.job]);
        prop_assert!(end <= bound + EPSILON, "packet {} ended at {end}, after {bound}", one.job);
    }
    Ok(())
}

/// At every instant from `from` on, everything that a flow has queued must be finished after `Q/r + L·(1 - r)/r + L_max`: its
/// backlog at its share's rate, and the worst-case fair index. The flow may be ahead by `L·(1 - r)`, which at an `earlier` rate
/// may have been more.
fn check_worst_case_fairness(
    traffic: &Traffic,
    sent: &[Sent],
    from: u64,
    earlier: &[f64],
) -> Result<(), TestCaseError> {
    let bends = sent.iter().flat_map(|one| [traffic.jobs[one.job].arrival, one.start[0], one.end[0]]);
    for flow in traffic.flows() {
        let (own, rate) = (traffic.largest_of(flow), traffic.rate(flow));
        let ahead = own * (1.0 - rate.min(earlier[flow as usize]));
        let index = ahead / rate + traffic.largest();
        let mine: Vec<&Sent> = sent.iter().filter(|one| one.flow == flow).collect();
        for at in bends.clone().filter(|&at| at >= from) {
            let present = |one: &&&Sent| traffic.jobs[one.job].arrival <= at && one.end[0] > at;
            let left = |one: &&Sent| (one.end[0] - one.start[0].max(at)) as f64;
            let queue: f64 = mine.iter().filter(present).map(left).sum();
            if let Some(last) = mine.iter().rfind(present) {
                let (end, bound) = (last.end[0] as f64, at as f64 + queue / rate + index);
                prop_assert!(end <= bound + EPSILON, "flow {flow}, backlogged at {at}, ended at {end}, over {bound}");
            }
        }
    }
    Ok(())
}

/// `m` flows of long packets, and `m + 2` of short ones that send one in turn. If the virtual time were paced by the backlogged
/// flows alone, `m + 1` at a time, it would have passed each short flow's last tag before its next turn: the short ones would
/// have the server to themselves until the long packets' tags are reached, and the next of them would find all the long packets
/// due at once.
#[test]
fn wf2q_plus_is_not_outrun_by_flows_that_come_and_go() {
    let (m, long, short) = (8u32, 4_000u64, 10u64);
    let job = |flow, arrival, work| Job { flow, bytes: 100, arrival, demand: vec![work] };
    let mut jobs: Vec<Job> = (0..m).map(|flow| job(flow, 0, long)).collect();
    let turns = long / short * u64::from(m + 1) + 20;
    jobs.extend((0..turns).map(|turn| job(m + (turn % u64::from(m + 2)) as u32, turn * short, short)));
    let traffic = Traffic { weights: vec![1.0; 2 * m as usize + 2], jobs };
    let rates: Vec<f64> = traffic.flows().map(|flow| traffic.rate(flow)).collect();
    check_worst_case_fairness(&traffic, &traffic.play("wf2q+"), 0, &rates).expect("the published bound");
}

#[test]
fn the_fluid_departs_one_flow_after_the_other() {
    // Weights 1, 2, 1 with 10, 10, 30 of work. Rates 1/4, 1/2, 1/4 until flow 1 is done at 20 (V = 5); then 1/2 each
    // until flow 0 is, which has 5 left, at 30 (V = 10); flow 2 has 20 left and is done at 50 (V = 30).
    let mut gps = GpsClock::new();
    for (flow, weight, work) in [(0, 1.0, 10.0), (1, 2.0, 10.0), (2, 1.0, 30.0)] {
        gps.arrive(FlowId(flow), weight, work);
    }
    for (now, virtual_time) in
        [(8, 2.0), (20, 5.0), (24, 7.0), (30, 10.0), (40, 20.0), (35, 20.0), (50, 30.0), (90, 30.0)]
    {
        gps.advance(Nanos(now));
        assert_eq!(gps.virtual_time(), virtual_time, "at {now}");
    }
    assert!(gps.is_idle());
}

#[test]
fn the_fluid_passes_all_departures_in_one_step() {
    let mut gps = GpsClock::new();
    for (flow, weight, work) in [(0, 1.0, 10.0), (1, 2.0, 10.0), (2, 1.0, 20.0), (2, 1.0, 10.0)] {
        gps.arrive(FlowId(flow), weight, work);
    }
    gps.advance(Nanos(49));
    assert_eq!(gps.virtual_time(), 29.0);
}

/// Wraps a scheduler, reports every event to the fluid, and checks every choice.
#[derive(Debug)]
struct Probe {
    inner: Box<dyn Scheduler>,
    gps: Gps,
    waiting: Vec<usize>,
    evicted: VecDeque<Packet>,
    changes: Vec<(usize, u32, f64)>,
    forgets: Vec<(usize, u32)>,
    discards: Vec<(usize, u32)>,
    calls: usize,
}

impl Probe {
    /// Removes from the fluid what was evicted, as of the last arrival or departure, which is the fluid's current time.
    fn collect(&mut self) {
        while let Some(lost) = self.inner.poll_evicted() {
            self.gps.evict(lost.handle as usize);
            self.waiting.retain(|&job| job != lost.handle as usize);
            self.evicted.push_back(lost);
        }
    }

    fn interfere(&mut self) {
        for &(at, flow) in &self.discards {
            if at == self.calls {
                self.inner.discard(FlowId(flow));
            }
        }
        self.collect();
        for &(at, flow, weight) in &self.changes {
            if at == self.calls {
                self.inner.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
                self.gps.set_weight(flow, weight);
            }
        }
        for &(at, flow) in &self.forgets {
            if at == self.calls && self.inner.forget(FlowId(flow)) {
                self.gps.forget(flow);
            }
        }
        self.calls += 1;
    }
}

impl Scheduler for Probe {
    pass_on!();

    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        let admission = self.inner.enqueue(packet, now);
        self.collect();
        if admission.is_queued() {
            let job = packet.handle as usize;
            self.gps.advance(now.as_f64());
            self.gps.arrive(packet.flow.0, job, packet.demand.times()[1].as_f64());
            self.waiting.push(job);
        }
        self.interfere();
        admission
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        if !self.waiting.is_empty() {
            self.gps.advance(now.as_f64());
        }
        let out = self.inner.dequeue(now)?;
        let job = out.packet.handle as usize;
        let ideal = self.gps.drained();
        let chosen = ideal.finished[&job];
        for other in &self.waiting {
            let its = ideal.finished[other];
            assert!(chosen <= its + EPSILON, "packet {job} ({chosen}) was sent before {other} ({its})");
        }
        self.waiting.retain(|&other| other != job);
        self.interfere();
        Some(out)
    }

    fn poll_evicted(&mut self) -> Option<Packet> {
        self.evicted.pop_front()
    }
}
