//! The bound that `grants` states: a class whose responses lie and break off, and which has many dead users, gets more than its
//! weight for no longer than that.

use crate::far_link::{FarLink, Job};
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const RATE: f64 = 10_000.0;
const SETUP: RequestSetup = RequestSetup { rate: RATE, quantum: 100, window: 300, longest_window: 300, overhead: 10 };
/// The most that a turn elicits.
const MAX_TURN: f64 = 400.0;
/// Requests that each live user always has.
const EACH: u32 = 3;

fn build(knobs: &str) -> Box<dyn RequestScheduler> {
    knobs.parse::<RequestSpec>().expect("a policy").build(&SETUP).expect("a setup in range")
}

/// The length that a sender states for a response of this size.
fn said(size: u64) -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        2 => Just(None),
        2 => Just(Some(size)),
        1 => Just(Some(0)),
        1 => Just(Some(u64::MAX)),
        2 => (0..=size).prop_map(Some),
        1 => (size..20 * size + 10).prop_map(Some),
    ]
}

fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..500, 2 => 0u64..5_000, 1 => 0u64..100_000]
}

fn liars() -> impl Strategy<Value = Vec<Job>> {
    let job = (sizes(), 1u64..60).prop_flat_map(|(size, way)| {
        let breaks_at = prop_oneof![2 => Just(u64::MAX), 1 => 0..=size];
        (said(size), said(size), breaks_at).prop_map(move |(hint, said, breaks_at)| Job {
            hint,
            said,
            breaks_at,
            ..Job::honest(0, 0, size, way * MS)
        })
    });
    many(job)
}

fn honest() -> impl Strategy<Value = Vec<Job>> {
    let job = (sizes(), 1u64..60, any::<bool>()).prop_map(|(size, way, early)| {
        let job = Job::honest(0, 1, size, way * MS);
        Job { hint: early.then_some(size), ..job }
    });
    many(job)
}

/// One job over and over, or up to 40.
fn many(job: impl Strategy<Value = Job>) -> impl Strategy<Value = Vec<Job>> {
    (prop::collection::vec(job, 1..40), any::<bool>()).prop_map(|(mut jobs, one)| {
        jobs.truncate(if one { 1 } else { 40 });
        jobs
    })
}

fn class() -> impl Strategy<Value = (f64, u32)> {
    (prop_oneof![Just(0.5), Just(1.0), Just(2.0), Just(4.0)], 1u32..5)
}

/// A class whose responses are `liars`, one after another, and one whose responses are `honest`, each user always with as many
/// requests as they may have; a third class with occasional requests, and users of the first with dead servers.
#[derive(Debug)]
struct World {
    order: &'static str,
    lead: u64,
    liar: (f64, u32),
    other: (f64, u32),
    liars: Vec<Job>,
    honest: Vec<Job>,
    dead: u32,
    /// When each arrives, in ms, and its size.
    passing: Vec<(u64, u64)>,
}

#[derive(Debug)]
struct Ahead {
    /// The largest lead of the liars in any interval in which both classes had candidates, in units per part.
    most: f64,
    bound: f64,
    /// For how long both had candidates.
    both_ns: u64,
}

impl World {
    fn run(&self) -> Ahead {
        let (liar, other) = (self.liar, self.other);
        // As much as may be refunded to the honest class at once: it is never lifted.
        let lag = (f64::from(EACH) * MAX_TURN / other.0).ceil();
        let mut gateway = build(&format!("grants:order={},lag={lag},lead={},slack=1000", self.order, self.lead));
        // Users of the liars' class first, then of the other, then one of a third, then the dead, who belong to the liars.
        FarLink::place(&mut *gateway, &[liar, other, (1.0, 1)]);
        let first_dead = liar.1 + other.1 + 1;
        for user in first_dead..first_dead + self.dead {
            gateway.set_user(UserId(user), ClassId(0), Nanos::ZERO);
        }
        let mut link = FarLink::new(&mut *gateway, RATE, SETUP.overhead, 3);
        for user in first_dead..first_dead + self.dead {
            link.ask(Job::honest(user, 0, 1000, u64::MAX / 4), 0);
        }
        let mut asked = [0; 2];
        let mut next = |class: usize, user: u32| {
            let jobs = [&self.liars, &self.honest][class];
            asked[class] += 1;
            Job { user, ..jobs[asked[class] % jobs.len()] }
        };
        for user in 0..liar.1 + other.1 {
            for _ in 0..EACH {
                link.ask(next(usize::from(user >= liar.1), user), 0);
            }
        }
        for &(at, size) in &self.passing {
            link.ask(Job::honest(liar.1 + other.1, 2, size, MS), at * MS);
        }
        let parts = [liar, other].map(|(weight, users)| weight * f64::from(users));
        // l, e and what was in flight: each of the class's requests may be wrong by a turn, and have one in flight.
        let n = [liar, other].map(|(_, users)| f64::from(users * EACH));
        let unsettled = [0, 1].map(|class| (MAX_TURN + 10.0 + 2.0 * n[class] * (MAX_TURN + 10.0)) / parts[class]);
        let bound = 2.0 * lag + 4.0 * self.lead as f64 + unsettled[0] + unsettled[1];
        let mut ahead = Ahead { most: f64::NEG_INFINITY, bound, both_ns: 0 };
        let (mut least, mut before, mut over) = (f64::INFINITY, 0, 0);
        link.run(300 * SECOND, |link| {
            while over < link.done.len() {
                let job = link.done[over].job;
                if job.class < 2 {
                    let again = next(job.class as usize, job.user);
                    link.ask(again, link.now + 1);
                }
                over += 1;
            }
            let had = |class: usize| (link.taken[class] + SETUP.overhead * link.headers[class]) as f64 / parts[class];
            // The dead stop counting after 5 s, once they are released.
            if link.now < 60 * SECOND || link.candidates[0] == 0 || link.candidates[1] == 0 {
                least = f64::INFINITY;
            } else {
                let apart = had(0) - had(1);
                ahead.both_ns += if least.is_finite() { link.now - before } else { 0 };
                least = least.min(apart);
                ahead.most = ahead.most.max(apart - least);
            }
            before = link.now;
            false
        });
        ahead
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn a_class_that_lies_gets_more_than_its_weight_for_no_longer_than_the_bound(
        order in prop_oneof![Just("srpt"), Just("las"), Just("first"), Just("fair")],
        lead in prop_oneof![Just(0u64), Just(300u64), Just(5_000u64)],
        (liar, other) in (class(), class()),
        (liars, honest) in (liars(), honest()),
        dead in prop_oneof![Just(0u32), Just(300u32)],
        passing in prop::collection::vec((0u64..300_000, sizes()), 0..30),
    ) {
        let world = World { order, lead, liar, other, liars, honest, dead, passing };
        let ahead = world.run();
        prop_assert!(ahead.most <= ahead.bound, "{ahead:?}");
    }
}

#[test]
fn no_single_lie_pays() {
    let lie = |hint, said, size, breaks_at| Job { hint, said, breaks_at, ..Job::honest(0, 0, size, 5 * MS) };
    for (name, job) in [
        ("nothing will come, with the request", lie(Some(0), None, 390, u64::MAX)),
        ("nothing will come, and it is less than a turn", lie(Some(0), Some(0), 90, u64::MAX)),
        ("nothing will come, when it begins", lie(None, Some(0), 390, u64::MAX)),
        ("never how much", lie(None, None, 390, u64::MAX)),
        ("never how much, and it is long", lie(None, None, 100_000, u64::MAX)),
        ("less than there is", lie(Some(1), Some(5000), 100_000, u64::MAX)),
        ("much, and breaks off at once", lie(Some(100_000), Some(100_000), 100_000, 0)),
        ("much, and breaks off when its window is full", lie(None, Some(u64::MAX), 100_000, 390)),
    ] {
        // Most are short, so that little is expected of a response of which nothing is known.
        let honest = [20, 20, 20, 20, 5000].map(|size| Job::honest(0, 1, size, 5 * MS)).into();
        let (liar, other) = ((1.0, 4), (1.0, 4));
        let world =
            World { order: "srpt", lead: 1000, liar, other, liars: vec![job], honest, dead: 0, passing: vec![] };
        let ahead = world.run();
        println!("{name}: {ahead:?}");
        assert!(ahead.both_ns > 20 * SECOND && ahead.most <= ahead.bound, "{name}: {ahead:?}");
    }
}

/// The parts of two classes of equal weight in what was taken in, from 60 s to 160 s, when the first has one live user and a
/// thousand whose servers are dead, and the second one live user.
fn with_the_dead(knobs: &str) -> f64 {
    let mut gateway = build(knobs);
    FarLink::place(&mut *gateway, &[(1.0, 1001), (1.0, 1)]);
    let mut link = FarLink::new(&mut *gateway, RATE, SETUP.overhead, 2);
    for user in 1..1001 {
        link.ask(Job::honest(user, 0, 1000, u64::MAX / 4), 0);
    }
    for (user, class) in [(0, 0), (1001, 1)] {
        for _ in 0..30 {
            link.ask(Job::honest(user, class, 100_000_000, 50 * MS), 0);
        }
    }
    link.run(60 * SECOND, |_| false);
    let before = link.taken.clone();
    link.run(160 * SECOND, |_| false);
    let had = [0, 1].map(|class| (link.taken[class] - before[class]) as f64);
    had[0] / (had[0] + had[1])
}

#[test]
fn users_whose_servers_are_dead_do_not_multiply_their_class() {
    let [counted, silent, ignored] = ["grants:silence=1000s", "grants", "grants:users=ignore"].map(with_the_dead);
    println!(
        "a class with 1000 dead users has {counted:.3} if they count, {silent:.3} if not, {ignored:.3} if nobody does"
    );
    assert!(counted > 0.95 && (0.49..0.51).contains(&silent) && (0.49..0.51).contains(&ignored));
}

/// A crowd that is present when the gateway starts, on a link so fast that a window is far longer than their responses: how
/// many responses each had once there were five for each.
#[test]
fn who_asks_before_any_size_is_known_does_not_stand_behind_all_who_ask_later() {
    const USERS: u32 = 300;
    let spec: RequestSpec = "grants:learn=off".parse().expect("a policy");
    let mut gateway = spec.build(&RequestSetup::for_bytes(6e6)).expect("a setup in range");
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    let ask = |user| Request { id: RequestId(user), user: UserId(user), length: None };
    for user in 0..USERS {
        gateway.set_user(UserId(user), ClassId(0), Nanos::ZERO);
        gateway.enqueue(&ask(user), Nanos::ZERO);
    }
    let mut had = vec![0; USERS as usize];
    let mut now = Nanos::ZERO;
    while had.iter().sum::<u32>() < 5 * USERS {
        let Some(turn) = gateway.dequeue(now) else {
            now = gateway.poll_at().expect("all of them ask");
            continue;
        };
        // It arrives at once, and the next is requested.
        gateway.length(turn.request, 20_000, now);
        gateway.received(turn.request, 20_000, now);
        gateway.ended(turn.request, now);
        had[turn.request.0 as usize] += 1;
        gateway.enqueue(&ask(turn.request.0), now);
    }
    assert!(had.iter().all(|responses| (4..=6).contains(responses)), "{had:?}");
}
