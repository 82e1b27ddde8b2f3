//! Random events through C and directly have the same answers: request schedulers, for all policies, and the far queue.

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, FarDelay, FarQueue, REGISTRY, Request, RequestId, RequestSetup, RequestSpec, UserId},
};
use proptest::prelude::*;

use crate::through_c::{Far, Requests};

const IDS: u32 = 10;
const USERS: u32 = 5;
const CLASSES: u32 = 3;

#[derive(Debug, Clone)]
enum Event {
    Wait(u64),
    Class(u32, f64),
    User(u32, u32),
    Forget(u32),
    Rate(f64),
    Enqueue(u32, u32, Option<u64>),
    Length(u32, u64),
    Received(u32, u64),
    Offers(u32, u64),
    RoundTrip(u32, u64),
    Ready(u32),
    Ended(u32),
    Cancel(u32),
    Uplink(bool),
    Stray(Option<u32>, u64),
    Probe,
    Back(u64),
    AnotherPath,
    Far(Option<FarDelay>),
    Retune(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let units = 0u64..60_000;
    // One more of each than there are, as a careless caller has it.
    let (ids, users, classes) = (0..IDS + 1, 0..USERS + 1, 0..CLASSES + 1);
    let far = (0u64..400_000_000, prop::option::of(0u64..400_000_000));
    prop_oneof![
        8 => (0u64..200_000_000).prop_map(Event::Wait),
        2 => (classes.clone(), 0.1f64..9.0).prop_map(|(class, weight)| Event::Class(class, weight)),
        4 => (users.clone(), classes.clone()).prop_map(|(user, class)| Event::User(user, class)),
        1 => users.clone().prop_map(Event::Forget),
        1 => (1e3f64..1e7).prop_map(Event::Rate),
        10 => (ids.clone(), users, prop::option::of(units.clone())).prop_map(|(id, user, length)| Event::Enqueue(id, user, length)),
        3 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Length(id, units)),
        10 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Received(id, units)),
        2 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Offers(id, units)),
        2 => (ids.clone(), units.clone()).prop_map(|(id, ns)| Event::RoundTrip(id, ns)),
        6 => ids.clone().prop_map(Event::Ready),
        5 => ids.clone().prop_map(Event::Ended),
        2 => ids.prop_map(Event::Cancel),
        1 => any::<bool>().prop_map(Event::Uplink),
        1 => (prop::option::of(classes), units).prop_map(|(class, units)| Event::Stray(class, units)),
        2 => Just(Event::Probe),
        2 => (0u64..20).prop_map(Event::Back),
        1 => Just(Event::AnotherPath),
        2 => prop::option::of(far).prop_map(|far| Event::Far(far.map(|(delay, room)| {
            FarDelay { delay: Nanos(delay), room: room.map(Nanos) }
        }))),
        1 => (0usize..8).prop_map(Event::Retune),
    ]
}

/// Every policy, some of them with knobs.
fn policies() -> Vec<String> {
    let knobs = ["msf-rs:window=3", "grants:delay=20ms", "grants:order=first,first=10kB", "delay-pools:seconds=100ms"];
    REGISTRY.iter().map(|entry| entry.name).chain(knobs).map(str::to_owned).collect()
}

fn play(policy: &str, events: &[Event], policies: &[String]) {
    let setup = RequestSetup::for_bytes(100_000.0);
    let mut ours = policy.parse::<RequestSpec>().unwrap().build(&setup).unwrap();
    let mut theirs = Requests::new(policy, &setup);
    let (mut far, mut their_far) = (FarQueue::default(), Far::new());
    assert_eq!(ours.first_window(), theirs.first_window());
    let mut now = Nanos::ZERO;
    for event in events {
        match *event {
            Event::Wait(nanos) => now += Nanos(nanos),
            Event::Class(class, weight) => {
                ours.set_class(ClassId(class), Weight::new(weight).unwrap(), now);
                theirs.set_class(class, weight, now);
            }
            Event::User(user, class) => {
                ours.set_user(UserId(user), ClassId(class), now);
                theirs.set_user(user, class, now);
            }
            Event::Forget(user) => {
                ours.forget_user(UserId(user));
                theirs.forget_user(user);
            }
            Event::Rate(rate) => {
                ours.set_rate(rate, now);
                theirs.set_rate(rate, now);
            }
            Event::Enqueue(id, user, length) => {
                let request = Request { id: RequestId(id), user: UserId(user), length };
                ours.enqueue(&request, now);
                theirs.enqueue(&request, now);
            }
            Event::Length(id, units) => {
                ours.length(RequestId(id), units, now);
                theirs.length(id, units, now);
            }
            Event::Received(id, units) => {
                ours.received(RequestId(id), units, now);
                theirs.received(id, units, now);
            }
            Event::Offers(id, units) => {
                ours.offers(RequestId(id), units, now);
                theirs.offers(id, units, now);
            }
            Event::RoundTrip(id, ns) => {
                ours.round_trip(RequestId(id), Nanos(ns), now);
                theirs.round_trip(id, Nanos(ns), now);
            }
            Event::Ready(id) => {
                ours.ready(RequestId(id), now);
                theirs.ready(id, now);
            }
            Event::Ended(id) => {
                ours.ended(RequestId(id), now);
                theirs.ended(id, now);
            }
            Event::Cancel(id) => {
                ours.cancel(RequestId(id), now);
                theirs.cancel(id, now);
            }
            Event::Uplink(is_busy) => {
                ours.uplink(is_busy, now);
                theirs.uplink(is_busy, now);
            }
            Event::Stray(class, units) => {
                ours.stray(class.map(ClassId), units, now);
                theirs.stray(class, units, now);
            }
            Event::Probe => assert_eq!(far.probe(now), their_far.probe(now)),
            Event::Back(probe) => {
                far.back(probe, now);
                their_far.back(probe, now);
            }
            Event::AnotherPath => {
                far.forget();
                their_far.forget();
            }
            Event::Far(seen) => {
                let seen = seen.or(far.delay(now));
                ours.far_queue(seen, now);
                theirs.far_queue(seen, now);
            }
            Event::Retune(at) => {
                let policy = &policies[at % policies.len()];
                let spec: RequestSpec = policy.parse().unwrap();
                let answer = ours.retune(&spec.knobs(), now).map_err(|error| error.to_string());
                assert_eq!(answer, theirs.retune(policy, now));
            }
        }
        assert_eq!(far.delay(now), their_far.delay(now));
        loop {
            let turn = ours.dequeue(now);
            assert_eq!(turn, theirs.dequeue(now));
            if turn.is_none() {
                break;
            }
        }
        assert_eq!(ours.poll_at(), theirs.poll_at());
    }
    let mut figures = Vec::new();
    ours.figures(&mut |name, value| figures.push((name.to_owned(), value.to_bits())));
    assert_eq!(figures, theirs.figures());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn random_events_have_the_same_answers(events in prop::collection::vec(event(), 1..250)) {
        let policies = policies();
        for policy in &policies {
            play(policy, &events, &policies);
        }
    }
}
