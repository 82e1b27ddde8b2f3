//! A request scheduler and the far queue called through C and directly must give the same results.
//!
//! Tests and the fuzz target `border` generate the events.

use dovetail_sched::{
    Nanos, Weight,
    request::{
        Capped, ClassId, FarDelay, FarQueue, REGISTRY, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec,
        UserId,
    },
};

use crate::through_c::{Far, Requests};

pub(crate) const IDS: u32 = 10;
pub(crate) const USERS: u32 = 5;
pub(crate) const CLASSES: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) enum Event {
    Wait(u64),
    Class(u32, f64),
    User(u32, u32),
    Forget(u32),
    Rate(f64),
    Cap(u32, Option<f64>),
    Enqueue(u32, u32, Option<u64>),
    Length(u32, u64),
    Received(u32, u64),
    Unread(u32, u64),
    Offers(u32, u64),
    RoundTrip(u32, u64),
    Distance(u32, u64),
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

/// Every policy, some of them with knobs.
pub(crate) fn policies() -> Vec<String> {
    let knobs = ["msf-rs:window=3", "grants:delay=20ms", "grants:order=first,first=10kB", "delay-pools:seconds=100ms"];
    REGISTRY.iter().map(|entry| entry.name).chain(knobs).map(str::to_owned).collect()
}

/// Makes the events on both.
pub(crate) fn play(policy: &str, events: &[Event], policies: &[String]) {
    let setup = RequestSetup::for_bytes(100_000.0);
    let mut ours = Capped::new(policy.parse::<RequestSpec>().unwrap().build(&setup).unwrap(), &setup);
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
            Event::Cap(class, rate) => {
                ours.set_cap(ClassId(class), rate, now);
                theirs.set_cap(class, rate, now);
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
            Event::Unread(id, units) => {
                ours.unread(RequestId(id), units, now);
                theirs.unread(id, units, now);
            }
            Event::Offers(id, units) => {
                ours.offers(RequestId(id), units, now);
                theirs.offers(id, units, now);
            }
            Event::RoundTrip(id, ns) => {
                ours.round_trip(RequestId(id), Nanos(ns), now);
                theirs.round_trip(id, Nanos(ns), now);
            }
            Event::Distance(id, ns) => {
                ours.distance(RequestId(id), Nanos(ns), now);
                theirs.distance(id, Nanos(ns), now);
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
