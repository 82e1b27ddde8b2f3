//! `delay-pools` against its two lines of arithmetic: every bucket is filled at every event, and every class asked.

use std::collections::BTreeMap;

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};
use proptest::prelude::*;

const QUANTUM: u64 = 2_896;
const CLASSES: u32 = 4;
const USERS: u32 = 5;
const IDS: u32 = 10;
/// Rounding in sums, in units.
const NEARLY: f64 = 1e-7;

#[derive(Debug, Clone, Copy)]
enum Event {
    Class(u32, f64),
    User(u32, u32),
    Forget(u32),
    Rate(f64),
    Fills(u32),
    Arrived(u32, u32),
    Received(u32, u64),
    Ready(u32),
    Over(u32, bool),
    /// Time goes on until the gateway wants to be asked again.
    Awaited,
}

fn event() -> impl Strategy<Value = Event> {
    let id = || 0..=IDS;
    prop_oneof![
        2 => (0..CLASSES, 0.05..8.0f64).prop_map(|(class, weight)| Event::Class(class, weight)),
        2 => (0..USERS, 0..=CLASSES).prop_map(|(user, class)| Event::User(user, class)),
        1 => (0..USERS).prop_map(Event::Forget),
        1 => prop_oneof![50.0..1_000.0f64, 10_000.0..90_000.0f64].prop_map(Event::Rate),
        1 => (1..4_000u32).prop_map(Event::Fills),
        8 => (id(), 0..=USERS).prop_map(|(id, user)| Event::Arrived(id, user)),
        8 => (id(), prop_oneof![Just(0u64), 1..3_000u64, Just(20_000)]).prop_map(|(id, units)| Event::Received(id, units)),
        12 => id().prop_map(Event::Ready),
        2 => (id(), any::<bool>()).prop_map(|(id, ended)| Event::Over(id, ended)),
        4 => Just(Event::Awaited),
    ]
}

/// Requests and units, in order, by class.
type Turns = BTreeMap<u32, Vec<(u32, u64)>>;

#[derive(Debug)]
struct Plain {
    rate: f64,
    seconds: f64,
    weights: BTreeMap<u32, f64>,
    levels: BTreeMap<u32, f64>,
    class_of: BTreeMap<u32, u32>,
    users: BTreeMap<u32, u32>,
    arrived: Vec<u32>,
    granted: BTreeMap<u32, u64>,
    /// The class that paid for a response's last turn, and for how many of the granted units.
    paid: BTreeMap<u32, (u32, u64)>,
    /// In the order in which they were held back; who moves goes to the end.
    held: Vec<u32>,
}

impl Plain {
    fn restore(&self, class: u32) -> f64 {
        self.rate * self.weights[&class] / self.weights.values().sum::<f64>()
    }

    fn maximum(&self, class: u32) -> f64 {
        self.restore(class) * self.seconds
    }

    fn enough(&self, class: u32) -> f64 {
        self.maximum(class).min(QUANTUM as f64)
    }

    fn fill(&mut self, seconds: f64) {
        for &class in self.weights.keys() {
            let level = (self.levels[&class] + self.restore(class) * seconds).min(self.maximum(class));
            self.levels.insert(class, level);
        }
    }

    fn take(&mut self, class: u32, units: f64) {
        *self.levels.get_mut(&class).expect("a class") -= units;
        self.fill(0.0);
    }

    fn class(&self, id: u32) -> u32 {
        self.class_of[&self.users[&id]]
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Class(class, weight) => {
                self.weights.insert(class, weight);
                let maximum = self.maximum(class);
                self.levels.entry(class).or_insert(maximum);
            }
            Event::User(user, class) if self.weights.contains_key(&class) => {
                let before = self.class_of.insert(user, class);
                if before != Some(class) {
                    let (moved, stay): (Vec<u32>, Vec<u32>) = self.held.iter().partition(|&id| self.users[id] == user);
                    self.held = [stay, moved].concat();
                }
            }
            Event::Forget(user) if self.users.values().all(|&of| of != user) => {
                self.class_of.remove(&user);
            }
            Event::Rate(rate) => self.rate = rate,
            Event::Fills(ms) => self.seconds = f64::from(ms) / 1e3,
            Event::Arrived(id, user) if self.class_of.contains_key(&user) && !self.users.contains_key(&id) => {
                self.users.insert(id, user);
                self.arrived.push(id);
            }
            Event::Received(id, units) if self.granted.contains_key(&id) => {
                let granted = self.granted.get_mut(&id).expect("it is there");
                let beyond = units.saturating_sub(*granted);
                *granted -= units - beyond;
                let granted = *granted;
                self.paid.entry(id).and_modify(|(_, paid)| *paid = (*paid).min(granted));
                self.take(self.class(id), beyond as f64);
            }
            Event::Ready(id) if self.granted.contains_key(&id) && !self.held.contains(&id) => self.held.push(id),
            Event::Over(id, _) if self.users.contains_key(&id) => {
                self.users.remove(&id);
                self.arrived.retain(|&other| other != id);
                self.held.retain(|&other| other != id);
                self.granted.remove(&id);
                if let Some((class, unused)) = self.paid.remove(&id) {
                    self.take(class, -(unused as f64));
                }
            }
            _ => {}
        }
        self.fill(0.0);
    }

    fn first(&self, class: u32) -> Option<u32> {
        self.held.iter().copied().find(|&id| self.class(id) == class)
    }

    /// Everything that is released now, and the turns of every class.
    fn turns(&mut self) -> (Vec<u32>, Turns) {
        let released = std::mem::take(&mut self.arrived);
        for &id in &released {
            self.granted.insert(id, QUANTUM);
            self.paid.insert(id, (self.class(id), QUANTUM));
            self.take(self.class(id), QUANTUM as f64);
        }
        let mut turns = BTreeMap::new();
        for class in self.weights.keys().copied().collect::<Vec<_>>() {
            while let Some(id) = self.first(class).filter(|_| self.levels[&class] >= self.enough(class) - NEARLY) {
                let units = (self.levels[&class].round() as u64).clamp(1, QUANTUM);
                *self.granted.get_mut(&id).expect("it is released") += units;
                let before = self.paid.get(&id).filter(|(of, _)| *of == class).map_or(0, |&(_, paid)| paid);
                self.paid.insert(id, (class, before + units));
                self.held.retain(|&other| other != id);
                self.take(class, units as f64);
                turns.entry(class).or_insert_with(Vec::new).push((id, units));
            }
        }
        (released, turns)
    }

    /// In how many seconds a held class has enough.
    fn opens_s(&self) -> Option<f64> {
        let held = self.weights.keys().copied().filter(|&class| self.first(class).is_some());
        held.map(|class| (self.enough(class) - self.levels[&class]).max(0.0) / self.restore(class)).reduce(f64::min)
    }
}

fn tell(gateway: &mut dyn RequestScheduler, event: Event, now: Nanos) {
    match event {
        Event::Class(class, weight) => {
            gateway.set_class(ClassId(class), Weight::new(weight).expect("a weight"), now);
        }
        Event::User(user, class) => gateway.set_user(UserId(user), ClassId(class), now),
        Event::Forget(user) => gateway.forget_user(UserId(user)),
        Event::Rate(rate) => gateway.set_rate(rate, now),
        Event::Fills(ms) => {
            let spec: RequestSpec = format!("delay-pools:seconds={ms}ms").parse().expect("a policy");
            gateway.retune(&spec.knobs(), now).expect("retunable");
        }
        Event::Arrived(id, user) => {
            gateway.enqueue(&Request { id: RequestId(id), user: UserId(user), length: None }, now);
        }
        Event::Received(id, units) => gateway.received(RequestId(id), units, now),
        Event::Ready(id) => gateway.ready(RequestId(id), now),
        Event::Over(id, true) => gateway.ended(RequestId(id), now),
        Event::Over(id, false) => gateway.cancel(RequestId(id), now),
        Event::Awaited => {}
    }
}

proptest! {
    #[test]
    fn turns_are_those_of_plain_buckets(
        events in prop::collection::vec((event(), prop_oneof![2 => Just(0u64), 3 => 1u64..3_000_000_017]), 1..200),
    ) {
        let setup = RequestSetup { rate: 40_000.7, ..RequestSetup::for_bytes(1e6) };
        let mut gateway = "delay-pools".parse::<RequestSpec>().expect("a policy").build(&setup).expect("in range");
        let (weights, levels) = (BTreeMap::new(), BTreeMap::new());
        let (class_of, users, granted, paid) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut plain = Plain {
            rate: setup.rate, seconds: 1.0, weights, levels, class_of, users, arrived: Vec::new(), granted, paid,
            held: Vec::new(),
        };
        let mut now = Nanos::ZERO;
        let begins = [Event::Class(0, 1.3), Event::Class(1, 0.7), Event::User(0, 0), Event::User(1, 1), Event::User(2, 1)];
        for (at, (event, gap)) in begins.into_iter().map(|event| (event, 0)).chain(events).enumerate() {
            let gap = match event {
                Event::Awaited => gateway.poll_at().map_or(0, |at| (at - now).0.min(1 << 40)),
                _ => gap,
            };
            now += Nanos(gap);
            plain.fill(gap as f64 / 1e9);
            tell(&mut *gateway, event, now);
            plain.happens(event);
            let (mut released, mut turns) = (Vec::new(), BTreeMap::new());
            let (expected_released, expected_turns) = plain.turns();
            // The instant at which a bucket has enough is rounded up: one that is full may be asked a nanosecond later.
            let asked = now;
            loop {
                let Some(turn) = gateway.dequeue(now) else {
                    if gateway.poll_at().is_none_or(|at| at > now + Nanos(2)) {
                        break;
                    }
                    now += Nanos(1);
                    continue;
                };
                if turn.releases {
                    prop_assert_eq!(turn.units, QUANTUM);
                    released.push(turn.request.0);
                } else {
                    let of_class: &mut Vec<_> = turns.entry(plain.class(turn.request.0)).or_default();
                    of_class.push((turn.request.0, turn.units));
                }
            }
            plain.fill((now - asked).as_secs_f64());
            prop_assert_eq!((released, turns), (expected_released, expected_turns), "after event {} {:?}", at, event);
            match (gateway.poll_at(), plain.opens_s()) {
                (None, None) => {}
                (Some(at), Some(opens_s)) => {
                    let waits_s = (at - now).as_secs_f64();
                    prop_assert!((waits_s - opens_s).abs() <= 1e-5 + 1e-9 * opens_s, "{} s instead of {} s", waits_s, opens_s);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
