//! Maximum rates for classes, around every policy, on a link that is computed independently.

use std::collections::BTreeMap;

use dovetail_sched::{
    Nanos, Weight,
    request::{Capped, ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};
use proptest::prelude::*;

use crate::link::{Job, Link, Sizes};

const POLICIES: [&str; 4] = ["grants", "msf-rs", "none", "delay-pools"];
const RATE: f64 = 1e6;
/// The size of a bucket, in seconds of its rate: filled by time, and by refunds.
const BURST_S: f64 = 0.25;
const BACK_S: f64 = 10.0;

fn setup() -> RequestSetup {
    RequestSetup { rate: RATE, ..RequestSetup::for_bytes(1e6) }
}

/// A link whose first class has this rate, if it has one.
fn capped(policy: &str, cap: Option<f64>, weights: &[f64]) -> Link {
    let mut link = Link::new(policy, RATE, weights).with_grain(0.01);
    let spec: RequestSpec = policy.parse().expect("a policy");
    let mut gateway = Capped::new(spec.build(&setup()).expect("a rate in range"), &setup());
    for (class, &weight) in (0..).map(ClassId).zip(weights) {
        gateway.set_class(class, Weight::new(weight).expect("a weight"), Nanos::ZERO);
    }
    gateway.set_cap(ClassId(0), cap, Nanos::ZERO);
    link.gateway = Box::new(gateway);
    link
}

/// Units received by users.
fn served(link: &Link, users: std::ops::Range<u32>) -> f64 {
    let ids = (0..).zip(&link.jobs).filter(|(_, job)| users.contains(&job.user)).map(|(id, _)| id);
    ids.map(|id| link.served(id)).sum()
}

fn run(link: &mut Link, until_s: f64) {
    while link.now_s < until_s {
        link.step(until_s);
    }
}

#[test]
fn without_rates_it_is_the_policy() {
    for policy in POLICIES {
        let play = |mut link: Link| {
            let mut sizes = Sizes::new(7);
            for user in 0..6 {
                link.place(user, user % 2);
            }
            for _ in 0..200 {
                link.arrive((sizes.uniform() * 6.0) as u32, sizes.lognormal());
                let until = link.now_s - 0.02 * sizes.uniform().ln();
                run(&mut link, until);
            }
            run(&mut link, 100.0);
            link.jobs.iter().map(|job| (job.released_s.to_bits(), job.ended_s.to_bits())).collect::<Vec<_>>()
        };
        let bare = play(Link::new(policy, RATE, &[1.0, 2.0]).with_grain(0.01));
        assert!(bare == play(capped(policy, None, &[1.0, 2.0])), "{policy}");
    }
}

#[test]
fn no_interval_has_more_than_its_rate() {
    for policy in POLICIES {
        for (seed, cap) in [(1, 20e3), (2, 50e3), (3, 200e3)] {
            let mut link = capped(policy, Some(cap), &[1.0, 1.0]);
            let mut sizes = Sizes::new(seed);
            for user in 0..8 {
                link.place(user, user % 2);
            }
            // What the capped class had received whenever something happened, and how many of its requests were not held then.
            let mut came = vec![(0.0, 0.0, 0.0)];
            let mut next = 0.0;
            while link.now_s < 120.0 {
                if link.now_s >= next {
                    link.arrive((sizes.uniform() * 8.0) as u32, sizes.lognormal());
                    next = link.now_s - 0.05 * sizes.uniform().ln();
                }
                link.step(next);
                let sum: f64 = (0..4).map(|user| served(&link, user * 2..user * 2 + 1)).sum();
                let is_open = |job: &&Job| job.user.is_multiple_of(2) && job.ended_s.is_nan();
                let mut held = 0.0;
                link.gateway.figures(&mut |name, value| {
                    if name == "held_by_rate" {
                        held = value;
                    }
                });
                came.push((link.now_s, sum, link.jobs.iter().filter(is_open).count() as f64 - held));
            }
            let RequestSetup { quantum, longest_window, .. } = setup();
            // Without windows, no more than a turn is charged at once.
            let part = if policy == "grants" { longest_window as f64 * cap / RATE } else { 0.0 };
            let turn = (cap * 0.1).min(quantum as f64);
            let most = turn + part;
            for (at, &(from_s, before, in_flight)) in came.iter().enumerate().step_by(29) {
                for &(to_s, after, _) in &came[at..] {
                    let holds_s = if policy == "grants" { BACK_S } else { BURST_S };
                    // Of what was charged before, one turn of each response may arrive now.
                    let bound = cap * (to_s - from_s + holds_s) + most + turn * in_flight;
                    assert!(after - before <= bound + 1.0, "{policy} {cap}: {from_s} to {to_s}: {}", after - before);
                }
            }
            // Once the windows of all that have begun are charged.
            let half = came.iter().find(|(at_s, ..)| *at_s >= 60.0).expect("it went on for so long").1;
            let all = came.last().expect("some came").1 - half;
            assert!(all > 0.95 * cap * 60.0, "{policy} {cap}: it is used: {all}");
        }
    }
}

#[test]
fn a_class_has_its_rate_and_others_have_the_rest() {
    const LONG_S: f64 = 60.0;
    for policy in ["grants", "msf-rs", "none"] {
        // The others' share alone, and beside a class that would take nearly everything.
        let play = |demanding: u32, cap: Option<f64>| {
            let mut link = capped(policy, cap, &[20.0, 1.0]);
            for user in 0..40 {
                link.place(user, 0);
            }
            link.place(40, 1);
            for user in 0..demanding {
                link.arrive(user, 1 << 40);
            }
            link.arrive(40, 1 << 40);
            run(&mut link, LONG_S);
            let before = (served(&link, 0..40), served(&link, 40..41));
            run(&mut link, 2.0 * LONG_S);
            (served(&link, 0..40) - before.0, served(&link, 40..41) - before.1)
        };
        let (_, alone) = play(0, None);
        let (capped, rest) = play(40, Some(100e3));
        let expected = 100e3 * LONG_S;
        assert!((capped / expected - 1.0).abs() < 0.02, "{policy}: {capped} of {expected}");
        assert!(rest > (alone - expected) * 0.98, "{policy}: {rest} beside {capped}, {alone} alone");
    }
}

#[test]
fn a_user_with_many_requests_has_no_more_of_it_than_one_with_few() {
    for policy in ["grants", "none"] {
        let mut link = capped(policy, Some(100e3), &[1.0]);
        link.place(0, 0);
        link.place(1, 0);
        for _ in 0..50 {
            link.arrive(1, 1 << 40);
        }
        run(&mut link, 5.0);
        link.arrive(0, 1 << 40);
        let before = (served(&link, 0..1), served(&link, 1..2));
        run(&mut link, 65.0);
        let (few, many) = (served(&link, 0..1) - before.0, served(&link, 1..2) - before.1);
        assert!((few / many - 1.0).abs() < 0.1, "{policy}: {few} and {many}");
    }
}

#[test]
fn a_rate_that_is_taken_away_or_changed_counts_from_then_on() {
    for policy in ["grants", "none", "msf-rs"] {
        let spec: RequestSpec = policy.parse().expect("a policy");
        let mut capped = Capped::new(spec.build(&setup()).expect("a rate in range"), &setup());
        capped.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
        capped.set_cap(ClassId(0), Some(1_000.0), Nanos::ZERO);
        capped.set_user(UserId(0), ClassId(0), Nanos::ZERO);
        let request = |id| Request { id: RequestId(id), user: UserId(0), length: None };
        for id in 0..9 {
            capped.enqueue(&request(id), Nanos::ZERO);
        }
        let released =
            |capped: &mut Capped, now| core::iter::from_fn(|| capped.dequeue(now)).filter(|turn| turn.releases).count();
        assert!((1..=3).contains(&released(&mut capped, Nanos::ZERO)), "{policy}");
        assert!(capped.holds(RequestId(8)), "{policy}");
        let soon = Nanos::from_millis(1);
        assert!(capped.poll_at().is_some_and(|at| at > soon) || policy == "msf-rs", "{policy}");
        capped.set_cap(ClassId(0), Some(0.0), soon);
        assert_eq!(capped.cap(ClassId(0)), Some(1_000.0), "out of range");
        capped.set_cap(ClassId(0), None, soon);
        // Those that were released may end meanwhile, so that msf-rs can release others.
        for id in 0..9 {
            released(&mut capped, soon);
            capped.ended(RequestId(id), soon);
        }
        assert_eq!((capped.cap(ClassId(0)), (0..9).any(|id| capped.holds(RequestId(id)))), (None, false));
    }
}

#[test]
fn what_a_response_did_not_bring_is_refunded_to_the_class_that_paid_wherever_its_user_is_by_then() {
    let mut capped =
        Capped::new("none".parse::<RequestSpec>().expect("a policy").build(&setup()).expect("a rate"), &setup());
    for class in [0, 1].map(ClassId) {
        capped.set_class(class, Weight::ONE, Nanos::ZERO);
        capped.set_cap(class, Some(20_000.0), Nanos::ZERO);
    }
    for user in 0..3 {
        capped.set_user(UserId(user), ClassId(user % 2), Nanos::ZERO);
    }
    let arrive = |capped: &mut Capped, id, user| {
        capped.enqueue(&Request { id: RequestId(id), user: UserId(user), length: None }, Nanos::ZERO);
    };
    // What 100 ms bring at a time, until the bucket is overdrawn: the number of turns.
    let turns = |capped: &mut Capped, id| {
        let given = core::iter::from_fn(|| {
            let turn = capped.dequeue(Nanos::ZERO)?;
            assert_eq!((turn.request, turn.units), (RequestId(id), 2_000));
            capped.received(RequestId(id), 2_000, Nanos::ZERO);
            capped.ready(RequestId(id), Nanos::ZERO);
            Some(())
        });
        given.count()
    };
    arrive(&mut capped, 1, 1);
    assert_eq!(turns(&mut capped, 1), 3, "of 5,000");
    arrive(&mut capped, 0, 0);
    assert!(capped.dequeue(Nanos::ZERO).is_some_and(|turn| turn.releases && turn.units == 2_000));
    capped.set_user(UserId(0), ClassId(1), Nanos::ZERO);
    let opens = capped.poll_at();
    assert_eq!(opens, Some(Nanos::from_millis(50)));
    capped.ended(RequestId(0), Nanos::ZERO);
    assert_eq!(capped.poll_at(), opens, "the other class gets nothing for it");
    arrive(&mut capped, 2, 2);
    assert_eq!(turns(&mut capped, 2), 3, "its own class has all of it");
}

/// The window of a far response alone, whose round trip is reported before it may go or as it is released.
fn far_window(is_reported_early: bool) -> u64 {
    let spec: RequestSpec = "grants".parse().expect("a policy");
    let mut capped = Capped::new(spec.build(&setup()).expect("a rate in range"), &setup());
    capped.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    capped.set_cap(ClassId(0), Some(RATE), Nanos::ZERO);
    capped.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    let (id, trip) = (RequestId(0), Nanos::from_millis(600));
    capped.enqueue(&Request { id, user: UserId(0), length: None }, Nanos::ZERO);
    if is_reported_early {
        capped.round_trip(id, trip, Nanos::ZERO);
    }
    let mut window = capped.dequeue(Nanos::ZERO).expect("its class has its burst").window;
    if !is_reported_early {
        capped.round_trip(id, trip, Nanos::ZERO);
    }
    for step in 1..200 {
        let now = Nanos::from_millis(10 * step);
        capped.received(id, 2_000, now);
        capped.ready(id, now);
        while let Some(turn) = capped.dequeue(now) {
            window = turn.window;
        }
    }
    window
}

#[test]
fn a_round_trip_that_is_reported_before_a_request_may_go_is_not_lost() {
    assert_eq!(far_window(true), far_window(false));
}

/// When a request to a server at this distance goes on a link in debt, of a class with this rate.
fn goes_at(distance: Nanos, cap: Option<f64>) -> Nanos {
    let spec: RequestSpec = "grants".parse().expect("a policy");
    let mut capped = Capped::new(spec.build(&setup()).expect("a rate in range"), &setup());
    capped.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    capped.set_cap(ClassId(0), cap, Nanos::ZERO);
    capped.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    capped.stray(None, 250_000, Nanos::ZERO);
    let id = RequestId(0);
    capped.enqueue(&Request { id, user: UserId(0), length: None }, Nanos::ZERO);
    capped.distance(id, distance, Nanos::ZERO);
    let mut now = Nanos::ZERO;
    for _ in 0..10 {
        if capped.dequeue(now).is_some() {
            return now;
        }
        now = capped.poll_at().expect("it waits");
    }
    panic!("it waits for ever");
}

#[test]
fn a_distance_that_is_reported_before_a_request_may_go_is_not_lost() {
    let near = goes_at(Nanos::ZERO, None);
    for cap in [None, Some(RATE)] {
        // The far queue bridges 60 ms.
        assert_eq!(goes_at(Nanos::from_millis(160), cap), near - Nanos::from_millis(100), "{cap:?}");
    }
}

#[test]
fn a_user_is_not_forgotten_while_only_what_is_held_is_theirs() {
    for policy in POLICIES {
        let spec: RequestSpec = policy.parse().expect("a policy");
        let mut capped = Capped::new(spec.build(&setup()).expect("a rate in range"), &setup());
        capped.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
        capped.set_cap(ClassId(0), Some(RATE), Nanos::ZERO);
        capped.set_user(UserId(0), ClassId(0), Nanos::ZERO);
        let id = RequestId(0);
        capped.enqueue(&Request { id, user: UserId(0), length: None }, Nanos::ZERO);
        assert!(capped.holds(id));
        capped.forget_user(UserId(0));
        let turn = capped.dequeue(Nanos::ZERO);
        assert!(turn.is_some_and(|turn| turn.releases && turn.request == id), "{policy}");
    }
}

/// An event.
#[derive(Debug, Clone, Copy)]
enum Event {
    Arrives(u32, bool),
    Takes(usize),
    Ends(usize),
    Cancels(usize),
    Length(usize, u64),
    Offers(usize, u64),
    Moves(u32, u32),
    Cap(u32, Option<u32>),
    Stray(u32),
    Passes(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..4_u32, any::<bool>()).prop_map(|(user, is_known)| Event::Arrives(user, is_known)),
        8 => any::<usize>().prop_map(Event::Takes),
        2 => any::<usize>().prop_map(Event::Ends),
        1 => any::<usize>().prop_map(Event::Cancels),
        1 => (any::<usize>(), 0..50_000_u64).prop_map(|(id, units)| Event::Length(id, units)),
        1 => (any::<usize>(), 0..50_000_u64).prop_map(|(id, units)| Event::Offers(id, units)),
        1 => (0..4_u32, 0..2_u32).prop_map(|(user, class)| Event::Moves(user, class)),
        1 => (0..2_u32, prop::option::of(1_000..1_000_000_u32)).prop_map(|(class, rate)| Event::Cap(class, rate)),
        1 => (0..2_u32).prop_map(Event::Stray),
        4 => (0..200_u32).prop_map(Event::Passes),
    ]
}

/// What an environment knows of a request.
#[derive(Debug, Default)]
struct Known {
    is_released: bool,
    allowed: u64,
    is_ready: bool,
}

proptest! {
    /// Turns are for existing requests, each is released once, and when all rates are removed nothing is left behind.
    #[test]
    fn whatever_happens_nothing_is_lost(
        policy in 0..POLICIES.len(),
        events in prop::collection::vec(event(), 1..200),
    ) {
        let spec: RequestSpec = POLICIES[policy].parse().expect("a policy");
        let mut capped = Capped::new(spec.build(&setup()).expect("a rate in range"), &setup());
        for class in 0..2 {
            capped.set_class(ClassId(class), Weight::ONE, Nanos::ZERO);
        }
        for user in 0..4 {
            capped.set_user(UserId(user), ClassId(user % 2), Nanos::ZERO);
        }
        let mut known: BTreeMap<u32, Known> = BTreeMap::new();
        let mut now = Nanos::ZERO;
        let turns = |capped: &mut Capped, known: &mut BTreeMap<u32, Known>, now: Nanos| {
            for _ in 0..100_000 {
                let Some(turn) = capped.dequeue(now) else { return Ok(()) };
                let request = known.get_mut(&turn.request.0);
                prop_assert!(request.is_some(), "{turn:?}");
                let request = request.expect("it is there");
                prop_assert!(turn.releases != request.is_released, "{turn:?}");
                prop_assert!(turn.units > 0, "{turn:?}");
                (request.is_released, request.is_ready) = (true, false);
                request.allowed = request.allowed.saturating_add(turn.units);
            }
            prop_assert!(false, "an endless loop of turns");
            Ok(())
        };
        let pick = |known: &BTreeMap<u32, Known>, at: usize| known.keys().nth(at % known.len().max(1)).copied();
        for event in events {
            match event {
                Event::Arrives(user, is_known) => {
                    let id = (0..).find(|id| !known.contains_key(id)).expect("a free one");
                    known.insert(id, Known::default());
                    let length = is_known.then_some(7_000);
                    capped.enqueue(&Request { id: RequestId(id), user: UserId(user), length }, now);
                }
                Event::Takes(at) => if let Some(id) = pick(&known, at) {
                    let request = known.get_mut(&id).expect("it is there");
                    let takes = request.allowed.min(5_000);
                    if takes > 0 {
                        request.allowed = if request.allowed == u64::MAX { u64::MAX } else { request.allowed - takes };
                        capped.received(RequestId(id), takes, now);
                    } else if request.is_released && !request.is_ready {
                        request.is_ready = true;
                        capped.ready(RequestId(id), now);
                    }
                },
                Event::Ends(at) => if let Some(id) = pick(&known, at).filter(|id| known[id].is_released) {
                    known.remove(&id);
                    capped.ended(RequestId(id), now);
                },
                Event::Cancels(at) => if let Some(id) = pick(&known, at) {
                    known.remove(&id);
                    capped.cancel(RequestId(id), now);
                },
                Event::Length(at, units) => if let Some(id) = pick(&known, at) {
                    capped.length(RequestId(id), units, now);
                },
                Event::Offers(at, units) => if let Some(id) = pick(&known, at) {
                    capped.offers(RequestId(id), units, now);
                },
                Event::Moves(user, class) => capped.set_user(UserId(user), ClassId(class), now),
                Event::Cap(class, rate) => capped.set_cap(ClassId(class), rate.map(f64::from), now),
                Event::Stray(class) => capped.stray(Some(ClassId(class)), 100, now),
                Event::Passes(ms) => now += Nanos::from_millis(u64::from(ms)),
            }
            turns(&mut capped, &mut known, now)?;
        }
        for class in 0..2 {
            capped.set_cap(ClassId(class), None, now);
        }
        // All existing requests go on and end, in the order in which they can.
        for _ in 0..2_000 {
            turns(&mut capped, &mut known, now)?;
            let Some(id) = known.iter().find(|(_, request)| request.is_released && request.allowed > 0).map(|(&id, _)| id) else {
                if known.is_empty() {
                    break;
                }
                for (&id, request) in known.iter_mut().filter(|(_, request)| request.is_released && !request.is_ready) {
                    request.is_ready = true;
                    capped.ready(RequestId(id), now);
                }
                now += Nanos::from_millis(500);
                continue;
            };
            known.remove(&id);
            capped.ended(RequestId(id), now);
        }
        prop_assert!(known.is_empty(), "{}: {known:?} stay", POLICIES[policy]);
        prop_assert!((0..200).all(|id| !capped.holds(RequestId(id))));
    }
}
