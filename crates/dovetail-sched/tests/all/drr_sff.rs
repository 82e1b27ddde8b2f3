//! `drr-sff` against its pseudo-code, implemented plainly, and against what its module derives: fairness in a group and between
//! the groups, a long group that no flood starves, a threshold that follows the traffic, tables that stay bounded.

use std::collections::VecDeque;

use crate::single::build;
use dovetail_sched::{
    Admission, Demand, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Weight,
    flow::{FiveTuple, FlowTable},
};
use proptest::prelude::*;

fn offer(scheduler: &mut dyn Scheduler, flow: u32, bytes: u32, handle: u64, now: u64) -> Admission {
    let demand = Demand::new(&[Nanos(u64::from(bytes))]).expect("one resource");
    let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos(now), handle, demand };
    scheduler.enqueue(&packet, Nanos(now))
}

fn counter(scheduler: &dyn Scheduler, name: &str) -> f64 {
    let mut found = None;
    scheduler.figures(&mut |other, value| {
        if other == name {
            found = Some(value);
        }
    });
    found.expect("a counter of this name")
}

const SHORT: usize = 0;
const LONG: usize = 1;

/// The paper's figures 2 and 3 with two lists, a table of flows and no shortcut, and with the quanta that the module's head
/// derives for packets larger than a quantum. The groups' quanta over the base are given.
struct PlainSff {
    threshold: u64,
    timeout: u64,
    quantum: f64,
    group_quantum: [u32; 2],
    long_first: bool,
    groups: [PlainGroup; 2],
    turn: usize,
    /// The base, the groups' round in which it may be raised, from a turn on that ends too far below zero, and the group whose
    /// turns begin rounds.
    base: f64,
    round: Option<PlainRound>,
    first: usize,
    flows: Vec<PlainFlow>,
    changes: u64,
}

#[derive(Default)]
struct PlainGroup {
    list: VecDeque<u32>,
    dc: f64,
    /// Rounds begun, the quantum of the last, and how far below zero a visit of it ended, for weight 1.
    rounds: u64,
    quantum: f64,
    over: f64,
    sent: u64,
    evicted: u64,
}

#[derive(Default)]
struct PlainRound {
    had_turn: [bool; 2],
    over: f64,
}

#[derive(Clone, Default)]
struct PlainFlow {
    // Bytes, handle and arrival.
    queue: VecDeque<(u32, u64, u64)>,
    weight: f64,
    dc: f64,
    /// The round of its group in which it was visited last, or joined.
    round: u64,
    bytes_scheduled: u64,
    /// The arrival of the last packet that found the queue empty, was sent, or left the queue empty when it was evicted.
    last_arrival: u64,
    /// When its number of packets last changed.
    changed: u64,
}

impl PlainFlow {
    fn bytes(&self) -> u64 {
        self.queue.iter().map(|&(bytes, ..)| u64::from(bytes)).sum()
    }
}

impl PlainSff {
    fn group_of(&self, flow: u32) -> Option<usize> {
        self.groups.iter().position(|group| group.list.contains(&flow))
    }

    fn backlog(&self) -> (usize, u64) {
        (self.flows.iter().map(|flow| flow.queue.len()).sum(), self.flows.iter().map(PlainFlow::bytes).sum())
    }

    fn changed(&mut self, flow: u32) {
        self.changes += 1;
        self.flows[flow as usize].changed = self.changes;
    }

    /// FreeBuffer(): the flow that must lose a packet.
    fn victim(&self, arriving: u32, bytes: u32, now: u64, packets_are_full: bool) -> Option<u32> {
        let group = if self.long_first {
            if self.groups[LONG].list.is_empty() { SHORT } else { LONG }
        } else {
            let flow = &self.flows[arriving as usize];
            let new = flow.queue.is_empty() && now > flow.last_arrival + self.timeout;
            let would_join = usize::from(!new && flow.bytes_scheduled >= self.threshold);
            let into = self.group_of(arriving).unwrap_or(would_join);
            // What the group would hold, as a multiple of its share in a buffer of its quanta.
            let fill = |group: usize| {
                let flows = self.groups[group].list.iter().map(|&flow| &self.flows[flow as usize]);
                let held = if packets_are_full {
                    flows.map(|flow| flow.queue.len() as u64).sum::<u64>() + u64::from(group == into)
                } else {
                    flows.map(PlainFlow::bytes).sum::<u64>() + u64::from(bytes) * u64::from(group == into)
                };
                u128::from(held) * u128::from(self.group_quantum[1 - group])
            };
            if fill(SHORT) > fill(LONG) { SHORT } else { LONG }
        };
        let key = |&flow: &u32| {
            let flow = &self.flows[flow as usize];
            (flow.queue.len(), flow.changed)
        };
        self.groups[group].list.iter().copied().max_by_key(key)
    }

    fn group_may_be_empty(&mut self, group: usize) {
        if self.groups[group].list.is_empty() {
            (self.groups[group].dc, self.groups[group].over) = (0.0, 0.0);
            if self.turn == group {
                self.turn = 1 - group;
            }
        }
    }

    /// The lost packets, including the arriving one if it was refused.
    fn enqueue(&mut self, (flow, bytes, handle, now): (u32, u32, u64, u64), limits: &Limits) -> Vec<u64> {
        if limits.bytes.is_some_and(|most| u64::from(bytes) > most) {
            return vec![handle];
        }
        let mut lost = Vec::new();
        loop {
            let (packets, in_all) = self.backlog();
            let packets_are_full = limits.packets.is_some_and(|most| packets >= most as usize);
            if !packets_are_full && limits.bytes.is_none_or(|most| in_all + u64::from(bytes) <= most) {
                break;
            }
            let victim = self.victim(flow, bytes, now, packets_are_full);
            let Some(victim) = victim.filter(|&victim| victim != flow) else {
                lost.push(handle);
                return lost;
            };
            let group = self.group_of(victim).expect("a victim is listed");
            let (_, evicted, arrival) = self.flows[victim as usize].queue.pop_back().expect("a victim has packets");
            lost.push(evicted);
            self.changed(victim);
            self.groups[group].evicted += 1;
            if self.flows[victim as usize].queue.is_empty() {
                self.flows[victim as usize].last_arrival = arrival;
                self.groups[group].list.retain(|&other| other != victim);
                self.group_may_be_empty(group);
            }
        }
        let timeout = self.timeout;
        let i = &mut self.flows[flow as usize];
        if i.queue.is_empty() && now > i.last_arrival + timeout {
            i.bytes_scheduled = 0;
        }
        if i.queue.is_empty() {
            i.last_arrival = now;
        }
        i.queue.push_back((bytes, handle, now));
        if i.queue.len() == 1 {
            i.dc = 0.0;
            let group = if i.bytes_scheduled < self.threshold { SHORT } else { LONG };
            self.join(group, flow);
        }
        self.changed(flow);
        lost
    }

    fn join(&mut self, group: usize, flow: u32) {
        self.groups[group].list.push_back(flow);
        self.flows[flow as usize].round = self.groups[group].rounds;
    }

    /// The quantum of a group whose turn begins. Where one went too far below zero, the base is raised as soon as a group has had
    /// its turn.
    fn begin_turn(&mut self, group: usize) -> f64 {
        if let Some(round) = &mut self.round {
            if round.had_turn[group] {
                self.first = group;
                self.base = self.quantum.max(round.over);
                if round.over > 0.0 { *round = PlainRound::default() } else { self.round = None }
            }
            if let Some(round) = &mut self.round {
                round.had_turn[group] = true;
            }
        }
        f64::from(self.group_quantum[group]) * self.base
    }

    fn end_turn(&mut self, group: usize) {
        let below = -self.groups[group].dc;
        if below > self.quantum {
            let round = self.round.get_or_insert_default();
            round.had_turn[self.first] = true;
            round.had_turn[group] = true;
            round.over = round.over.max(below / f64::from(self.group_quantum[group]));
        }
        self.turn = 1 - group;
    }

    fn dequeue(&mut self) -> Option<u64> {
        if self.groups.iter().all(|group| group.list.is_empty()) {
            return None;
        }
        if self.groups[self.turn].list.is_empty() {
            self.turn = 1 - self.turn;
        }
        let turn = self.turn;
        if self.groups[turn].dc <= 0.0 {
            self.groups[turn].dc += self.begin_turn(turn);
        }
        let group = &mut self.groups[turn];
        let flow = *group.list.front()?;
        let i = &mut self.flows[flow as usize];
        if i.dc <= 0.0 {
            if i.round == group.rounds {
                group.rounds += 1;
                group.quantum = self.quantum.max(group.over);
                group.over = 0.0;
            }
            i.dc += group.quantum * i.weight;
        }
        i.round = group.rounds;
        let (size, handle, arrival) = i.queue.pop_front().expect("a listed flow has packets");
        i.last_arrival = arrival;
        group.dc -= f64::from(size);
        group.sent += u64::from(size);
        i.dc -= f64::from(size);
        i.bytes_scheduled += u64::from(size);
        let (becomes_long, over) = (turn == SHORT && i.bytes_scheduled >= self.threshold, -i.dc / i.weight);
        if i.queue.is_empty() {
            group.list.pop_front();
        } else if becomes_long {
            group.list.pop_front();
            self.join(LONG, flow);
            self.groups[LONG].over = self.groups[LONG].over.max(over);
        } else if i.dc <= 0.0 {
            group.list.rotate_left(1);
            group.over = group.over.max(over);
        }
        if self.groups[turn].dc <= 0.0 {
            self.end_turn(turn);
        }
        self.changed(flow);
        self.group_may_be_empty(turn);
        Some(handle)
    }

    fn weigh(&mut self, flow: u32, weight: f64) {
        let i = &mut self.flows[flow as usize];
        let old = std::mem::replace(&mut i.weight, weight);
        let over = -i.dc / weight;
        if let Some(group) = self.group_of(flow).filter(|_| old != weight) {
            self.groups[group].over = self.groups[group].over.max(over);
        }
    }
}

/// Ratios, and the quanta of the groups over the base.
const RATIOS: &[(&str, [u32; 2])] =
    &[("0.5", [1, 2]), ("1", [1, 1]), ("2", [2, 1]), ("3", [3, 1]), ("1000000", [1_000_000, 1])];

/// What happens to a scheduler.
#[derive(Debug, Clone, Copy)]
enum Step {
    Offer(u32, u32),
    Serve,
    Weigh(u32, f64),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn it_is_the_pseudo_code(
        (ratio, group_quantum) in prop::sample::select(RATIOS),
        threshold in prop_oneof![Just(1u64), 500u64..8000],
        quantum in prop_oneof![1600u32..3000, 1u32..1600],
        timeout in prop_oneof![Just(0u64), 50u64..2000, Just(u64::MAX)],
        long_first in any::<bool>(),
        packets in prop::option::of(1u32..25),
        bytes in prop::option::of(2000u64..20_000),
        on_full in prop::sample::select(&[DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest, DropPolicy::Policy][..]),
        steps in prop::collection::vec((prop_oneof![
            20 => (0u32..6, prop_oneof![0u32..100, 1u32..1600, 1u32..8000])
                .prop_map(|(flow, bytes)| Step::Offer(flow, bytes)),
            16 => Just(Step::Serve),
            1 => (0u32..6, prop::sample::select(&[0.125, 0.5, 1.0, 8.0][..]))
                .prop_map(|(flow, weight)| Step::Weigh(flow, weight)),
        ], prop_oneof![4 => 0u64..20, 1 => 20u64..1000]), 1..300),
    ) {
        let limits = Limits { packets, bytes, on_full, ..Limits::UNLIMITED };
        let steal = if long_first { "long-first" } else { "shares" };
        let timeout_text = if timeout == u64::MAX { "9e9s".into() } else { format!("{timeout}ns") };
        let policy =
            format!("drr-sff:threshold={threshold},ratio={ratio},timeout={timeout_text},quantum={quantum},steal={steal}");
        let mut scheduler = build(&policy, 1, limits, &[]);
        let quantum = f64::from(quantum);
        let mut plain = PlainSff {
            threshold,
            timeout: timeout.min(9_000_000_000_000_000_000),
            quantum,
            group_quantum,
            long_first,
            groups: Default::default(),
            turn: SHORT,
            base: quantum,
            round: None,
            first: SHORT,
            flows: vec![PlainFlow { weight: 1.0, ..PlainFlow::default() }; 6],
            changes: 0,
        };
        let mut now = 0;
        let drain = std::iter::repeat_n((Step::Serve, 1), steps.len());
        for (handle, (step, gap)) in (0..).zip(steps.iter().copied().chain(drain)) {
            now += gap;
            let (flow, bytes) = match step {
                Step::Offer(flow, bytes) => (flow, bytes),
                Step::Serve => {
                    let out = scheduler.dequeue(Nanos(now)).map(|out| out.packet.handle);
                    prop_assert_eq!(out, plain.dequeue(), "at {}", handle);
                    continue;
                }
                Step::Weigh(flow, weight) => {
                    scheduler.set_weight(FlowId(flow), Weight::new(weight).expect("in range"));
                    plain.weigh(flow, weight);
                    continue;
                }
            };
            let admission = offer(&mut *scheduler, flow, bytes, handle, now);
            let mut lost: Vec<u64> = std::iter::from_fn(|| scheduler.poll_evicted()).map(|lost| lost.handle).collect();
            if !admission.is_queued() {
                lost.push(handle);
            }
            prop_assert_eq!(lost, plain.enqueue((flow, bytes, handle, now), &limits), "at {}", handle);
        }
        prop_assert_eq!(scheduler.backlog().packets, 0);
        prop_assert_eq!(counter(&*scheduler, "short_flows") + counter(&*scheduler, "long_flows"), 0.0);
        for (group, name) in plain.groups.iter().zip(["short", "long"]) {
            prop_assert_eq!(counter(&*scheduler, &format!("{name}_sent_bytes")), group.sent as f64);
            prop_assert_eq!(counter(&*scheduler, &format!("{name}_evicted")), group.evicted as f64);
        }
    }
}

/// A sent packet, its group, and which flows had packets queued in which group after it.
struct Sent {
    flow: u32,
    bytes: f64,
    group: usize,
    after: Vec<Option<usize>>,
}

/// The largest difference of `of(sent)` over any interval throughout which `both(after)` holds.
fn widest(sent: &[Sent], of: impl Fn(&Sent) -> f64, both: impl Fn(&[Option<usize>]) -> bool) -> f64 {
    let (mut sum, mut least, mut most, mut widest) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
    for one in sent {
        sum += of(one);
        // The packet itself was sent while both were queued; the next interval begins behind it.
        widest = widest.max(sum - least).max(most - sum);
        if !both(&one.after) {
            (sum, least, most) = (0.0, 0.0, 0.0);
        }
        least = least.min(sum);
        most = most.max(sum);
    }
    widest
}

/// The bounds of the module's head: serves the steps, an offer of bytes to a flow each or the next packet, and then all that is
/// left.
fn check_bounds(ratio: f64, quantum: u64, threshold: u64, weights: &[f64], steps: &[Option<(u32, u32)>]) {
    let policy = format!("drr-sff:threshold={threshold},ratio={ratio},timeout=1000s,quantum={quantum}");
    let mut scheduler = build(&policy, 1, Limits::UNLIMITED, weights);
    let flows = weights.len();
    let (mut had, mut waiting) = (vec![0u64; flows], vec![0u64; flows]);
    let mut sent: Vec<Sent> = Vec::new();
    let drain = std::iter::repeat_n(None, steps.len());
    for (handle, step) in (0..).zip(steps.iter().copied().chain(drain)) {
        match step {
            Some((flow, bytes)) => {
                let flow = flow % flows as u32;
                let _ = offer(&mut *scheduler, flow, bytes, handle, 0);
                waiting[flow as usize] += 1;
            }
            None => {
                let Some(out) = scheduler.dequeue(Nanos::ZERO) else { continue };
                let (flow, bytes) = (out.packet.flow.index(), out.packet.bytes);
                let group = usize::from(had[flow] >= threshold);
                had[flow] += u64::from(bytes);
                waiting[flow] -= 1;
                let after = (0..flows).map(|at| (waiting[at] > 0).then_some(usize::from(had[at] >= threshold)));
                sent.push(Sent { flow: flow as u32, bytes: bytes.into(), group, after: after.collect() });
            }
        }
    }
    let largest =
        |of: &dyn Fn(&Sent) -> bool| sent.iter().filter(|one| of(one)).map(|one| one.bytes).fold(0.0, f64::max);
    let raised =
        (0..flows).map(|at| largest(&|one| one.flow as usize == at) / weights[at]).fold(quantum as f64, f64::max);
    for i in 0..flows {
        for j in 0..i {
            let slack = [i, j].map(|at| largest(&|one| one.flow as usize == at) / weights[at]).iter().sum::<f64>();
            for group in [SHORT, LONG] {
                // A flow may move to the long group with a quantum's credit left.
                let bound = raised * if group == SHORT { 1.0 } else { 2.0 } + slack;
                let normalised = |one: &Sent| match one.flow as usize {
                    _ if one.group != group => 0.0,
                    at if at == i => one.bytes / weights[i],
                    at if at == j => -one.bytes / weights[j],
                    _ => 0.0,
                };
                let apart = widest(&sent, normalised, |after| [i, j].iter().all(|&at| after[at] == Some(group)));
                assert!(apart <= bound * (1.0 + 1e-9), "flows {i} and {j} in {group}: {apart} over {bound}");
            }
        }
    }
    let scale = f64::max(1.0, 1.0 / ratio);
    let base = largest(&|_| true).max(quantum as f64) * scale;
    let slack = largest(&|one| one.group == SHORT) / ratio + largest(&|one| one.group == LONG);
    let bound = base + slack;
    let share = |one: &Sent| if one.group == SHORT { one.bytes / ratio } else { -one.bytes };
    let apart = widest(&sent, share, |after| [SHORT, LONG].iter().all(|&group| after.contains(&Some(group))));
    assert!(apart <= bound * (1.0 + 1e-9), "the groups: {apart} over {bound}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The bounds of the module's head, with any sizes, weights and ratios.
    #[test]
    fn flows_of_a_group_and_the_groups_are_served_by_their_weights(
        ratio in prop::sample::select(&[0.001, 0.3, 1.0, 2.0, 7.5, 1000.0][..]),
        quantum in 1u64..3000,
        threshold in prop_oneof![Just(1u64), 1000u64..60_000],
        weights in prop::collection::vec(prop::sample::select(&[0.01, 0.1, 1.0, 1.0, 3.0, 40.0][..]), 1..=6),
        steps in prop::collection::vec(prop_oneof![
            3 => (0u32..6, prop_oneof![1u32..1600, 1u32..60_000]).prop_map(Some),
            2 => Just(None),
        ], 1..300),
    ) {
        check_bounds(ratio, quantum, threshold, &weights, &steps);
    }
}

/// Rounds of the groups with large bases on both sides of some that need none: whichever turn ends too far below zero, they
/// begin with the same group.
#[test]
fn the_groups_keep_their_bound_where_the_base_is_raised_again() {
    let steps = [
        &[(3, 12_115), (3, 753), (0, 46_018), (1, 49_201)][..],
        &[(1, 1437)],
        &[(1, 881)],
        &[(0, 12_065), (0, 12_205)],
        &[(0, 219), (2, 76), (0, 19_399)],
        &[],
        &[(0, 49_013)],
        &[],
        &[(3, 32_342), (2, 829), (0, 16_995), (2, 1), (1, 36_860), (0, 1), (2, 1)],
    ];
    let steps: Vec<_> = steps.iter().flat_map(|offers| offers.iter().copied().map(Some).chain([None])).collect();
    check_bounds(1.0, 829, 12_868, &[0.01; 4], &steps[..steps.len() - 1]);
}

/// The long flow's share of a link that new flows of one packet each fill twice, over 40,000 packets. The long flow sends at
/// two fifths of the link's rate and does not slow down. Sizes are equal; arrivals are spread over the time of a packet.
fn part_of_a_long_flow_in_a_flood(policy: &str, limits: Limits) -> f64 {
    const PACKETS: u32 = 40_000;
    let mut scheduler = build(policy, 1, limits, &[]);
    let mut random = 7u64;
    let (mut of_long, mut next_flow) = (0, 1);
    for tick in 0..u64::from(PACKETS) {
        let mut arrivals = vec![true, true];
        if tick * 2 % 5 < 2 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            arrivals.insert((random >> 60) as usize % 3, false);
        }
        for is_short in arrivals {
            let flow = if is_short { next_flow } else { 0 };
            next_flow += u32::from(is_short);
            let _ = offer(&mut *scheduler, flow, 1000, tick, tick * 8000);
            while scheduler.poll_evicted().is_some() {}
        }
        of_long += u32::from(scheduler.dequeue(Nanos(tick * 8000)).expect("a full buffer").packet.flow == FlowId(0));
    }
    f64::from(of_long) / f64::from(PACKETS)
}

#[test]
fn shares_of_the_buffer_keep_the_long_group_from_starving_in_a_flood() {
    let fifty = Limits { packets: Some(50), ..Limits::UNLIMITED };
    let as_bytes = Limits { bytes: Some(50_000), ..Limits::UNLIMITED };
    for limits in [fifty, as_bytes] {
        for (ratio, share) in [("2", 1.0 / 3.0), ("4", 0.2), ("9", 0.1)] {
            let part = |steal| part_of_a_long_flow_in_a_flood(&format!("drr-sff:ratio={ratio},steal={steal}"), limits);
            let (shares, printed) = (part("shares"), part("long-first"));
            println!(
                "ratio {ratio}: {:.1} % by shares, {:.1} % as printed, of {:.1} %",
                100.0 * shares,
                100.0 * printed,
                100.0 * share
            );
            assert!(shares >= 0.9 * share, "{shares} of {share} with a ratio of {ratio}");
            assert!(printed < 0.05, "{printed} of {share} with a ratio of {ratio}: it does not starve");
        }
    }
}

#[test]
fn a_flow_is_new_again_after_the_timeout_and_no_sooner() {
    // Flow 0 is past the threshold, flow 1 keeps the link busy with packets of the long group.
    for (silence, first) in [(1_000_000_000, 1), (1_000_000_001, 0)] {
        let mut scheduler =
            build("drr-sff:threshold=1000,timeout=1s,quantum=1000,ratio=1000000", 1, Limits::UNLIMITED, &[]);
        for handle in 0..9 {
            let _ = offer(&mut *scheduler, 1, 1000, handle, 0);
        }
        let _ = offer(&mut *scheduler, 0, 1000, 9, 0);
        // After one of each and the long group's turn, the next turn is the short group's.
        assert_eq!([0; 3].map(|now| scheduler.dequeue(Nanos(now)).expect("waits").packet.flow.0), [1, 0, 1]);
        let _ = offer(&mut *scheduler, 0, 1000, 10, silence);
        assert_eq!(scheduler.dequeue(Nanos(silence)).expect("waits").packet.flow.0, first, "after {silence} ns");
    }
}

/// A flow with packets queued does not start anew: otherwise a late packet would overtake them.
#[test]
fn a_flow_with_packets_waiting_stays_where_it_is() {
    let mut scheduler = build("drr-sff:threshold=1000,timeout=1s,quantum=1000", 1, Limits::UNLIMITED, &[]);
    for (handle, now) in [(0, 0), (1, 0), (2, 0), (3, 60_000_000_000)] {
        let _ = offer(&mut *scheduler, 0, 1000, handle, now);
        if handle == 2 {
            assert_eq!(scheduler.dequeue(Nanos(now)).map(|out| out.packet.handle), Some(0));
        }
    }
    assert_eq!((counter(&*scheduler, "short_flows"), counter(&*scheduler, "long_flows")), (0.0, 1.0));
}

/// Sends flows of `sizes` in turn, twenty at a time at a packet each, until `bytes` are sent. Returns the part of the last half
/// that the short group carried. The first twenty are shorter, so that flows do not all begin at once.
fn carried(scheduler: &mut dyn Scheduler, first_flow: u32, sizes: &[u64], bytes: u64) -> f64 {
    let mut left: Vec<u64> = Vec::new();
    let (mut next, mut through) = (0, 0);
    let mut slots: Vec<u32> = Vec::new();
    let mut half = (0.0, 0.0);
    let sent =
        |scheduler: &dyn Scheduler| (counter(scheduler, "short_sent_bytes"), counter(scheduler, "long_sent_bytes"));
    let mut start = |flow: u32, left: &mut Vec<u64>| {
        left.resize(flow as usize + 1, 0);
        left[flow as usize] = sizes[next % sizes.len()];
        next += 1;
    };
    for flow in 0..20 {
        start(flow, &mut left);
        left[flow as usize] = left[flow as usize] * u64::from(flow + 1) / 20;
        slots.push(flow);
    }
    let mut in_half = false;
    while through < bytes {
        for slot in &mut slots {
            if left[*slot as usize] == 0 {
                *slot = left.len() as u32;
                start(*slot, &mut left);
            }
            let size = left[*slot as usize].min(1500);
            left[*slot as usize] -= size;
            through += size;
            let _ = offer(scheduler, first_flow + *slot, size as u32, 0, 0);
        }
        while scheduler.dequeue(Nanos::ZERO).is_some() {}
        if !in_half && through >= bytes / 2 {
            in_half = true;
            half = sent(scheduler);
        }
    }
    let (short, long) = sent(scheduler);
    (short - half.0) / (short - half.0 + long - half.1)
}

#[test]
fn the_threshold_follows_the_traffic() {
    // Flows of 10 kB, and a tenth as many of 300 kB, which have three bytes in four.
    let sizes = [&[10_000; 10][..], &[300_000][..]].concat();
    for target in [0.1, 0.2, 0.4, 0.6] {
        let mut scheduler = build(&format!("drr-sff:threshold=auto,target={target}"), 1, Limits::UNLIMITED, &[]);
        let part = carried(&mut *scheduler, 0, &sizes, 300_000_000);
        let threshold = counter(&*scheduler, "threshold_kb");
        println!("target {target}: {part:.3} carried, threshold {threshold} kB");
        // One step of the threshold more than needed, and a tenth for the window's fluctuation.
        assert!((0.9 * target..=1.1 * 1.4143 * target).contains(&part), "{part} for a target of {target}");
        // The traffic changes to flows of 100 kB alone.
        let part = carried(&mut *scheduler, 1 << 20, &[100_000], 300_000_000);
        let new = counter(&*scheduler, "threshold_kb");
        println!("  then {part:.3} carried, threshold {new} kB");
        assert!((0.9 * target..=1.1 * 1.4143 * target).contains(&part), "{part} for a target of {target}");
        assert!((100.0 * target..=142.0 * target).contains(&new), "{new} kB for a target of {target}");
        // And to a flood of one-packet flows, which no threshold distinguishes.
        let _ = carried(&mut *scheduler, 2 << 20, &[64], 30_000_000);
        assert_eq!(counter(&*scheduler, "threshold_kb"), 1.0);
    }
}

#[test]
fn a_million_flows_of_one_packet_leave_bounded_tables() {
    // Ten times as many with full optimisation, that is without debug assertions.
    let flows: u32 = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };
    const MAX: u32 = 10_000;
    let mut table = FlowTable::new(MAX, Nanos::from_secs(10), *b"a key for a test").expect("in range");
    let limits = Limits { packets: Some(1000), flows: MAX, ..Limits::UNLIMITED };
    let mut scheduler = build("drr-sff:threshold=auto", 1, limits, &[]);
    let (mut lost, mut sent) = (0u64, 0u64);
    for number in 0..flows {
        let now = Nanos(u64::from(number) * 1000);
        let key = FiveTuple {
            protocol: 6,
            source: u128::from(number).to_be_bytes(),
            destination: [1; 16],
            source_port: number as u16,
            destination_port: 80,
        };
        let found = table.lookup(key, now, |flow| scheduler.forget(flow)).expect("most flows are idle");
        assert!(found.new && found.flow.0 < MAX);
        let admission = offer(&mut *scheduler, found.flow.0, 100, u64::from(number), now.0);
        lost += std::iter::from_fn(|| scheduler.poll_evicted()).count() as u64;
        lost += u64::from(!admission.is_queued());
        // The link carries two thirds of the arrivals.
        if number % 3 != 0 {
            sent += u64::from(scheduler.dequeue(now).is_some());
        }
        assert!(table.len() <= MAX as usize && scheduler.backlog().packets <= 1000);
    }
    assert_eq!(sent + lost + scheduler.backlog().packets, u64::from(flows));
    assert_eq!(table.evictions(), u64::from(flows - MAX), "every flow but the first made another go before its time");
    assert_eq!(counter(&*scheduler, "short_evicted"), lost as f64);
    assert_eq!(counter(&*scheduler, "threshold_kb"), 1.0);
}

#[test]
fn its_knobs_are_checked() {
    for wrong in
        ["threshold=0", "threshold=2GB", "target=0.5", "threshold=auto,target=1", "ratio=0", "ratio=1e7", "steal=x"]
    {
        assert!(format!("drr-sff:{wrong}").parse::<PolicySpec>().is_err(), "{wrong}");
    }
    let caution = |knobs: &str| format!("drr-sff:{knobs}").parse::<PolicySpec>().expect("in range").caution();
    assert!(caution("threshold=auto,target=0.7").is_some() && caution("ratio=0.5").is_some());
    assert!(caution("threshold=auto").is_none() && caution("threshold=auto,target=0.7,ratio=3").is_none());
}
