//! ATFQ: active time, fairness, loops, drops.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::support::{Job, Mode, play};
use dovetail_sched::{
    Admission, Demand, Dispatch, DropPolicy, Evicted, Feedback, FlowId, Interest, Knobs, Limits, Nanos, Packet, Policy,
    PolicyError, PolicySpec, Queued, Queues, Scheduler, Setup, Stage, Weight,
    packet::nowait::{ActiveTime, gap},
};
use proptest::prelude::*;

fn build(policy: &str, resources: usize, limits: Limits) -> Box<dyn Scheduler> {
    policy.parse::<PolicySpec>().expect("a policy").build(&Setup::new(resources, limits)).expect("a setup")
}

fn demand(times: &[u64]) -> Demand {
    Demand::new(&times.iter().copied().map(Nanos).collect::<Vec<_>>()).expect("1 to 8 resources")
}

fn packet(flow: u32, handle: u64, times: &[u64]) -> Packet {
    Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand: demand(times) }
}

/// When each packet of a flow finishes if the flow has a no-wait pipeline to itself, simulated event by event.
fn through_alone(packets: &[Vec<u64>]) -> Vec<u64> {
    let jobs: Vec<Job> =
        packets.iter().map(|demand| Job { flow: 0, bytes: 1, arrival: 0, demand: demand.clone() }).collect();
    let mut fifo = build("fifo", packets[0].len(), Limits::UNLIMITED);
    play(&mut fifo, &jobs, Mode::NoWait).iter().map(|one| *one.end.last().expect("it is through")).collect()
}

fn sequence(m: usize, most: usize) -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(prop_oneof![0u64..5, 0u64..200], m), 1..most)
}

/// Flows with packets and weights.
fn flows(most: usize) -> impl Strategy<Value = Vec<(Vec<Vec<u64>>, f64)>> {
    (1usize..=4).prop_flat_map(move |m| {
        let weight = prop_oneof![Just(1.0), Just(0.5), Just(4.0)];
        prop::collection::vec((sequence(m, most), weight), 1..6)
    })
}

/// The tags of eqs. 1–5 for flows that arrive together in an empty box: each flow's time alone, from when its first packet
/// finishes, over its weight.
fn tags(flow: &(Vec<Vec<u64>>, f64)) -> Vec<f64> {
    let through = through_alone(&flow.0);
    through.iter().map(|at| (at - through[0]) as f64 / flow.1).collect()
}

/// Queues all packets and takes them out: `(flow, number in flow)` in order.
fn give_out(policy: &str, flows: &[(Vec<Vec<u64>>, f64)]) -> Vec<(usize, usize)> {
    let mut atfq = build(policy, flows[0].0[0].len(), Limits::UNLIMITED);
    for (id, (packets, weight)) in flows.iter().enumerate() {
        atfq.set_weight(FlowId(id as u32), Weight::new(*weight).expect("in range"));
        for (number, times) in packets.iter().enumerate() {
            let _ = atfq.enqueue(&packet(id as u32, number as u64, times), Nanos::ZERO);
        }
    }
    std::iter::from_fn(|| atfq.dequeue(Nanos::ZERO))
        .map(|sent| (sent.packet.flow.index(), sent.packet.handle as usize))
        .collect()
}

proptest! {
    #[test]
    fn active_time_is_that_of_the_flow_alone(packets in (1usize..=5).prop_flat_map(|m| sequence(m, 30))) {
        let mut active = ActiveTime::default();
        for (times, through) in packets.iter().zip(through_alone(&packets)) {
            prop_assert_eq!(active.add(&demand(times)), Nanos(through));
            prop_assert_eq!(active.get(), Nanos(through));
        }
        // A pair alone shows the gap: it determines when the second starts.
        if let [one, other, ..] = &packets[..] {
            let pair = through_alone(&[one.clone(), other.clone()]);
            let starts = pair[1] - other.iter().sum::<u64>();
            prop_assert_eq!(gap(demand(one).times(), demand(other).times()), Nanos(starts - one[0]));
        }
    }

    #[test]
    fn loops_take_the_least_tags_of_all_flows(flows in flows(20), batch in 1usize..12) {
        let mut all: Vec<(f64, usize, usize)> = Vec::new();
        for (id, flow) in flows.iter().enumerate() {
            all.extend(tags(flow).into_iter().enumerate().map(|(number, tag)| (tag, id, number)));
        }
        all.sort_by(|one, other| one.partial_cmp(other).expect("tags are numbers"));
        let order = give_out(&format!("atfq:batch={batch}"), &flows);
        prop_assert_eq!(order.len(), all.len());
        for (given, expected) in order.chunks(batch).zip(all.chunks(batch)) {
            let mut given = given.to_vec();
            given.sort_unstable();
            let mut expected: Vec<_> = expected.iter().map(|&(_, id, number)| (id, number)).collect();
            expected.sort_unstable();
            prop_assert_eq!(given, expected);
        }
    }

    #[test]
    fn domains_tile_active_time(flows in flows(20), length in 1u64..300) {
        let mut domains: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
        for (id, flow) in flows.iter().enumerate() {
            for (number, tag) in tags(flow).into_iter().enumerate() {
                domains.entry((tag / length as f64) as u64).or_default().push((id, number));
            }
        }
        let mut order = give_out(&format!("atfq:domain={length}ns"), &flows).into_iter();
        for mut expected in domains.into_values() {
            let mut given: Vec<_> = order.by_ref().take(expected.len()).collect();
            given.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(given, expected);
        }
        prop_assert_eq!(order.next(), None);
    }

    /// While flows are backlogged, the tags that any two have reached differ by at most one packet's at the end of each loop,
    /// and by less than a domain more at any time. Their received service differs by up to the longest first packet more, which
    /// is in no tag.
    #[test]
    fn active_times_stay_together(flows in flows(40), length in prop::option::of(1u64..300), batch in 1usize..20) {
        let tags: Vec<Vec<f64>> = flows.iter().map(tags).collect();
        let packet = tags.iter().flat_map(|tags| tags.windows(2).map(|pair| pair[1] - pair[0])).fold(0.0, f64::max);
        let (policy, every) = match length {
            None => (format!("atfq:batch={batch}"), batch),
            Some(length) => (format!("atfq:domain={length}ns"), 1),
        };
        let bound = packet + length.unwrap_or(0) as f64;
        let first: Vec<f64> = flows.iter().map(|(packets, w)| packets[0].iter().sum::<u64>() as f64 / w).collect();
        let longest_first = first.iter().copied().fold(0.0, f64::max);
        let (mut last, mut received) = (vec![0.0; flows.len()], vec![0.0; flows.len()]);
        for (place, (id, number)) in give_out(&policy, &flows).into_iter().enumerate() {
            last[id] = tags[id][number];
            received[id] = first[id] + tags[id][number];
            if number + 1 == tags[id].len() {
                break;
            }
            let apart = |times: &[f64]| {
                let (least, most) = times.iter().fold((f64::MAX, 0.0f64), |(a, b), &time| (a.min(time), b.max(time)));
                most - least
            };
            if (place + 1) % every == 0 {
                prop_assert!(apart(&last) <= bound + 1e-6, "{} apart, the bound is {}", apart(&last), bound);
                let bound = bound + longest_first;
                prop_assert!(apart(&received) <= bound + 1e-6, "{} apart, the bound is {bound}", apart(&received));
            }
        }
    }
}

/// The rules of the policy's page, literally: a tag for every packet when it arrives, and a search of all of them for each
/// loop.
#[derive(Default)]
struct Model {
    batch: usize,
    weights: Vec<f64>,
    /// By flow: the last packet that arrived in this busy period, with its tag.
    last: HashMap<usize, (Vec<u64>, f64)>,
    /// By tag, flow and number.
    waiting: Vec<(f64, usize, u64)>,
    in_process: HashMap<(usize, u64), f64>,
    last_released: f64,
    current_loop: Vec<(f64, usize, u64)>,
}

impl Model {
    fn send(&mut self, flow: usize, number: u64, times: &[u64]) {
        if self.waiting.is_empty() && self.in_process.is_empty() {
            self.last.clear();
            self.last_released = 0.0;
        }
        let own = self.last.get(&flow).map(|(before, tag)| {
            let alone = through_alone(&[before.clone(), times.to_vec()]);
            tag + (alone[1] - alone[0]) as f64 / self.weights[flow]
        });
        let newly_busy = self.waiting.iter().all(|&(_, other, _)| other != flow);
        let largest = self.in_process.values().copied().reduce(f64::max).unwrap_or(self.last_released);
        let tag = match own {
            Some(own) if newly_busy => own.max(largest),
            Some(own) => own,
            None => largest,
        };
        self.last.insert(flow, (times.to_vec(), tag));
        self.waiting.push((tag, flow, number));
    }

    /// This packet was taken out: was it one of the loop?
    fn serve(&mut self, flow: usize, number: u64) -> bool {
        if self.current_loop.is_empty() {
            self.waiting.sort_by(|one, other| one.partial_cmp(other).expect("tags are numbers"));
            self.current_loop.extend(self.waiting.iter().take(self.batch));
        }
        let Some(at) = self.current_loop.iter().position(|&(_, id, n)| (id, n) == (flow, number)) else { return false };
        let (tag, ..) = self.current_loop.swap_remove(at);
        self.waiting.retain(|&(_, id, n)| (id, n) != (flow, number));
        self.in_process.insert((flow, number), tag);
        self.last_released = tag;
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn arrivals_at_any_time_join_the_right_loop(
        ops in ops(),
        batch in 1usize..6,
        weights in prop::collection::vec(prop_oneof![Just(1.0), Just(0.5), Just(4.0)], 5),
    ) {
        let Op::Send { times, .. } = &ops[0] else { unreachable!("the first op is a packet") };
        let mut atfq = build(&format!("atfq:batch={batch}"), times.len(), Limits::UNLIMITED);
        for (flow, &weight) in weights.iter().enumerate() {
            atfq.set_weight(FlowId(flow as u32), Weight::new(weight).expect("in range"));
        }
        let mut model = Model { batch, weights, ..Model::default() };
        let mut in_service = VecDeque::new();
        for (number, op) in (0u64..).zip(&ops) {
            match op {
                Op::Send { flow, times } => {
                    let times: Vec<u64> = times.iter().map(|&time| time.min(1000)).collect();
                    let _ = atfq.enqueue(&packet(*flow, number, &times), Nanos::ZERO);
                    model.send(*flow as usize, number, &times);
                }
                Op::Serve => {
                    let Some(sent) = atfq.dequeue(Nanos::ZERO) else { continue };
                    let name = (sent.packet.flow.index(), sent.packet.handle);
                    prop_assert!(model.serve(name.0, name.1), "{:?} is not in the loop {:?}", name, model.current_loop);
                    in_service.push_back((name, sent.ticket));
                }
                Op::Finish => {
                    let Some((name, ticket)) = in_service.pop_front() else { continue };
                    model.in_process.remove(&name);
                    finish(&mut *atfq, name.0 as u32, times.len() as u8 - 1, ticket);
                }
                Op::Forget(_) | Op::Weigh(..) => {}
            }
        }
    }
}

/// Eq. 1 as printed, for packets that all take 10 on both of two resources, so that a packet follows its predecessor by 10; in
/// loops of one.
#[derive(Debug, Default)]
struct Printed {
    tags: [VecDeque<f64>; 2],
    in_process: HashMap<u64, f64>,
    released: u64,
}

impl Policy for Printed {
    fn interest(&self) -> Interest {
        Interest::of(Stage::Finished, 1)
    }

    fn enqueued(&mut self, _queues: &mut Queues, flow: FlowId, _now: Nanos) {
        let largest = self.in_process.values().copied().fold(0.0, f64::max);
        let tags = &mut self.tags[flow.index()];
        tags.push_back(tags.back().map_or(largest, |last| last + 10.0));
    }

    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let waiting = (0..2).filter(|&flow| !self.tags[flow].is_empty());
        let flow = waiting.min_by(|&one, &other| self.tags[one][0].total_cmp(&self.tags[other][0]))?;
        self.released += 1;
        self.in_process.insert(self.released, self.tags[flow].pop_front().expect("it is not empty"));
        Some(Dispatch { packet: queues.pop(FlowId(flow as u32)), ticket: self.released })
    }

    fn evicted(&mut self, _queues: &mut Queues, _lost: &Packet, _end: Evicted) {}

    fn retune(&mut self, _queues: &mut Queues, _knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        Ok(())
    }

    fn feedback(&mut self, _queues: &mut Queues, event: &Feedback, _now: Nanos) {
        self.in_process.remove(&event.ticket);
    }

    fn forget(&mut self, _flow: FlowId) {}
}

/// Flow 0 sends a packet whenever its last was released, flow 1 always has several waiting: returns how many of 1000 packets
/// are flow 0's. All take 10 on both resources, so that each finishes when the next leaves the first.
fn one_at_a_time(scheduler: &mut dyn Scheduler) -> usize {
    for handle in 0..3 {
        let _ = scheduler.enqueue(&packet(1, handle, &[10, 10]), Nanos::ZERO);
    }
    let _ = scheduler.enqueue(&packet(0, 0, &[10, 10]), Nanos::ZERO);
    let mut on_link = None;
    let mut sneaky = 0;
    for step in 0..1000 {
        let now = Nanos(step * 10);
        let sent = scheduler.dequeue(now).expect("packets wait");
        if let Some((flow, ticket)) = on_link.replace((sent.packet.flow, sent.ticket)) {
            let took = Nanos(10);
            scheduler.feedback(&Feedback { flow, ticket, resource: 1, stage: Stage::Finished, took }, now + Nanos(10));
        }
        sneaky += usize::from(sent.packet.flow == FlowId(0));
        let _ = scheduler.enqueue(&sent.packet, now);
    }
    sneaky
}

/// The example on the policy's page.
#[test]
fn a_first_packet_is_in_no_tag() {
    let flow = (vec![vec![4, 4]; 3], 1.0);
    assert_eq!(give_out("atfq:batch=1", &[flow.clone(), flow.clone()])[..3], [(0, 0), (1, 0), (0, 1)]);
    // Alone: the first finishes at 8, and each further one 4 later. So after the first of all packets one flow is 8 ahead.
    assert_eq!((through_alone(&flow.0), tags(&flow)), (vec![8, 12, 16], vec![0.0, 4.0, 8.0]));
}

#[test]
fn one_packet_at_a_time_gains_nothing() {
    let printed = one_at_a_time(&mut Queued::new(Printed::default(), 2, Limits::UNLIMITED));
    assert!(printed >= 990, "eq. 1 as printed lets flow 0 have {printed} of 1000 packets");
    for policy in ["atfq:batch=1", "atfq:batch=3", "atfq:domain=20ns"] {
        let ours = one_at_a_time(&mut build(policy, 2, Limits::UNLIMITED));
        assert!((300..=505).contains(&ours), "{policy}: flow 0 has {ours} of 1000 packets");
    }
    // Strictly by active time the two alternate.
    assert!(one_at_a_time(&mut build("atfq:batch=1", 2, Limits::UNLIMITED)) >= 495);
}

/// Flow 0 has been sending for a while; flow 1 starts and must neither wait for flow 0's past nor be credited for its own
/// absence.
#[test]
fn newcomers_start_where_the_others_are() {
    for in_process in [true, false] {
        let mut atfq = build("atfq:batch=1", 1, Limits::UNLIMITED);
        for handle in 0..40 {
            let _ = atfq.enqueue(&packet(0, handle, &[10]), Nanos::ZERO);
        }
        let mut last = None;
        for _ in 0..20 {
            let sent = atfq.dequeue(Nanos::ZERO).unwrap();
            if let Some(ticket) = last.replace(sent.ticket) {
                finish(&mut *atfq, 0, 0, ticket);
            }
        }
        if !in_process {
            // The last packet has finished and the next was not requested yet.
            finish(&mut *atfq, 0, 0, last.unwrap());
        }
        for handle in 0..20 {
            let _ = atfq.enqueue(&packet(1, handle, &[10]), Nanos::ZERO);
        }
        let order: Vec<u32> = (0..8).map(|_| atfq.dequeue(Nanos::ZERO).unwrap().packet.flow.0).collect();
        assert_eq!(order, [1, 0, 1, 0, 1, 0, 1, 0], "a packet in process: {in_process}");
    }
}

fn finish(scheduler: &mut dyn Scheduler, flow: u32, resource: u8, ticket: u64) {
    let (flow, took) = (FlowId(flow), Nanos(10));
    scheduler.feedback(&Feedback { flow, ticket, resource, stage: Stage::Finished, took }, Nanos::ZERO);
}

/// An empty box forgets: a flow that had it to itself owes nothing afterwards.
#[test]
fn an_empty_box_starts_anew() {
    let mut atfq = build("atfq:batch=1", 1, Limits::UNLIMITED);
    for handle in 0..20 {
        let _ = atfq.enqueue(&packet(0, handle, &[10]), Nanos::ZERO);
    }
    while let Some(sent) = atfq.dequeue(Nanos::ZERO) {
        finish(&mut *atfq, 0, 0, sent.ticket);
    }
    for handle in 0..10 {
        for flow in [1, 0] {
            let _ = atfq.enqueue(&packet(flow, handle, &[10]), Nanos::ZERO);
        }
    }
    let order: Vec<u32> = (0..6).map(|_| atfq.dequeue(Nanos::ZERO).unwrap().packet.flow.0).collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 1]);
}

/// After the box was empty everything proceeds as the first time, domains included.
#[test]
fn an_empty_box_forgets_the_time() {
    for policy in ["atfq:batch=3", "atfq:domain=30ns"] {
        let mut atfq = build(policy, 2, Limits::UNLIMITED);
        let mut rounds = [(); 2].map(|()| {
            for handle in 0..10 {
                for (flow, times) in [(0, [10, 4]), (1, [3, 7]), (2, [17, 1])] {
                    let _ = atfq.enqueue(&packet(flow, handle, &times), Nanos::ZERO);
                }
            }
            let mut order = Vec::new();
            while let Some(sent) = atfq.dequeue(Nanos::ZERO) {
                order.push(sent.packet.flow.0);
                finish(&mut *atfq, sent.packet.flow.0, 1, sent.ticket);
            }
            order
        });
        let second = rounds[1].split_off(0);
        assert_eq!(rounds[0], second, "{policy}");
    }
}

#[test]
fn a_forgotten_flow_owes_nothing() {
    for forget in [true, false] {
        let mut atfq = build("atfq:batch=3", 1, Limits::UNLIMITED);
        let _ = atfq.enqueue(&packet(0, 0, &[1000]), Nanos::ZERO);
        let _ = atfq.enqueue(&packet(0, 1, &[1000]), Nanos::ZERO);
        for handle in 0..20 {
            let _ = atfq.enqueue(&packet(1, handle, &[400]), Nanos::ZERO);
        }
        // Tags 0 and 1000 of flow 0; 0, 400, 800 and so on of flow 1. The last is still in process.
        let order: Vec<_> = (0..5).map(|_| atfq.dequeue(Nanos::ZERO).expect("packets wait")).collect();
        assert_eq!(order.iter().map(|sent| sent.packet.flow.0).collect::<Vec<_>>(), [0, 1, 1, 1, 0]);
        for sent in &order[..4] {
            finish(&mut *atfq, sent.packet.flow.0, 0, sent.ticket);
        }
        if forget {
            assert!(atfq.forget(FlowId(0)));
        }
        // Tag 1000 like that of the packet in process, or 2000 after its own.
        let _ = atfq.enqueue(&packet(0, 2, &[1000]), Nanos::ZERO);
        let order: Vec<u32> = (0..4).map(|_| atfq.dequeue(Nanos::ZERO).expect("packets wait").packet.flow.0).collect();
        assert_eq!(order, if forget { [1, 0, 1, 1] } else { [1, 1, 0, 1] });
    }
}

/// A packet that already has a place in a loop is replaced by another while nothing else is queued.
#[test]
fn a_place_in_a_loop_does_not_outlive_the_box_being_empty() {
    let limits = Limits { on_full: DropPolicy::Head, ..Limits::per_flow(1) };
    let mut atfq = build("atfq:batch=2", 1, limits);
    for flow in 0..2 {
        let _ = atfq.enqueue(&packet(flow, 0, &[10]), Nanos::ZERO);
    }
    let sent = atfq.dequeue(Nanos::ZERO).expect("two packets wait");
    finish(&mut *atfq, sent.packet.flow.0, 0, sent.ticket);
    let other = 1 - sent.packet.flow.0;
    assert_eq!(atfq.enqueue(&packet(other, 1, &[10]), Nanos::ZERO), Admission { refused: None, evicted: true });
    assert_eq!(atfq.dequeue(Nanos::ZERO).map(|sent| sent.packet.handle), Some(1));
}

#[test]
fn a_weight_moves_what_waits() {
    let mut atfq = build("atfq:batch=1", 1, Limits::UNLIMITED);
    for handle in 0..30 {
        for (flow, time) in [(0, 10), (1, 1000)] {
            let _ = atfq.enqueue(&packet(flow, handle, &[time]), Nanos::ZERO);
        }
    }
    let mut flows = |n: usize| -> Vec<u32> {
        (0..n).map(|_| atfq.dequeue(Nanos::ZERO).expect("packets wait").packet.flow.0).collect()
    };
    assert_eq!(flows(3), [0, 1, 0]);
    // Flow 1's next had the tag 1000; now 20, and flow 0's next has 20 too.
    atfq.set_weight(FlowId(1), Weight::new(50.0).expect("in range"));
    let mut flows = |n: usize| -> Vec<u32> {
        (0..n).map(|_| atfq.dequeue(Nanos::ZERO).expect("packets wait").packet.flow.0).collect()
    };
    assert_eq!(flows(6), [0, 1, 0, 0, 1, 0]);
}

#[test]
fn a_weight_counts_from_the_next_decision_on() {
    let mut atfq = build("atfq:batch=1", 1, Limits::UNLIMITED);
    for handle in 0..30 {
        for flow in 0..2 {
            let _ = atfq.enqueue(&packet(flow, handle, &[10]), Nanos::ZERO);
        }
    }
    let mut flows = |n: usize| (0..n).map(|_| atfq.dequeue(Nanos::ZERO).unwrap().packet.flow.0).collect::<Vec<_>>();
    assert_eq!(flows(4), [0, 1, 0, 1]);
    atfq.set_weight(FlowId(1), Weight::new(2.0).unwrap());
    let mut flows = |n: usize| (0..n).map(|_| atfq.dequeue(Nanos::ZERO).unwrap().packet.flow.0).collect::<Vec<_>>();
    let heavy = flows(30).iter().filter(|&&flow| flow == 1).count();
    assert!((19..=21).contains(&heavy), "flow 1 has weight 2 and {heavy} of 30 packets");
}

/// A flow whose only queued packet is dropped for a newer one again and again is still served, and is charged only for what was
/// sent.
#[test]
fn dropping_at_the_head_starves_nobody() {
    for policy in ["atfq:batch=1", "atfq:batch=6", "atfq:domain=30ns"] {
        let limits = Limits { on_full: DropPolicy::Head, ..Limits::per_flow(1) };
        let mut atfq = build(policy, 1, limits);
        let mut served = [0; 3];
        for step in 0..3000 {
            for flow in 0..3 {
                // Flow 0's packet is always replaced before it can be released.
                for _ in 0..if flow == 0 { 3 } else { 1 } {
                    if flow == 0 || atfq.flow_backlog(FlowId(flow)).packets == 0 {
                        let _ = atfq.enqueue(&packet(flow, step, &[10]), Nanos(step));
                    }
                }
            }
            while atfq.poll_evicted().is_some() {}
            let sent = atfq.dequeue(Nanos(step)).unwrap();
            served[sent.packet.flow.index()] += 1;
        }
        assert!(served.iter().all(|&packets| (950..=1050).contains(&packets)), "{policy}: {served:?}");
    }
}

#[derive(Debug, Clone)]
enum Op {
    Send { flow: u32, times: Vec<u64> },
    Serve,
    Finish,
    Forget(u32),
    Weigh(u32, f64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    (1usize..=3).prop_flat_map(|m| {
        let time = prop_oneof![8 => 0u64..40, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 3)];
        let send = (0u32..5, prop::collection::vec(time, m)).prop_map(|(flow, times)| Op::Send { flow, times });
        let weight = prop_oneof![Just(1e-6), Just(1.0), Just(3.0), Just(1e6)];
        let op = prop_oneof![
            6 => send,
            4 => Just(Op::Serve),
            4 => Just(Op::Finish),
            1 => (0u32..5).prop_map(Op::Forget),
            1 => (0u32..5, weight).prop_map(|(flow, weight)| Op::Weigh(flow, weight)),
        ];
        // The first packet determines the number of resources.
        let first = prop::collection::vec(0u64..40, m).prop_map(|times| Op::Send { flow: 0, times });
        (first, prop::collection::vec(op, 1..200)).prop_map(|(first, mut ops)| {
            ops.insert(0, first);
            ops
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever is dropped, forgotten or reweighed, with whatever demands: every accepted packet is released or evicted exactly
    /// once, and flows stay in order.
    #[test]
    fn nothing_is_lost_or_reordered(
        ops in ops(),
        policy in prop_oneof![
            Just("atfq:batch=1"), Just("atfq:batch=3"), Just("atfq:batch=8"), Just("atfq:domain=30ns"), Just("atfq:effort=0")
        ],
        on_full in prop_oneof![Just(DropPolicy::Tail), Just(DropPolicy::Head), Just(DropPolicy::Longest)],
        flow_packets in prop::option::of(1u32..6),
        packets in prop::option::of(1u32..10),
    ) {
        let Op::Send { times, .. } = &ops[0] else { unreachable!("the first op is a packet") };
        let limits = Limits { flow_packets, packets, on_full, ..Limits::UNLIMITED };
        let mut atfq = build(policy, times.len(), limits);
        let mut waiting: HashMap<u32, Vec<u64>> = HashMap::new();
        let mut in_service = VecDeque::new();
        let gone = |waiting: &mut HashMap<u32, Vec<u64>>, packet: &Packet, oldest: bool| {
            let flow = waiting.get_mut(&packet.flow.0).expect("it waited");
            let at = flow.iter().position(|&handle| handle == packet.handle).expect("it waited");
            assert!(!oldest || at == 0, "flow {} was reordered", packet.flow);
            flow.remove(at);
        };
        for (handle, op) in ops.iter().enumerate() {
            match op {
                Op::Send { flow, times } => {
                    let admission = atfq.enqueue(&packet(*flow, handle as u64, times), Nanos::ZERO);
                    if admission.is_queued() {
                        waiting.entry(*flow).or_default().push(handle as u64);
                    }
                    while let Some(lost) = atfq.poll_evicted() {
                        gone(&mut waiting, &lost, false);
                    }
                }
                Op::Serve => {
                    let left = waiting.values().map(Vec::len).sum::<usize>();
                    let sent = atfq.dequeue(Nanos::ZERO);
                    prop_assert_eq!(sent.is_some(), left > 0);
                    if let Some(sent) = sent {
                        gone(&mut waiting, &sent.packet, true);
                        in_service.push_back((sent.packet.flow, sent.ticket));
                    }
                }
                Op::Finish => {
                    if let Some((flow, ticket)) = in_service.pop_front() {
                        finish(&mut *atfq, flow.0, times.len() as u8 - 1, ticket);
                    }
                }
                Op::Forget(flow) => {
                    let empty = waiting.get(flow).is_none_or(Vec::is_empty);
                    prop_assert_eq!(atfq.forget(FlowId(*flow)), empty);
                }
                Op::Weigh(flow, weight) => atfq.set_weight(FlowId(*flow), Weight::new(*weight).unwrap()),
            }
        }
        while let Some(sent) = atfq.dequeue(Nanos::ZERO) {
            gone(&mut waiting, &sent.packet, true);
        }
        prop_assert!(waiting.values().all(Vec::is_empty), "{:?} wait for ever", waiting);
        atfq.figures(&mut |name, value| assert!(value.is_finite() && value >= 0.0, "{name} is {value}"));
    }
}

#[test]
fn knobs() {
    let error = |text: &str| text.parse::<PolicySpec>().unwrap_err().to_string();
    assert!(error("atfq:batch=20,domain=100us").contains("batch"), "{}", error("atfq:batch=20,domain=100us"));
    for wrong in
        ["atfq:batch=0", "atfq:batch=4097", "atfq:domain=0", "atfq:domain=5", "atfq:effort=10001", "atfq:loop=3"]
    {
        assert!(error(wrong).starts_with("atfq"), "{}", error(wrong));
    }
    for right in ["atfq", "atfq:batch=4096", "atfq:domain=1ns,effort=0", "atfq:domain=2s"] {
        assert!(right.parse::<PolicySpec>().is_ok(), "{right}");
    }
}
