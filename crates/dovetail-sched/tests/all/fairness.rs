//! `scfq`, `sfq`, `drr` and `fifo` against plain implementations of their definitions, and against the published bounds; and
//! what every fair policy must do in cases simple enough for mental arithmetic.

use std::collections::VecDeque;

use crate::single::{Reweighing, Traffic, build, traffic};
use crate::support::{Job, Mode, Sent, assert_feasible, play};
use dovetail_sched::{Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup};
use proptest::prelude::*;

/// Powers of two: sums of tags are exact, so that ties are ties.
const EXACT: &[f64] = &[0.25, 0.5, 1.0, 1.0, 2.0, 4.0];
const ANY: &[f64] = &[0.1, 1.0, 1.0, 3.0, 7.5, 40.0];
const EPSILON: f64 = 1e-6;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Tag {
    Start,
    Finish,
}

/// The definition, packet by packet: every packet is stamped when it arrives, with the virtual time of that instant. Returns
/// the order of service.
fn by_definition(traffic: &Traffic, tag: Tag) -> Vec<usize> {
    let flows = traffic.weights.len();
    let (mut virtual_time, mut largest) = (0.0f64, 0.0f64);
    let mut last_finish = vec![0.0f64; flows];
    let mut waiting: Vec<(f64, u32, usize, f64)> = Vec::new();
    let mut order = Vec::new();
    let mut busy_until: Option<u64> = None;
    let (mut now, mut next) = (0, 0);
    loop {
        if busy_until == Some(now) {
            busy_until = None;
            if waiting.is_empty() {
                // SFQ moves on to the largest finish tag; SCFQ starts afresh.
                match tag {
                    Tag::Start => virtual_time = largest,
                    Tag::Finish => {
                        virtual_time = 0.0;
                        last_finish.fill(0.0);
                    }
                }
            }
        }
        while next < traffic.jobs.len() && traffic.jobs[next].arrival <= now {
            let flow = traffic.jobs[next].flow;
            let start = virtual_time.max(last_finish[flow as usize]);
            let finish = start + traffic.work(next) / traffic.weights[flow as usize];
            last_finish[flow as usize] = finish;
            waiting.push((if tag == Tag::Start { start } else { finish }, flow, next, finish));
            next += 1;
        }
        if busy_until.is_none() && !waiting.is_empty() {
            let least = (0..waiting.len())
                .min_by(|&a, &b| {
                    let key = |at: usize| (waiting[at].0, waiting[at].1, waiting[at].2);
                    key(a).partial_cmp(&key(b)).expect("numbers")
                })
                .expect("not empty");
            let (key, _, job, finish) = waiting.remove(least);
            virtual_time = key;
            largest = largest.max(finish);
            order.push(job);
            busy_until = Some(now + traffic.jobs[job].demand[0]);
        }
        let arrival = traffic.jobs.get(next).map(|job| job.arrival);
        match [busy_until, arrival].into_iter().flatten().min() {
            Some(at) => now = at,
            None => return order,
        }
    }
}

/// Over every interval in which both stay backlogged, the normalised work of packets served from start to end must not differ
/// by more than a packet of each. `spells` are the backlogged intervals of each flow.
fn check_fairness(
    traffic: &Traffic,
    weights: &[f64],
    sent: &[Sent],
    spells: &[Vec<(u64, u64)>],
) -> Result<(), TestCaseError> {
    for i in traffic.flows() {
        for j in 0..i {
            let slack = [i, j].map(|flow| traffic.largest_of(flow) / weights[flow as usize]).iter().sum::<f64>();
            for &(b1, e1) in &spells[i as usize] {
                for &(b2, e2) in &spells[j as usize] {
                    let (begin, end) = (b1.max(b2), e1.min(e2));
                    let inside = sent.iter().filter(|one| one.start[0] >= begin && one.end[0] <= end);
                    // The difference over any interval is one of two prefix sums.
                    let (mut sum, mut least, mut most) = (0.0f64, 0.0f64, 0.0f64);
                    for one in inside {
                        let share = traffic.work(one.job) / weights[one.flow as usize];
                        sum += if one.flow == i {
                            share
                        } else if one.flow == j {
                            -share
                        } else {
                            0.0
                        };
                        prop_assert!(
                            sum - least <= slack + EPSILON && most - sum <= slack + EPSILON,
                            "flows {i} and {j} differ by {} over {slack} in {begin}..{}",
                            (sum - least).max(most - sum),
                            one.end[0]
                        );
                        least = least.min(sum);
                        most = most.max(sum);
                    }
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn scfq_and_sfq_are_what_their_papers_define(traffic in traffic(EXACT, 1, 150)) {
        for (policy, tag) in [("scfq", Tag::Finish), ("sfq", Tag::Start)] {
            let order: Vec<usize> = traffic.play(policy).iter().map(|one| one.job).collect();
            prop_assert_eq!(order, by_definition(&traffic, tag), "{}", policy);
        }
    }

    #[test]
    fn scfq_and_sfq_keep_every_two_backlogged_flows_within_a_packet_of_each(traffic in traffic(ANY, 0, 150)) {
        for policy in ["scfq", "sfq"] {
            let sent = traffic.play(policy);
            let spells: Vec<_> = traffic.flows().map(|flow| traffic.spells(&sent, flow)).collect();
            check_fairness(&traffic, &traffic.weights, &sent, &spells)?;
        }
    }

    /// Weights change in the middle of the run.
    #[test]
    fn scfq_and_sfq_are_fair_by_new_weights_from_when_they_are_set(
        traffic in traffic(ANY, 0, 150),
        new in prop::collection::vec(prop::sample::select(ANY), 5),
        change in 0usize..100,
    ) {
        for policy in ["scfq", "sfq"] {
            let mut scheduler = Reweighing::new(build(policy, 1, Limits::UNLIMITED, &traffic.weights), &new, change);
            let sent = play(&mut scheduler, &traffic.jobs, Mode::Unbounded);
            let mut before: Vec<_> = traffic.flows().map(|flow| traffic.spells(&sent, flow)).collect();
            let mut after = before.clone();
            let at = sent.get(change).map_or(u64::MAX, |one| one.start[0]);
            before.iter_mut().flatten().for_each(|spell| spell.1 = spell.1.min(at));
            after.iter_mut().flatten().for_each(|spell| spell.0 = spell.0.max(at));
            check_fairness(&traffic, &traffic.weights, &sent, &before)?;
            check_fairness(&traffic, &new, &sent, &after)?;
        }
    }

    /// Evicted packets count neither as served nor against the flow; the bound holds with the largest packet that arrived.
    #[test]
    fn scfq_and_sfq_are_fair_through_evictions(
        traffic in traffic(ANY, 1, 150),
        on_full in prop::sample::select(&[DropPolicy::Head, DropPolicy::Longest][..]),
        flow_packets in prop::option::of(2u32..5),
        packets in prop::option::of(4u32..12),
    ) {
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        for policy in ["scfq", "sfq"] {
            let sent = play(&mut *build(policy, 1, limits, &traffic.weights), &traffic.jobs, Mode::Unbounded);
            assert_feasible(&traffic.jobs, &sent, Mode::Unbounded);
            // Spells of what was sent are shorter than those that include what was lost, never longer.
            let spells: Vec<_> = traffic.flows().map(|flow| traffic.spells(&sent, flow)).collect();
            check_fairness(&traffic, &traffic.weights, &sent, &spells)?;
        }
    }

    #[test]
    fn drr_is_the_round_robin_of_its_definition(
        quantum in 1u64..3000,
        weights in prop::collection::vec(prop::sample::select(EXACT), 1..=5),
        steps in prop::collection::vec(prop_oneof![
            3 => (0u32..5, prop_oneof![1u32..1600, 1u32..60_000]).prop_map(Some),
            2 => Just(None),
        ], 1..200),
    ) {
        let mut drr = build(&format!("drr:quantum={quantum}"), 1, Limits::UNLIMITED, &weights);
        let mut plain = PlainDrr::new(quantum, &weights);
        let mut sent = Vec::new();
        let mut backlogged = Vec::new();
        let drain = std::iter::repeat_n(None, steps.len());
        for (handle, step) in (0..).zip(steps.iter().copied().chain(drain)) {
            match step {
                Some((flow, bytes)) => {
                    let flow = flow % weights.len() as u32;
                    offer(&mut *drr, flow, bytes, handle);
                    plain.enqueue(flow, bytes, handle);
                }
                None => {
                    let out = drr.dequeue(Nanos::ZERO).map(|out| (out.packet.flow.0, out.packet.bytes, out.packet.handle));
                    prop_assert_eq!(out, plain.dequeue());
                    if let Some((flow, bytes, _)) = out {
                        sent.push((flow, f64::from(bytes)));
                        backlogged.push(plain.backlogged());
                    }
                }
            }
        }
        // The published bound, over every interval of departures between which both flows had packets queued.
        let largest = |flow| sent.iter().filter(|&&(other, _)| other == flow).map(|&(_, bytes)| bytes).fold(0.0, f64::max);
        for i in 0..weights.len() as u32 {
            for j in 0..i {
                let [wi, wj] = [i, j].map(|flow| weights[flow as usize]);
                let bound = quantum as f64 + largest(i) / wi + largest(j) / wj;
                let (mut sum, mut least, mut most) = (0.0f64, 0.0f64, 0.0f64);
                for (&(flow, bytes), after) in sent.iter().zip(&backlogged) {
                    sum += if flow == i { bytes / wi } else if flow == j { -bytes / wj } else { 0.0 };
                    if !(after[i as usize] && after[j as usize]) {
                        (sum, least, most) = (0.0, 0.0, 0.0);
                    }
                    least = least.min(sum);
                    most = most.max(sum);
                    prop_assert!(sum - least <= bound && most - sum <= bound, "flows {i} and {j} over {bound}");
                }
            }
        }
    }

    #[test]
    fn fifo_sends_in_order_of_arrival(
        traffic in traffic(ANY, 0, 400),
        at_once in any::<bool>(),
        flow_packets in prop::option::of(1u32..4),
        packets in prop::option::of(2u32..20),
        on_full in prop::sample::select(&[DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest][..]),
    ) {
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        let mut traffic = traffic;
        if at_once {
            traffic.jobs.iter_mut().for_each(|job| job.arrival = 0);
        }
        let sent = play(&mut *build("fifo", 1, limits, &traffic.weights), &traffic.jobs, Mode::Unbounded);
        assert_feasible(&traffic.jobs, &sent, Mode::Unbounded);
        prop_assert!(sent.iter().is_sorted_by_key(|one| one.job));
    }
}

/// Deficit round robin with every turn of every round played out, in which a turn is over as soon as the next packet does not
/// fit.
struct PlainDrr {
    quantum: f64,
    weights: Vec<f64>,
    queues: Vec<VecDeque<(u32, u64)>>,
    deficit: Vec<f64>,
    round: VecDeque<u32>,
    earned: bool,
}

impl PlainDrr {
    fn new(quantum: u64, weights: &[f64]) -> Self {
        let flows = weights.len();
        Self {
            quantum: quantum as f64,
            weights: weights.to_vec(),
            queues: vec![VecDeque::new(); flows],
            deficit: vec![0.0; flows],
            round: VecDeque::new(),
            earned: false,
        }
    }

    fn enqueue(&mut self, flow: u32, bytes: u32, handle: u64) {
        let queue = &mut self.queues[flow as usize];
        if queue.is_empty() {
            self.round.push_back(flow);
        }
        queue.push_back((bytes, handle));
    }

    fn backlogged(&self) -> Vec<bool> {
        self.queues.iter().map(|queue| !queue.is_empty()).collect()
    }

    fn dequeue(&mut self) -> Option<(u32, u32, u64)> {
        loop {
            let flow = *self.round.front()?;
            let at = flow as usize;
            if !self.earned {
                self.deficit[at] += self.quantum * self.weights[at];
                self.earned = true;
            }
            let fits = |queue: &VecDeque<(u32, u64)>, deficit: f64| {
                queue.front().is_some_and(|&(bytes, _)| f64::from(bytes) <= deficit)
            };
            let sent = if fits(&self.queues[at], self.deficit[at]) { self.queues[at].pop_front() } else { None };
            if let Some((bytes, _)) = sent {
                self.deficit[at] -= f64::from(bytes);
            }
            if !fits(&self.queues[at], self.deficit[at]) {
                self.earned = false;
                self.round.pop_front();
                if self.queues[at].is_empty() {
                    self.deficit[at] = 0.0;
                } else {
                    self.round.push_back(flow);
                }
            }
            if let Some((bytes, handle)) = sent {
                return Some((flow, bytes, handle));
            }
        }
    }
}

fn offer(scheduler: &mut dyn Scheduler, flow: u32, bytes: u32, handle: u64) {
    let demand = Demand::new(&[Nanos(u64::from(bytes))]).expect("one resource");
    let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos::ZERO, handle, demand };
    let _ = scheduler.enqueue(&packet, Nanos::ZERO);
}

#[test]
fn drr_does_not_play_out_rounds_that_send_nothing() {
    // Flow 0 would earn a byte in a million rounds, flow 1 one a round.
    let mut drr = build("drr:quantum=1", 1, Limits::UNLIMITED, &[1e-6, 1.0]);
    offer(&mut *drr, 0, 4_000_000_000, 0);
    offer(&mut *drr, 1, 4_000_000_000, 1);
    let order: Vec<u64> = std::iter::from_fn(|| drr.dequeue(Nanos::ZERO)).map(|out| out.packet.handle).collect();
    assert_eq!(order, [1, 0]);
}

/// Flow 0 loses a large packet from its head, and the small ones behind it take its place.
#[test]
fn what_is_behind_an_evicted_packet_moves_up() {
    for (policy, expected) in [("wfq", [2, 3, 1]), ("wf2q+", [2, 1, 3]), ("scfq", [2, 3, 1]), ("sfq", [2, 1, 3])] {
        let limits = Limits { on_full: DropPolicy::Head, ..Limits::per_flow(2) };
        let mut scheduler = build(policy, 1, limits, &[]);
        for (handle, flow, work) in [(0, 0, 1000), (1, 1, 500), (2, 0, 10), (3, 0, 10)] {
            offer(&mut *scheduler, flow, work, handle);
        }
        assert_eq!(scheduler.poll_evicted().map(|lost| lost.handle), Some(0));
        let order: Vec<u64> =
            std::iter::from_fn(|| scheduler.dequeue(Nanos::ZERO)).map(|out| out.packet.handle).collect();
        assert_eq!(order, expected, "{policy}");
    }
}

const FAIR: [&str; 5] = ["drr:quantum=1000", "wfq", "wf2q+", "scfq", "sfq"];

/// The flows in order of service of `packets` packets of 1000 each.
fn order_of_backlog(policy: &str, weights: &[f64], packets: u64) -> Vec<u32> {
    let job = |flow| Job { flow, bytes: 1000, arrival: 0, demand: vec![1000] };
    let jobs = (0..packets).flat_map(|_| (0..weights.len() as u32).map(job)).collect();
    let traffic = Traffic { weights: weights.to_vec(), jobs };
    traffic.play(policy).iter().map(|one| one.flow).collect()
}

#[test]
fn one_flow_is_served_in_order() {
    for policy in FAIR {
        assert_eq!(order_of_backlog(policy, &[0.3], 50), [0; 50], "{policy}");
    }
}

#[test]
fn equal_flows_take_turns() {
    for policy in FAIR {
        for weight in [1.0, 0.1, 3.0] {
            let policy = policy.replace("1000", &format!("{}", (1000.0 / weight) as u32 + 1));
            for turn in order_of_backlog(&policy, &[weight; 3], 100).chunks(3) {
                assert_eq!(turn, [0, 1, 2], "{policy} with weights of {weight}");
            }
        }
    }
}

#[test]
fn a_long_backlog_is_shared_by_weight_within_a_packet() {
    let weights = [4.0, 2.0, 1.0];
    for policy in ["wfq", "wf2q+", "scfq", "sfq"] {
        let order = order_of_backlog(policy, &weights, 7000);
        let mut sent = [0.0f64; 3];
        // Flow 0 has its last packet sent after 7/4 of 7000. In between, only wf2q+ is never ahead by over a packet.
        for (number, &flow) in (1..=12_000).zip(&order) {
            sent[flow as usize] += 1.0;
            for (flow, weight) in weights.iter().enumerate() {
                let due = f64::from(number) * weight / 7.0;
                let within = (sent[flow] - due).abs() <= 1.0;
                assert!(
                    within || (policy != "wf2q+" && number % 7 != 0),
                    "{policy}: flow {flow} got {} of {due} by {number}",
                    sent[flow]
                );
            }
        }
    }
}

#[test]
fn the_resource_is_chosen_by_its_knob() {
    // Flow 0 is light on resource 1 and heavy on resource 2, flow 1 the other way round; on resource 3 they are equal.
    let run = |policy: &str| -> String {
        let mut scheduler =
            policy.parse::<PolicySpec>().expect("a policy").build(&Setup::new(3, Limits::UNLIMITED)).expect("three");
        for handle in 0..6 {
            for (flow, times) in [(0, [1, 3, 2]), (1, [3, 1, 2])] {
                let demand = Demand::new(&times.map(Nanos)).expect("three resources");
                let _ = scheduler.enqueue(
                    &Packet { flow: FlowId(flow), bytes: 1, arrival: Nanos::ZERO, handle, demand },
                    Nanos::ZERO,
                );
            }
        }
        std::iter::from_fn(|| scheduler.dequeue(Nanos::ZERO)).take(6).map(|out| out.packet.flow.to_string()).collect()
    };
    for policy in ["wfq", "wf2q+", "scfq", "sfq"] {
        let count = |of: &str, text: String| text.matches(of).count();
        assert!(count("0", run(&format!("{policy}:resource=first"))) >= 4, "{policy}");
        assert!(count("1", run(&format!("{policy}:resource=2"))) >= 4, "{policy}");
        assert_eq!(run(&format!("{policy}:resource=3")), "010101", "{policy}");
        assert_eq!(run(policy), "010101", "{policy}");
    }
    assert!("wfq:resource=0".parse::<PolicySpec>().is_err());
    assert!("wfq:resource=9".parse::<PolicySpec>().is_err());
    let third: PolicySpec = "wfq:resource=3".parse().expect("some pipeline has three resources");
    assert!(third.build(&Setup::new(2, Limits::UNLIMITED)).is_err());
}
