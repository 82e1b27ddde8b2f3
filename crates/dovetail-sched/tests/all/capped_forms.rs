//! `Capped` against its rules, around a policy that lets everything go at once: which request is served, with what, and when
//! the next is. The bucket is filled at every event and the users are searched.

use std::collections::{BTreeMap, VecDeque};

use dovetail_sched::{
    Knobs, Nanos, PolicyError, Weight,
    request::{Capped, ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSetup, Turn, UserId},
};
use proptest::prelude::*;

const CLASS: ClassId = ClassId(0);
const USERS: u32 = 4;
const IDS: u32 = 12;
const NEARLY: f64 = 1e-3;
const SETUP: RequestSetup =
    RequestSetup { rate: 100_000.0, quantum: 2_896, window: 5_000, longest_window: 40_000, overhead: 0 };

/// Gives every request a turn at once, of more units than a capped class may have in one; windows grow with every turn.
#[derive(Debug)]
struct AtOnce {
    units: u64,
    /// By how much, if there are windows.
    grows: Option<u64>,
    turns: BTreeMap<u32, u64>,
    asked: VecDeque<(u32, bool)>,
}

impl RequestScheduler for AtOnce {
    fn set_class(&mut self, _class: ClassId, _weight: Weight, _now: Nanos) {}
    fn set_user(&mut self, _user: UserId, _class: ClassId, _now: Nanos) {}
    fn forget_user(&mut self, _user: UserId) {}
    fn set_rate(&mut self, _units_per_s: f64, _now: Nanos) {}
    fn enqueue(&mut self, request: &Request, _now: Nanos) {
        assert!(self.turns.insert(request.id.0, 0).is_none(), "it is told of once");
        self.asked.push_back((request.id.0, true));
    }
    fn length(&mut self, request: RequestId, _units: u64, _now: Nanos) {
        assert!(self.turns.contains_key(&request.0));
    }
    fn received(&mut self, request: RequestId, _units: u64, _now: Nanos) {
        assert!(self.turns.contains_key(&request.0));
    }
    fn unread(&mut self, _request: RequestId, _units: u64, _now: Nanos) {}

    fn ready(&mut self, request: RequestId, _now: Nanos) {
        self.asked.push_back((request.0, false));
    }
    fn offers(&mut self, request: RequestId, _window: u64, _now: Nanos) {
        assert!(self.turns.contains_key(&request.0));
    }
    fn round_trip(&mut self, _request: RequestId, _takes: Nanos, _now: Nanos) {}
    fn distance(&mut self, request: RequestId, _takes: Nanos, _now: Nanos) {
        assert!(self.turns.contains_key(&request.0));
    }
    fn uplink(&mut self, _is_busy: bool, _now: Nanos) {}
    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.cancel(request, now);
    }
    fn cancel(&mut self, request: RequestId, _now: Nanos) {
        assert!(self.turns.remove(&request.0).is_some());
        self.asked.retain(|&(id, _)| id != request.0);
    }
    fn stray(&mut self, _class: Option<ClassId>, _units: u64, _now: Nanos) {}
    fn far_queue(&mut self, _seen: Option<FarDelay>, _now: Nanos) {}
    fn dequeue(&mut self, _now: Nanos) -> Option<Turn> {
        let (id, releases) = self.asked.pop_front()?;
        let turns = self.turns.get_mut(&id).expect("it exists");
        let window = self.grows.map_or(u64::MAX, |grows| SETUP.window + grows * *turns);
        *turns += 1;
        Some(Turn { request: RequestId(id), releases, units: self.units, window })
    }
    fn poll_at(&self) -> Option<Nanos> {
        None
    }
    fn figures(&self, _report: &mut dyn FnMut(&'static str, f64)) {}
    fn first_window(&self) -> Option<u64> {
        self.grows.map(|_| SETUP.window)
    }
    fn retune(&mut self, _knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Arrives(u32, u32, Option<u64>),
    Received(u32, u64),
    Ready(u32),
    Over(u32, bool),
    Length(u32, u64),
    Offers(u32, u64),
    Stray(u64),
    Cap(u32),
    Forget(u32),
    Awaited,
}

fn event() -> impl Strategy<Value = Event> {
    let id = || 0..IDS;
    let units = || 1..20_000u64;
    prop_oneof![
        8 => (id(), 0..USERS, prop::option::of(units())).prop_map(|(id, user, total)| Event::Arrives(id, user, total)),
        8 => (id(), 0..4_000u64).prop_map(|(id, units)| Event::Received(id, units)),
        12 => id().prop_map(Event::Ready),
        3 => (id(), any::<bool>()).prop_map(|(id, ended)| Event::Over(id, ended)),
        2 => (id(), units()).prop_map(|(id, units)| Event::Length(id, units)),
        1 => (id(), units()).prop_map(|(id, units)| Event::Offers(id, units)),
        1 => units().prop_map(Event::Stray),
        1 => prop_oneof![500..5_000u32, 5_000..200_000u32].prop_map(Event::Cap),
        1 => (0..USERS).prop_map(Event::Forget),
        8 => Just(Event::Awaited),
    ]
}

#[derive(Debug, Default)]
struct PlainRequest {
    user: u32,
    total: Option<u64>,
    is_told: bool,
    is_released: bool,
    /// Its place in line, if it is held.
    place: Option<u64>,
    turns: u64,
    leave: u64,
    handed: u64,
    received: u64,
    window: u64,
    charged: u64,
}

#[derive(Debug)]
struct Plain {
    units: u64,
    grows: Option<u64>,
    rate: f64,
    level: f64,
    requests: BTreeMap<u32, PlainRequest>,
    services: [u64; USERS as usize],
    /// The most that a user had who was served.
    served: u64,
    places: u64,
    asked: VecDeque<u32>,
    handed: VecDeque<(u32, u64)>,
}

impl Plain {
    fn quantum(&self) -> u64 {
        ((self.rate * 0.1) as u64).clamp(1, SETUP.quantum)
    }

    /// The window of a response after so many turns of the policy.
    fn window(&self, turns: u64) -> u64 {
        let Some(grows) = self.grows else { return 0 };
        let first = ((self.rate * 0.34) as u64).min(SETUP.window);
        let longest = (SETUP.longest_window as f64 * (self.rate / SETUP.rate).min(1.0)) as u64;
        (first + grows * turns).min(longest.max(first))
    }

    fn passes(&mut self, seconds: f64) {
        self.level = (self.level + self.rate * seconds).min(self.level.max(self.rate * 0.25));
    }

    fn take(&mut self, user: u32, units: u64) {
        self.level -= units as f64;
        self.services[user as usize] += units;
    }

    fn give(&mut self, user: u32, units: u64) {
        let most = self.rate * if self.grows.is_some() { 10.0 } else { 0.25 };
        if units > 0 {
            self.level = self.level.max(most.min(self.level + units as f64));
            self.services[user as usize] = self.services[user as usize].saturating_sub(units);
        }
    }

    /// What a response may have brought is charged, and no more.
    fn charge(&mut self, id: u32) {
        let request = self.requests.get_mut(&id).expect("it exists");
        let sendable = request.handed + request.window;
        let target = request.received.max(request.total.unwrap_or(sendable).min(sendable));
        let (user, before) = (request.user, std::mem::replace(&mut request.charged, target));
        self.take(user, target.saturating_sub(before));
        self.give(user, before.saturating_sub(target));
    }

    fn holds(&self, user: u32) -> bool {
        self.requests.values().any(|request| request.user == user && request.place.is_some())
    }

    fn hold(&mut self, id: u32) {
        let user = self.requests[&id].user;
        if !self.holds(user) {
            let others = (0..USERS).filter(|&other| self.holds(other)).map(|other| self.services[other as usize]);
            let least = others.min().unwrap_or(self.served);
            self.services[user as usize] = self.services[user as usize].max(least);
        }
        self.places += 1;
        self.requests.get_mut(&id).expect("it exists").place = Some(self.places);
    }

    /// The next that is held: the user with the least service; new requests first while fewer than four are in flight.
    fn next(&self) -> Option<u32> {
        let user =
            (0..USERS).filter(|&user| self.holds(user)).min_by_key(|&user| (self.services[user as usize], user))?;
        let mine = || self.requests.iter().filter(move |(_, request)| request.user == user);
        let is_few = mine().filter(|(_, request)| request.is_released).count() < 4;
        let held = mine().filter_map(|(&id, request)| Some((request.is_told == is_few, request.place?, id)));
        held.min().map(|(_, _, id)| id)
    }

    fn serve(&mut self) {
        while self.level >= -NEARLY
            && let Some(id) = self.next()
        {
            let (quantum, first) = (self.quantum(), self.window(0));
            let request = self.requests.get_mut(&id).expect("it exists");
            let user = request.user;
            request.place = None;
            self.served = self.served.max(self.services[user as usize]);
            if request.leave > 0 {
                let units = self.hand(id);
                self.handed.push_back((id, units));
                continue;
            }
            // Charged ahead of the policy's turn, which settles it.
            let brings = quantum + first.max(request.window);
            let reserves = if request.is_told { quantum } else { request.total.unwrap_or(brings).min(brings) };
            request.is_told = true;
            request.charged += reserves;
            self.take(user, reserves);
            self.asked.push_back(id);
        }
    }

    fn hand(&mut self, id: u32) -> u64 {
        let quantum = self.quantum();
        let request = self.requests.get_mut(&id).expect("it exists");
        let is_last =
            request.total.is_some_and(|total| total.saturating_sub(request.handed) <= quantum + request.window);
        let units = if is_last { request.leave } else { request.leave.min(quantum) };
        request.leave -= units;
        request.handed += units;
        self.charge(id);
        units
    }

    /// The next turn.
    fn turn(&mut self) -> Option<Turn> {
        self.serve();
        let (id, releases, units) = match self.handed.pop_front() {
            Some((id, units)) => (id, false, units),
            None => {
                let id = self.asked.pop_front()?;
                let window = self.window(self.requests[&id].turns);
                let request = self.requests.get_mut(&id).expect("it exists");
                let releases = !std::mem::replace(&mut request.is_released, true);
                request.window = request.window.max(window);
                request.turns += 1;
                request.leave += self.units;
                (id, releases, self.hand(id))
            }
        };
        let window = self.grows.map_or(u64::MAX, |_| self.requests[&id].window);
        Some(Turn { request: RequestId(id), releases, units, window })
    }

    /// Whether the environment may report it, which it then does to both.
    fn happens(&mut self, event: Event) -> bool {
        let is_released = |id: u32| self.requests.get(&id).is_some_and(|request| request.is_released);
        match event {
            Event::Arrives(id, user, total) if !self.requests.contains_key(&id) => {
                self.requests.insert(id, PlainRequest { user, total, ..PlainRequest::default() });
                self.hold(id);
            }
            Event::Received(id, units) if is_released(id) => {
                self.requests.get_mut(&id).expect("it exists").received += units;
                self.charge(id);
            }
            Event::Ready(id) if is_released(id) && self.requests[&id].place.is_none() => self.hold(id),
            Event::Over(id, ended) if self.requests.contains_key(&id) => {
                let request = self.requests.remove(&id).expect("it exists");
                if ended || !request.is_released {
                    self.give(request.user, request.charged - request.received.min(request.charged));
                }
            }
            Event::Length(id, units) if self.requests.contains_key(&id) => {
                let request = self.requests.get_mut(&id).expect("it exists");
                request.total = Some(units);
                if request.is_released {
                    self.charge(id);
                }
            }
            Event::Offers(id, window) if self.grows.is_some() && self.requests.contains_key(&id) => {
                let request = self.requests.get_mut(&id).expect("it exists");
                request.window = request.window.max(window);
                if request.is_released {
                    self.charge(id);
                }
            }
            Event::Stray(units) => self.level -= units as f64,
            Event::Cap(rate) => {
                self.rate = f64::from(rate);
                self.level = self.level.min(self.rate * 0.25);
            }
            Event::Forget(user) if self.requests.values().all(|request| request.user != user) => {
                self.services[user as usize] = 0;
            }
            Event::Forget(_) | Event::Awaited => {}
            _ => return false,
        }
        true
    }
}

fn tell(capped: &mut Capped, event: Event, now: Nanos) {
    match event {
        Event::Arrives(id, user, length) => {
            capped.enqueue(&Request { id: RequestId(id), user: UserId(user), length }, now);
        }
        Event::Received(id, units) => capped.received(RequestId(id), units, now),
        Event::Ready(id) => capped.ready(RequestId(id), now),
        Event::Over(id, true) => capped.ended(RequestId(id), now),
        Event::Over(id, false) => capped.cancel(RequestId(id), now),
        Event::Length(id, units) => capped.length(RequestId(id), units, now),
        Event::Offers(id, window) => capped.offers(RequestId(id), window, now),
        Event::Stray(units) => capped.stray(Some(CLASS), units, now),
        Event::Cap(rate) => capped.set_cap(CLASS, Some(f64::from(rate)), now),
        Event::Forget(user) => {
            capped.forget_user(UserId(user));
            capped.set_user(UserId(user), CLASS, now);
        }
        Event::Awaited => {}
    }
}

proptest! {
    #[test]
    fn turns_are_those_of_its_rules(
        units in prop_oneof![Just(100u64), Just(2_896), Just(9_000)],
        grows in prop::option::of(prop_oneof![Just(0u64), Just(1_000)]),
        events in prop::collection::vec((event(), prop_oneof![2 => Just(0u64), 3 => 1u64..400_000_017]), 1..200),
    ) {
        let (turns, asked) = (BTreeMap::new(), VecDeque::new());
        let mut capped = Capped::new(Box::new(AtOnce { units, grows, turns, asked }), &SETUP);
        capped.set_class(CLASS, Weight::ONE, Nanos::ZERO);
        capped.set_cap(CLASS, Some(20_000.0), Nanos::ZERO);
        (0..USERS).for_each(|user| capped.set_user(UserId(user), CLASS, Nanos::ZERO));
        let (requests, asked, handed) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        let (rate, level, services) = (20_000.0, 5_000.0, [0; USERS as usize]);
        let mut plain = Plain { units, grows, rate, level, requests, services, served: 0, places: 0, asked, handed };
        let mut now = Nanos::ZERO;
        for (at, (event, gap)) in events.into_iter().enumerate() {
            let gap = match event {
                Event::Awaited => capped.poll_at().map_or(0, |at| (at - now).0),
                _ => gap,
            };
            now += Nanos(gap);
            plain.passes(gap as f64 / 1e9);
            if plain.happens(event) {
                tell(&mut capped, event, now);
            }
            loop {
                let turn = capped.dequeue(now);
                prop_assert_eq!(turn, plain.turn(), "after event {} {:?}", at, event);
                if turn.is_none() {
                    break;
                }
            }
            for (&id, request) in &plain.requests {
                prop_assert_eq!(capped.holds(RequestId(id)), request.place.is_some());
            }
            let opens_s = plain.next().map(|_| (-plain.level).max(0.0) / plain.rate);
            match (capped.poll_at(), opens_s) {
                (None, None) => {}
                (Some(at), Some(opens_s)) => {
                    let waits_s = (at - now).as_secs_f64();
                    prop_assert!((waits_s - opens_s).abs() < 1e-7, "{} s instead of {} s", waits_s, opens_s);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
