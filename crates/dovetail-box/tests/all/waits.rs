//! Compares the waiting times that the node keeps in two small matrices with every packet's own times.

use dovetail_box::node::{Action, Cause, Link, MAX_CLASSES, Node, Outcome, Pace, Passage, Room, Waited};
use dovetail_sched::{
    Admission, Demand, Dispatch, DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup,
    forward_scheduler, units::Rate,
};
use proptest::prelude::*;

/// A packet: interarrival time, flow, class, bytes, CPU time, and whether its processing drops it.
#[derive(Debug, Clone)]
struct Job {
    gap: u64,
    flow: u32,
    class: u16,
    bytes: u32,
    cpu: u64,
    ends: bool,
}

const CLASSES: u16 = 3;

/// What happened to a packet, as observed from outside.
#[derive(Debug, Clone, Default)]
struct Story {
    class: u16,
    arrival: u64,
    refused: bool,
    evicted: Option<u64>,
    started: Option<u64>,
    took: u64,
    sent: Option<Passage>,
}

fn link() -> Link {
    Link { rate: Rate::from_bps(98_765_432.1).unwrap(), overhead_bytes: 24, pace: Pace::Own }
}

fn node(policy: &str, room: Room) -> Node {
    let limits = Limits { flow_packets: Some(6), packets: Some(12), on_full: DropPolicy::Longest, ..Limits::UNLIMITED };
    let scheduler = policy.parse::<PolicySpec>().unwrap().build(&Setup::new(2, limits)).unwrap();
    Node::new(scheduler, link(), room)
}

/// How a run is driven: how late the caller is, whether it polls before it offers, and after how many packets classes are
/// renumbered.
#[derive(Debug, Clone, Copy, Default)]
struct How {
    late: u64,
    offers_first: bool,
    turns_after: Option<usize>,
}

struct Run {
    node: Node,
    jobs: Vec<Job>,
    stories: Vec<Story>,
}

impl Run {
    fn new(policy: &str, room: Room, jobs: &[Job], how: How) -> Self {
        let mut run = Self { node: node(policy, room), jobs: jobs.to_vec(), stories: Vec::new() };
        let mut now = 0;
        let mut has_turned = false;
        for (handle, job) in jobs.iter().enumerate() {
            now += job.gap;
            if !how.offers_first {
                while let Some(due) = run.node.poll_at().filter(|due| due.0 + how.late < now) {
                    run.settle(due.0 + how.late);
                }
                run.settle(now.saturating_sub(1));
            }
            if how.turns_after == Some(handle) {
                run.node.change_classes(&[1, 2, 0], &[Some(2), Some(0), Some(1)]);
                has_turned = true;
            }
            let class = if has_turned { (job.class + 1) % CLASSES } else { job.class };
            run.offer(handle, class, now);
        }
        while let Some(due) = run.node.poll_at() {
            run.settle(due.0 + how.late);
        }
        assert!(run.node.is_empty());
        run
    }

    fn settle(&mut self, now: u64) {
        while let Some(action) = self.node.poll(Nanos(now)) {
            match action {
                Action::Work(work) => {
                    let (job, story) = (&self.jobs[work.handle as usize], &mut self.stories[work.handle as usize]);
                    (story.started, story.took) = (Some(work.start.0), job.cpu);
                    let outcome = if job.ends { Outcome::Drop } else { Outcome::Forward { bytes: job.bytes } };
                    self.node.worked(Nanos(job.cpu), outcome);
                }
                Action::Send(passage) => self.stories[passage.handle as usize].sent = Some(passage),
            }
        }
    }

    fn offer(&mut self, handle: usize, class: u16, now: u64) {
        let job = &self.jobs[handle];
        let demand = Demand::new(&[Nanos(job.cpu), link().time(job.bytes)]).unwrap();
        let packet =
            Packet { flow: FlowId(job.flow), bytes: job.bytes, arrival: Nanos(now), handle: handle as u64, demand };
        let refused = self.node.enqueue(&packet, class, Nanos(now)).refused.is_some();
        self.stories.push(Story { class, arrival: now, refused, ..Story::default() });
        while let Some(lost) = self.node.poll_evicted() {
            self.stories[lost.handle as usize].evicted = Some(now);
        }
    }
}

/// A time of a server, and the cause of waiting in it.
type Span = (u64, u64, Cause);

fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// When the CPU was free of each forwarded packet: as soon as there was room after it.
fn left_cpu(forwarded: &[&Story], room: Room) -> Vec<u64> {
    let times = |story: &Story| {
        let sent = story.sent.unwrap();
        (story.started.unwrap() + story.took, sent.link_start.0, sent.link_end.0 - sent.link_start.0)
    };
    let all: Vec<_> = forwarded.iter().map(|story| times(story)).collect();
    let left = |at: usize| {
        let (end, start, _) = all[at];
        let waits_at = |now: u64| all[..at].iter().filter(move |other| other.1 > now);
        let has_room = |now: u64| match room {
            Room::Packets(most) => waits_at(now).count() < most as usize,
            Room::LinkTime(most) => {
                waits_at(now).count() == 0 || waits_at(now).map(|other| other.2).sum::<u64>() < most.0
            }
        };
        // It may be sent at once; otherwise there is room when another one starts on the link.
        let moments = [end].into_iter().chain(all[..at].iter().map(|other| other.1).filter(|&now| now >= end));
        moments.filter(|&now| has_room(now)).min().unwrap_or(start).min(start)
    };
    (0..all.len()).map(left).collect()
}

/// Checks all sums against all packets, for a caller that was never late.
fn check(run: &mut Run, room: Room) -> Result<(), TestCaseError> {
    let waited = run.node.waited();
    let mut in_order: Vec<_> = run.stories.iter().filter(|story| story.started.is_some()).collect();
    in_order.sort_by_key(|story| story.started);
    let forwarded: Vec<_> = in_order.iter().copied().filter(|story| story.sent.is_some()).collect();
    let mut cpu: Vec<Span> = Vec::new();
    for story in &in_order {
        let start = story.started.unwrap();
        cpu.push((start, start + story.took, Cause::Class(story.class)));
    }
    for (story, left) in forwarded.iter().zip(left_cpu(&forwarded, room)) {
        cpu.push((story.started.unwrap() + story.took, left, Cause::Stalled));
    }
    let on_link = |story: &&Story| {
        let sent = story.sent.unwrap();
        (sent.link_start.0, sent.link_end.0, Cause::Class(story.class))
    };
    let link: Vec<Span> = forwarded.iter().map(on_link).collect();
    let causes = || (0..CLASSES).map(Cause::Class).chain([Cause::Stalled, Cause::Held, Cause::Late]);
    for class in 0..CLASSES {
        let of_class = || run.stories.iter().filter(move |story| story.class == class && !story.refused);
        let before_cpu = || {
            of_class().map(|story| (story.arrival, story.started.or(story.evicted).expect("it started or was lost")))
        };
        let before_link =
            || of_class().filter_map(|story| Some((story.started? + story.took, story.sent?.link_start.0)));
        let owed = |waits: &mut dyn Iterator<Item = (u64, u64)>, spans: &[Span], cause: Cause| -> u128 {
            let spans: Vec<_> = spans.iter().filter(|span| span.2 == cause).map(|span| (span.0, span.1)).collect();
            waits.map(|wait| spans.iter().map(|&span| u128::from(overlap(wait, span))).sum::<u128>()).sum()
        };
        for cause in causes() {
            let (on_cpu, on_link) = (waited.before_cpu(class, cause), waited.before_link(class, cause));
            if cause != Cause::Held {
                prop_assert_eq!(on_cpu, owed(&mut before_cpu(), &cpu, cause), "CPU: {} for {:?}", class, cause);
            }
            prop_assert_eq!(on_link, owed(&mut before_link(), &link, cause), "link: {} for {:?}", class, cause);
        }
        // The remaining waiting time is the policy's holding back.
        let all: u128 = before_cpu().map(|(from, until)| u128::from(until - from)).sum();
        prop_assert_eq!(causes().map(|cause| waited.before_cpu(class, cause)).sum::<u128>(), all);
        let cpu_time: u64 = of_class().map(|story| story.took).sum();
        let link_time: u64 = link.iter().filter(|span| span.2 == Cause::Class(class)).map(|span| span.1 - span.0).sum();
        prop_assert_eq!((waited.on_cpu(class), waited.on_link(class)), (Nanos(cpu_time), Nanos(link_time)));
        prop_assert_eq!((waited.waiting_before_cpu(class), waited.waiting_before_link(class)), (0, 0));
    }
    Ok(())
}

fn job() -> impl Strategy<Value = Job> {
    (0u64..120_000, 0u32..5, 0..CLASSES, 40u32..1500, 1u64..200_000, prop::bool::weighted(0.1))
        .prop_map(|(gap, flow, class, bytes, cpu, ends)| Job { gap, flow, class, bytes, cpu, ends })
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec(job(), 1..60)
}

fn room() -> impl Strategy<Value = Room> {
    prop_oneof![(0u32..5).prop_map(Room::Packets), (0u64..400_000).prop_map(|nanos| Room::LinkTime(Nanos(nanos)))]
}

const POLICIES: [&str; 6] = ["fifo", "drfq", "mr3", "tradeoff:alpha=0.9", "las", "drfq:estimator=ses"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn sums_are_those_of_all_packets(jobs in jobs(), room in room()) {
        for policy in POLICIES {
            check(&mut Run::new(policy, room, &jobs, How::default()), room)?;
        }
    }

    /// However late the caller, no time is lost or counted twice, and its own lateness is attributed to it.
    #[test]
    fn lateness_is_counted_too(jobs in jobs(), room in room(), late in 0u64..20_000_000, offers_first: bool) {
        for policy in POLICIES {
            let mut run = Run::new(policy, room, &jobs, How { late, offers_first, turns_after: None });
            let waited = run.node.waited();
            let sum = |at: &dyn Fn(Cause) -> u128| {
                (0..CLASSES).map(Cause::Class).chain([Cause::Stalled, Cause::Held, Cause::Late]).map(at).sum::<u128>()
            };
            for class in 0..CLASSES {
                let of_class = || run.stories.iter().filter(move |story| story.class == class && !story.refused);
                let before_cpu: u64 =
                    of_class().map(|story| story.started.or(story.evicted).unwrap() - story.arrival).sum();
                prop_assert_eq!(sum(&|cause| waited.before_cpu(class, cause)), u128::from(before_cpu), "{}", policy);
                let before_link: u64 = of_class()
                    .filter_map(|story| Some(story.sent?.link_start.0 - story.started? - story.took))
                    .sum();
                prop_assert_eq!(sum(&|cause| waited.before_link(class, cause)), u128::from(before_link), "{}", policy);
                prop_assert!(policy != "fifo" || waited.before_cpu(class, Cause::Held) == 0, "it holds nothing back");
            }
        }
    }

    /// Classes are renumbered, whether or not they have packets.
    #[test]
    fn classes_that_change_places_keep_their_sums(jobs in jobs(), room in room(), after in 0usize..60) {
        let mut stays = Run::new("drfq", room, &jobs, How::default());
        let mut turns = Run::new("drfq", room, &jobs, How { turns_after: Some(after), ..How::default() });
        let (stays, turned) = (stays.node.waited(), turns.node.waited());
        let new = |class: u16| if after < jobs.len() { (class + 1) % CLASSES } else { class };
        for class in 0..CLASSES {
            for (was, is) in (0..CLASSES)
                .map(|other| (Cause::Class(other), Cause::Class(new(other))))
                .chain([Cause::Stalled, Cause::Held, Cause::Late].map(|cause| (cause, cause)))
            {
                prop_assert_eq!(stays.before_cpu(class, was), turned.before_cpu(new(class), is));
                prop_assert_eq!(stays.before_link(class, was), turned.before_link(new(class), is));
            }
            prop_assert_eq!(stays.on_cpu(class), turned.on_cpu(new(class)));
            prop_assert_eq!(stays.on_link(class), turned.on_link(new(class)));
        }
    }
}

#[test]
fn a_policy_that_holds_back_is_named() {
    let job = |flow, bytes, cpu| Job { gap: 0, flow, class: flow as u16, bytes, cpu, ends: false };
    let jobs: Vec<_> = (0..12).map(|at| if at % 2 == 0 { job(0, 1400, 1_000) } else { job(1, 60, 90_000) }).collect();
    let room = Room::Packets(0);
    let mut run = Run::new("tradeoff:alpha=1", room, &jobs, How::default());
    check(&mut run, room).unwrap();
    let waited = run.node.waited();
    let held: u128 = (0..2).map(|class| waited.before_cpu(class, Cause::Held)).sum();
    let stalled: u128 = (0..2).map(|class| waited.before_cpu(class, Cause::Stalled)).sum();
    eprintln!("held {held} ns, stalled {stalled} ns");
    assert!(held > 0 && stalled > 0);
}

/// Releases nothing until there are two packets.
#[derive(Debug)]
struct Pairs {
    inner: Box<dyn Scheduler>,
}

impl Scheduler for Pairs {
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        if self.backlog().packets < 2 { None } else { self.inner.dequeue(now) }
    }
    forward_scheduler!(inner: enqueue, poll_at, feedback, interest, poll_evicted, discard, set_weight, set_resource_weights,
        forget, backlog, flow_backlog, retune, figures, learning, later_stages);
}

const MS: u64 = 1_000_000;

#[test]
fn who_comes_late_is_to_blame_from_when_something_was_due() {
    let fifo = "fifo".parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
    let mut node = Node::new(Box::new(Pairs { inner: fifo }), link(), Room::Packets(0));
    let demand = Demand::new(&[Nanos(MS), link().time(1_000)]).unwrap();
    let packet = |handle, arrival| Packet { flow: FlowId(0), bytes: 1_000, arrival, handle, demand };
    // One is held back for 2 ms until there is another; then the caller is 20 ms late, of which 5 are forgiven.
    assert_eq!(node.enqueue(&packet(0, Nanos(0)), 0, Nanos(0)), Admission::QUEUED);
    assert_eq!(node.poll(Nanos(0)), None);
    assert_eq!(node.enqueue(&packet(1, Nanos(2 * MS)), 1, Nanos(2 * MS)), Admission::QUEUED);
    let Some(Action::Work(work)) = node.poll(Nanos(22 * MS)) else { panic!("there are two") };
    assert_eq!(work.start, Nanos(17 * MS));
    let waited = node.waited();
    let of = |waited: &Waited, class| {
        [Cause::Held, Cause::Late, Cause::Class(0)].map(|cause| waited.before_cpu(class, cause) as u64 / MS)
    };
    assert_eq!((of(&waited, 0), of(&waited, 1)), ([2, 15, 0], [0, 15, 0]));
    // Its processing takes 1 ms, and the caller is again 20 ms late: the second waits for the first, and then for the caller.
    node.worked(Nanos(MS), Outcome::Drop);
    assert_eq!(node.enqueue(&packet(2, Nanos(18 * MS)), 1, Nanos(18 * MS)), Admission::QUEUED);
    let Some(Action::Work(work)) = node.poll(Nanos(38 * MS)) else { panic!("there are two again") };
    assert_eq!((work.handle, work.start), (1, Nanos(33 * MS)));
    assert_eq!(of(&node.waited(), 1), [0, 15 + 2 * 15, 1]);
}

#[test]
fn a_node_after_a_lapse_counts_on() {
    let jobs: Vec<_> =
        (0..10).map(|at| Job { gap: 10_000, flow: at, class: 1, bytes: 900, cpu: 50_000, ends: false }).collect();
    let mut run = Run::new("fifo", Room::Packets(1), &jobs, How::default());
    run.offer_one_more();
    let before: Waited = run.node.waited();
    assert_eq!(before.waiting_before_cpu(1), 1);
    let mut next = node("fifo", Room::Packets(1));
    next.carry_on(&mut run.node);
    let after = next.waited();
    assert_eq!(after.waiting_before_cpu(1), 0, "its packets are lost");
    assert_eq!(after.before_cpu(1, Cause::Class(1)), before.before_cpu(1, Cause::Class(1)));
    assert_eq!(next.figures(), run.node.figures());
    assert_eq!(next.figures().worked, 10);
}

impl Run {
    fn offer_one_more(&mut self) {
        self.jobs.push(self.jobs[0].clone());
        self.offer(self.jobs.len() - 1, 1, 1_000_000_000);
    }
}

#[test]
fn classes_and_handles_beyond_what_is_told_apart_are_counted_somewhere() {
    let mut node = node("fifo", Room::DEFAULT);
    let demand = Demand::new(&[Nanos(5), link().time(100)]).unwrap();
    for (handle, class) in [(0, u16::MAX), (u64::MAX, 7)] {
        let packet = Packet { flow: FlowId(0), bytes: 100, arrival: Nanos(9), handle, demand };
        assert!(node.enqueue(&packet, class, Nanos(9)).is_queued());
    }
    let waited = node.waited();
    assert_eq!(waited.classes(), MAX_CLASSES);
    assert_eq!((waited.waiting_before_cpu(MAX_CLASSES - 1), waited.waiting_before_cpu(0)), (1, 1));
    node.change_classes(&[], &[]);
    node.change_classes(&[u16::MAX], &[Some(u16::MAX), None]);
    assert_eq!(node.waited().waiting_before_cpu(1), 2, "the last takes what has no other place");
}
