//! Properties of every request policy: users are counted exactly, and no order of events breaks anything.

use std::collections::BTreeMap;

use dovetail_sched::{
    Nanos, Weight,
    request::{
        Accounts, Capped, ClassId, FarDelay, REGISTRY, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec,
        UserId,
    },
};
use proptest::prelude::*;

const IDS: u32 = 10;
const USERS: u32 = 5;
const CLASSES: u32 = 3;

#[derive(Debug, Clone, Copy)]
enum Change {
    Class(u32),
    User(u32, u32),
    Forget(u32),
    Arrived(u32, u32),
    Left(u32),
    /// Cancelled and enqueued again at the same instant.
    Again(u32),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        1 => (0..CLASSES).prop_map(Change::Class),
        3 => (0..USERS, 0..CLASSES + 1).prop_map(|(user, class)| Change::User(user, class)),
        2 => (0..USERS + 1).prop_map(Change::Forget),
        8 => (0..IDS, 0..USERS + 1).prop_map(|(id, user)| Change::Arrived(id, user)),
        6 => (0..IDS + 1).prop_map(Change::Left),
        3 => (0..IDS).prop_map(Change::Again),
    ]
}

/// The same with lists and searches.
#[derive(Default)]
struct Lists {
    classes: Vec<u32>,
    class_of: BTreeMap<u32, u32>,
    requests: BTreeMap<u32, u32>,
}

impl Lists {
    fn requests_of(&self, user: u32) -> u32 {
        self.requests.values().filter(|&&of| of == user).count() as u32
    }

    fn active_users(&self, class: u32) -> u32 {
        self.class_of.iter().filter(|&(&user, &of)| of == class && self.requests_of(user) > 0).count() as u32
    }

    fn arrived(&mut self, id: u32, user: u32) -> bool {
        let counts = self.class_of.contains_key(&user) && !self.requests.contains_key(&id);
        if counts {
            self.requests.insert(id, user);
        }
        counts
    }
}

proptest! {
    #[test]
    fn active_users_are_counted_exactly(changes in prop::collection::vec(change(), 1..300)) {
        let mut accounts = Accounts::default();
        let mut lists = Lists::default();
        for change in changes {
            match change {
                Change::Class(class) => {
                    accounts.set_class(ClassId(class), Weight::ONE);
                    lists.classes.push(class);
                }
                Change::User(user, class) => {
                    let before = lists.class_of.get(&user).copied();
                    let known = lists.classes.contains(&class);
                    if known {
                        lists.class_of.insert(user, class);
                    }
                    let moved = before.filter(|&before| known && before != class);
                    prop_assert_eq!(accounts.set_user(UserId(user), ClassId(class)), moved.map(ClassId));
                }
                Change::Forget(user) => {
                    let goes = lists.requests_of(user) == 0 && lists.class_of.remove(&user).is_some();
                    prop_assert_eq!(accounts.forget_user(UserId(user)), goes);
                }
                Change::Arrived(id, user) => {
                    let class = lists.class_of.get(&user).copied();
                    let before = (lists.requests_of(user), class.map(|class| lists.active_users(class)));
                    let joined = accounts.arrived(RequestId(id), UserId(user));
                    prop_assert_eq!(joined.is_some(), lists.arrived(id, user));
                    if let Some(joined) = joined {
                        prop_assert_eq!((joined.user, Some(joined.class)), (UserId(user), class.map(ClassId)));
                        prop_assert_eq!((joined.user_changed, joined.class_changed), (before.0 == 0, before.1 == Some(0)));
                    }
                }
                Change::Left(id) => {
                    let of = lists.requests.remove(&id);
                    let left = accounts.left(RequestId(id));
                    prop_assert_eq!(left.map(|left| left.user.0), of);
                    if let (Some(left), Some(user)) = (left, of) {
                        let class = lists.class_of[&user];
                        prop_assert_eq!(left.class, ClassId(class));
                        prop_assert_eq!(left.user_changed, lists.requests_of(user) == 0);
                        prop_assert_eq!(left.class_changed, lists.active_users(class) == 0);
                    }
                }
                Change::Again(id) => {
                    if let Some(user) = accounts.user(RequestId(id)) {
                        prop_assert!(accounts.left(RequestId(id)).is_some());
                        prop_assert!(accounts.arrived(RequestId(id), user).is_some());
                    }
                }
            }
            for user in 0..=USERS {
                prop_assert_eq!(accounts.requests(UserId(user)), lists.requests_of(user));
                prop_assert_eq!(accounts.class_of(UserId(user)), lists.class_of.get(&user).copied().map(ClassId));
            }
            for class in 0..=CLASSES {
                prop_assert_eq!(accounts.active_users(ClassId(class)), lists.active_users(class));
                prop_assert_eq!(accounts.is_known(ClassId(class)), lists.classes.contains(&class));
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Change(Change),
    Weight(u32, f64),
    Rate(f64),
    Length(u32, u64),
    Received(u32, u64),
    Ready(u32),
    Ended(u32),
    Stray(Option<u32>, u64),
    FarQueue(Option<u64>, Option<u64>),
    Unread(u32, u64),
    Offers(u32, u64),
    RoundTrip(u32, u64),
    Distance(u32, u64),
    Uplink(bool),
    Retune(usize),
    Cap(u32, Option<f64>),
    Poll,
}

fn event() -> impl Strategy<Value = Event> {
    let id = || 0..IDS + 1;
    let units = || prop_oneof![5 => Just(0u64), 50 => 1u64..20_000, 1 => Just(u64::MAX)];
    let rate =
        || prop_oneof![Just(1e6), Just(1e-3), Just(1e15), Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY)];
    let delay = || prop::option::of(prop_oneof![0u64..1_000_000_000, Just(u64::MAX)]);
    prop_oneof![
        12 => change().prop_map(Event::Change),
        1 => (0..CLASSES, prop_oneof![Just(1e-6), Just(1.0), Just(1e6)]).prop_map(|(class, w)| Event::Weight(class, w)),
        1 => rate().prop_map(Event::Rate),
        2 => (id(), units()).prop_map(|(id, units)| Event::Length(id, units)),
        6 => (id(), units()).prop_map(|(id, units)| Event::Received(id, units)),
        3 => (id(), units()).prop_map(|(id, units)| Event::Unread(id, units)),
        4 => id().prop_map(Event::Ready),
        3 => id().prop_map(Event::Ended),
        2 => (prop::option::of(0..CLASSES + 1), units()).prop_map(|(class, units)| Event::Stray(class, units)),
        2 => (delay(), delay()).prop_map(|(delay, room)| Event::FarQueue(delay, room)),
        2 => (id(), units()).prop_map(|(id, units)| Event::Offers(id, units)),
        2 => (id(), delay()).prop_map(|(id, trip)| Event::RoundTrip(id, trip.unwrap_or(0))),
        2 => (id(), delay()).prop_map(|(id, takes)| Event::Distance(id, takes.unwrap_or(0))),
        1 => any::<bool>().prop_map(Event::Uplink),
        1 => any::<usize>().prop_map(Event::Retune),
        1 => (0..CLASSES, prop::option::of(rate())).prop_map(|(class, rate)| Event::Cap(class, rate)),
        8 => Just(Event::Poll),
    ]
}

/// Other values of knobs that can be changed while a policy runs.
const RETUNED: &[&str] = &[
    "grants:ageing=100%,lag=0,lead=0,silence=0ms,delay=1us",
    "grants:ageing=1000000000,lag=1GB,lead=inf,silence=1000s,delay=10s",
    "grants",
    "msf-rs:target=0.01,period=1ms,growth=1000",
    "msf-rs:period=10000s,growth=1",
    "delay-pools:seconds=1ns",
    "delay-pools:seconds=100000s",
];

/// More turns at one instant than any policy has reason to give here.
const MAX_TURNS: usize = 100_000;

proptest! {
    #[test]
    fn no_order_of_events_breaks_anything_or_loses_a_request(
        policy in 0..REGISTRY.len(),
        is_capped in any::<bool>(),
        events in prop::collection::vec((event(), prop_oneof![Just(0u64), 1u64..1 << 24, Just(1u64 << 40)]), 1..150),
    ) {
        let spec: RequestSpec = REGISTRY[policy].name.parse().unwrap();
        let setup = RequestSetup::for_bytes(1e6);
        let mut gateway = Capped::new(spec.build(&setup).unwrap(), &setup);
        let is_absurd =
            events.iter().any(|(event, _)| matches!(event, Event::Received(_, u64::MAX) | Event::Stray(_, u64::MAX)));
        let mut lists = Lists::default();
        // Whether each request was released.
        let mut released: BTreeMap<u32, bool> = BTreeMap::new();
        let mut now = Nanos::ZERO;
        for class in 0..2 {
            gateway.set_class(ClassId(class), Weight::ONE, now);
            gateway.set_user(UserId(class), ClassId(class), now);
            lists.classes.push(class);
            lists.class_of.insert(class, class);
        }
        for (event, gap) in events {
            now = Nanos(now.0 + gap);
            match event {
                Event::Change(Change::Class(class)) => {
                    gateway.set_class(ClassId(class), Weight::ONE, now);
                    lists.classes.push(class);
                }
                Event::Weight(class, weight) => {
                    gateway.set_class(ClassId(class), Weight::new(weight).expect("a weight"), now);
                    lists.classes.push(class);
                }
                Event::Change(Change::User(user, class)) => {
                    gateway.set_user(UserId(user), ClassId(class), now);
                    if lists.classes.contains(&class) {
                        lists.class_of.insert(user, class);
                    }
                }
                Event::Change(Change::Forget(user)) => {
                    gateway.forget_user(UserId(user));
                    if lists.requests_of(user) == 0 {
                        lists.class_of.remove(&user);
                    }
                }
                Event::Change(Change::Arrived(id, user)) => {
                    let length = (id % 2 == 0).then_some(u64::from(id) * 5_000);
                    gateway.enqueue(&Request { id: RequestId(id), user: UserId(user), length }, now);
                    if lists.arrived(id, user) {
                        released.insert(id, false);
                    }
                }
                Event::Change(Change::Left(id)) => {
                    gateway.cancel(RequestId(id), now);
                    lists.requests.remove(&id);
                    released.remove(&id);
                }
                Event::Change(Change::Again(id)) => {
                    gateway.cancel(RequestId(id), now);
                    if let Some(&user) = lists.requests.get(&id) {
                        gateway.enqueue(&Request { id: RequestId(id), user: UserId(user), length: None }, now);
                        released.insert(id, false);
                    }
                }
                Event::Rate(rate) => gateway.set_rate(rate, now),
                Event::Length(id, units) => gateway.length(RequestId(id), units, now),
                Event::Received(id, units) => gateway.received(RequestId(id), units, now),
                Event::Unread(id, units) => gateway.unread(RequestId(id), units, now),
                Event::Ready(id) => gateway.ready(RequestId(id), now),
                Event::Ended(id) => {
                    gateway.ended(RequestId(id), now);
                    lists.requests.remove(&id);
                    released.remove(&id);
                }
                Event::Stray(class, units) => gateway.stray(class.map(ClassId), units, now),
                Event::FarQueue(delay, room) => {
                    let seen = delay.map(|delay| FarDelay { delay: Nanos(delay), room: room.map(Nanos) });
                    gateway.far_queue(seen, now);
                }
                Event::Offers(id, window) => gateway.offers(RequestId(id), window, now),
                Event::RoundTrip(id, takes) => gateway.round_trip(RequestId(id), Nanos(takes), now),
                Event::Distance(id, takes) => gateway.distance(RequestId(id), Nanos(takes), now),
                Event::Uplink(is_busy) => gateway.uplink(is_busy, now),
                Event::Retune(at) => {
                    let other: RequestSpec = RETUNED[at % RETUNED.len()].parse().unwrap();
                    let is_same = other.to_string().split(':').next() == Some(REGISTRY[policy].name);
                    prop_assert_eq!(gateway.retune(&other.knobs(), now).is_ok(), is_same);
                }
                Event::Cap(class, rate) if is_capped => gateway.set_cap(ClassId(class), rate, now),
                Event::Cap(..) => {}
                Event::Poll => {
                    let mut turns = 0;
                    while let Some(turn) = gateway.dequeue(now) {
                        turns += 1;
                        prop_assert!(turns < MAX_TURNS, "turns without end");
                        // Released once, while it waits; other turns only afterwards.
                        prop_assert_eq!(released.get(&turn.request.0), Some(&!turn.releases));
                        released.insert(turn.request.0, true);
                    }
                }
            }
            gateway.figures(&mut |name, value| assert!(value.is_finite(), "{name} {value}"));
        }
        // A policy may take ages to recover from absurd amounts: then everything is cancelled.
        if is_absurd {
            (0..=IDS).for_each(|id| gateway.cancel(RequestId(id), now));
            released.clear();
        }
        // From here on all behave: whatever is released is answered at once, so everything that waits must be released.
        gateway.set_rate(1e6, now);
        gateway.far_queue(None, now);
        (0..CLASSES).for_each(|class| gateway.set_cap(ClassId(class), None, now));
        for _ in 0..10_000 {
            while let Some(turn) = gateway.dequeue(now) {
                released.insert(turn.request.0, true);
            }
            let outstanding: Vec<u32> = released.iter().filter(|&(_, &out)| out).map(|(&id, _)| id).collect();
            for id in outstanding {
                gateway.ended(RequestId(id), now);
                released.remove(&id);
            }
            if released.is_empty() {
                break;
            }
            let at = gateway.poll_at();
            prop_assert!(at.is_some(), "{:?} wait and nobody is to ask again", released);
            now = at.unwrap_or(now).max(now + Nanos(1));
        }
        prop_assert!(released.is_empty(), "{:?} wait for ever", released);
        prop_assert_eq!(gateway.dequeue(now), None, "something stayed behind");
    }
}

#[test]
fn a_rate_out_of_range_is_ignored_under_every_policy() {
    for entry in REGISTRY {
        let spec: RequestSpec = entry.name.parse().unwrap();
        let mut gateway = spec.build(&RequestSetup::for_bytes(1e6)).unwrap();
        let figures = |gateway: &dyn RequestScheduler| {
            let mut found = Vec::new();
            gateway.figures(&mut |name, value| found.push((name, value)));
            found
        };
        let before = figures(&*gateway);
        for rate in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-4, 1e16] {
            gateway.set_rate(rate, Nanos::ZERO);
            assert_eq!(figures(&*gateway), before, "{} at {rate}", entry.name);
        }
    }
}
