//! `grants` against its definitions: every request, user and class is examined before every turn, and events occur that no
//! reasonable environment would send.

use std::collections::BTreeMap;

use crate::figures::figure;
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, Turn, UserId},
};
use proptest::prelude::*;

const REQUESTS: u32 = 14;
const USERS: u32 = 6;
const CLASSES: u32 = 3;
/// A unit per nanosecond with a far queue at its target length, or with none: tokens are whole numbers.
const PACE: f64 = 1e9;
const DELAY_NS: u64 = 3_000;
const SILENCE_NS: u64 = 2_000;
/// What is due is kept in bins of 5 ms, for 150 ms.
const BIN_NS: u64 = 5_000_000;
const AHEAD_NS: u64 = 150_000_000;
const WEIGHTS: [f64; 4] = [0.5, 1.0, 3.0, 4.0];

fn build(knobs: &str, setup: &RequestSetup) -> Box<dyn RequestScheduler> {
    let spec: RequestSpec = format!("grants:{knobs}").parse().expect("knobs that exist");
    spec.build(setup).expect("values in range")
}

#[derive(Debug, Clone, Copy)]
enum Event {
    SetClass(u32, usize),
    SetUser(u32, u32),
    Forget(u32),
    Arrived(u32, u32, Option<u64>),
    Length(u32, u64),
    Received(u32, u64),
    Unread(u32, u64),
    Ready(u32),
    Offers(u32, u64),
    RoundTrip(u32, u64),
    Distance(u32, u64),
    Ended(u32),
    GaveUp(u32),
    Stray(Option<u32>, u64),
    Poll(u32),
}

/// Events, most of them in an order that makes sense only by chance, and the time before each.
fn events(
    units: impl Strategy<Value = u64> + Clone + 'static,
    most_gap: u64,
    gap: impl Strategy<Value = u64> + 'static,
) -> impl Strategy<Value = Vec<(Event, u64)>> {
    let request = 0..REQUESTS;
    let event = prop_oneof![
        1 => (0..CLASSES, 0..WEIGHTS.len()).prop_map(|(class, weight)| Event::SetClass(class, weight)),
        1 => (0..USERS, 0..CLASSES).prop_map(|(user, class)| Event::SetUser(user, class)),
        1 => (0..USERS).prop_map(Event::Forget),
        12 => (request.clone(), 0..USERS, prop::option::of(units.clone()))
            .prop_map(|(request, user, length)| Event::Arrived(request, user, length)),
        4 => (request.clone(), units.clone()).prop_map(|(request, units)| Event::Length(request, units)),
        6 => (request.clone(), units.clone()).prop_map(|(request, units)| Event::Received(request, units)),
        4 => (request.clone(), units.clone()).prop_map(|(request, units)| Event::Unread(request, units)),
        16 => request.clone().prop_map(Event::Ready),
        1 => (request.clone(), units.clone()).prop_map(|(request, units)| Event::Offers(request, units)),
        1 => (request.clone(), 0..most_gap).prop_map(|(request, ns)| Event::RoundTrip(request, ns)),
        4 => (request.clone(), prop_oneof![0..most_gap, 0..20_000_000u64, 0..900_000_000u64])
            .prop_map(|(request, ns)| Event::Distance(request, ns)),
        3 => request.clone().prop_map(Event::Ended),
        2 => request.prop_map(Event::GaveUp),
        1 => (prop::option::of(0..CLASSES), units).prop_map(|(class, units)| Event::Stray(class, units)),
        16 => (1u32..5).prop_map(Event::Poll),
    ];
    let all = prop::collection::vec((event, gap), 1..400);
    all.prop_map(|events| {
        let classes = (0..CLASSES).map(|class| Event::SetClass(class, class as usize));
        let users = (0..USERS).map(|user| Event::SetUser(user, user % CLASSES));
        classes.chain(users).map(|event| (event, 0)).chain(events).collect()
    })
}

fn tell(scheduler: &mut dyn RequestScheduler, event: Event, now: Nanos) {
    match event {
        Event::SetClass(class, weight) => {
            scheduler.set_class(ClassId(class), Weight::new(WEIGHTS[weight]).expect("in range"), now);
        }
        Event::SetUser(user, class) => scheduler.set_user(UserId(user), ClassId(class), now),
        Event::Forget(user) => scheduler.forget_user(UserId(user)),
        Event::Arrived(request, user, length) => {
            scheduler.enqueue(&Request { id: RequestId(request), user: UserId(user), length }, now);
        }
        Event::Length(request, units) => scheduler.length(RequestId(request), units, now),
        Event::Received(request, units) => scheduler.received(RequestId(request), units, now),
        Event::Unread(request, units) => scheduler.unread(RequestId(request), units, now),
        Event::Ready(request) => scheduler.ready(RequestId(request), now),
        Event::Offers(request, window) => scheduler.offers(RequestId(request), window, now),
        Event::RoundTrip(request, ns) => scheduler.round_trip(RequestId(request), Nanos(ns), now),
        Event::Distance(request, ns) => scheduler.distance(RequestId(request), Nanos(ns), now),
        Event::Ended(request) => scheduler.ended(RequestId(request), now),
        Event::GaveUp(request) => scheduler.cancel(RequestId(request), now),
        Event::Stray(class, units) => scheduler.stray(class.map(ClassId), units, now),
        Event::Poll(_) => {}
    }
}

/// The settings, as the reference reads them.
#[derive(Debug, Clone, Copy)]
struct Set {
    order: &'static str,
    ageing: u64,
    first: u64,
    slack: u64,
    user_lead: u64,
    lag: u64,
    lead: u64,
    counts: bool,
    quantum: u64,
    window: u64,
    longest: u64,
    overhead: u64,
    /// Whether there is no far queue: windows grow.
    short: bool,
}

impl Set {
    fn knobs(&self) -> String {
        let slack = if self.slack == u64::MAX { "inf".into() } else { self.slack.to_string() };
        let users = if self.counts { "count" } else { "ignore" };
        let lead = if self.lead == u64::MAX { "inf".into() } else { self.lead.to_string() };
        let user_lead = if self.user_lead == u64::MAX { "inf".into() } else { self.user_lead.to_string() };
        let Self { order, ageing, first, lag, .. } = self;
        format!(
            "order={order},ageing={ageing},first={first},slack={slack},user-lead={user_lead},lag={lag},lead={lead},users={users},\
             silence={SILENCE_NS}ns,delay={DELAY_NS}ns,learn={}",
            if self.learns() { "on" } else { "off" }
        )
    }

    /// Whether the rate is learnt: it stays the same while the far queue is as long as it shall be.
    fn learns(&self) -> bool {
        !self.short
    }

    fn setup(&self) -> RequestSetup {
        let Self { quantum, window, longest, overhead, .. } = *self;
        RequestSetup {
            rate: if self.short { PACE / 1.15 } else { PACE },
            quantum,
            window,
            longest_window: longest.max(window),
            overhead,
        }
    }
}

#[derive(Debug, Clone, Default)]
struct PlainRequest {
    live: bool,
    user: usize,
    released: bool,
    ready: bool,
    total: Option<u64>,
    granted: u64,
    window: u64,
    /// The part of the window that the connection offered before.
    offered: u64,
    received: u64,
    unread: u64,
    /// By how much what arrived once exceeded what its windows permit.
    excess: u64,
    charged: u64,
    /// The part of the charge that is not expected to arrive.
    absent: u64,
    arrived_ns: u64,
    /// When it is examined whether it is silent.
    examined_ns: Option<u64>,
    paid: u128,
    charged_ns: u64,
    /// How long after a turn its units are due, beyond what the far queue bridges.
    distance_ns: u64,
    released_ns: u64,
    /// The target at which a round ends, and when it began.
    round: Option<(u64, u64)>,
    /// The least time of the first answer and of rounds.
    trip_ns: Option<u64>,
    trip_is_told: bool,
    limited: bool,
    /// When the current span began, what had been received before it, and what was received in the previous span.
    span: (u64, u64, u64),
    told: bool,
    /// Whether it was ever too long to lead while its length was unknown.
    is_long: bool,
    arrival_ns: u64,
    number: u64,
    served: u64,
    rank: (u64, u64),
    /// What was left of it when its rank was computed.
    left: u64,
}

impl PlainRequest {
    fn in_flight(&self) -> u64 {
        self.charged.saturating_sub(self.received).saturating_sub(self.unread).saturating_sub(self.absent)
    }
}

#[derive(Debug, Clone, Default)]
struct PlainUser {
    class: Option<usize>,
    service: u64,
    /// The part of the service charged for turns before others who had had less, and whether the last was such a turn.
    lent: u64,
    leads: bool,
    /// Whether others were so far ahead at the last turn that they have to repay what they were lent.
    is_owed: bool,
    lost: bool,
    heard_ns: u64,
    silent: bool,
    doubted: bool,
}

#[derive(Debug, Clone, Default)]
struct PlainClass {
    weight: Option<f64>,
    counter: u128,
    lost: bool,
    time: u64,
}

/// The definitions, by scanning.
#[derive(Debug)]
struct Plain {
    set: Set,
    requests: Vec<PlainRequest>,
    users: Vec<PlainUser>,
    classes: Vec<PlainClass>,
    selected: u128,
    tokens: i128,
    /// Tokens to be spent, by the number of the bin in which they are due.
    due: BTreeMap<u64, i128>,
    now: u64,
    mean: f64,
    steps: u64,
    /// When units last arrived.
    came_ns: u64,
}

impl Plain {
    fn new(set: Set) -> Self {
        Self {
            set,
            requests: vec![PlainRequest::default(); REQUESTS as usize],
            users: vec![PlainUser::default(); USERS as usize],
            classes: vec![PlainClass::default(); CLASSES as usize],
            selected: 0,
            tokens: 0,
            due: BTreeMap::new(),
            now: 0,
            mean: (set.quantum + set.window).min(20_000.max(set.quantum)) as f64,
            steps: 0,
            came_ns: 0,
        }
    }

    fn depth(&self) -> i128 {
        i128::from(DELAY_NS.max(self.set.quantum))
    }

    fn class_of(&self, request: usize) -> usize {
        self.users[self.requests[request].user].class.expect("a user with requests has a class")
    }

    fn of_user(&self, user: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.requests.len()).filter(move |&r| self.requests[r].live && self.requests[r].user == user)
    }

    fn users_of(&self, class: usize) -> Vec<usize> {
        (0..self.users.len()).filter(|&user| self.users[user].class == Some(class)).collect()
    }

    fn is_active(&self, user: usize) -> bool {
        self.of_user(user).next().is_some()
    }

    /// The units left to let in, if the sender may send them all.
    fn rest(&self, request: usize) -> Option<u64> {
        let r = &self.requests[request];
        r.total.filter(|&total| r.granted + r.window + r.excess >= total).map(|total| total.saturating_sub(r.granted))
    }

    fn is_freed(&self, request: usize) -> bool {
        self.requests[request].live
            && self.requests[request].released
            && self.rest(request).is_some_and(|rest| rest > 0)
    }

    fn is_candidate(&self, request: usize) -> bool {
        let r = &self.requests[request];
        r.live && (!r.released || r.ready && !self.is_freed(request))
    }

    fn has_candidates(&self, user: usize) -> bool {
        self.of_user(user).any(|request| self.is_candidate(request))
    }

    fn candidate_users(&self, class: usize) -> Vec<usize> {
        self.users_of(class).into_iter().filter(|&user| self.has_candidates(user)).collect()
    }

    /// How far behind a new user or class may start.
    fn first(&self) -> u64 {
        self.set.lag.min(20_000)
    }

    /// The initial counter of a new class.
    fn begins(&self) -> u128 {
        self.selected.saturating_sub(u128::from(self.first()) << 64)
    }

    /// Limits how far candidates are behind to the lag and the lead.
    fn lift(&mut self) {
        let behind = (u128::from(self.set.lag) << 64).saturating_add(u128::from(self.set.lead) << 64);
        let floor = self.selected.saturating_sub(behind);
        for class in 0..self.classes.len() {
            for user in self.candidate_users(class) {
                let least = self.classes[class].time.saturating_sub(self.set.lag).saturating_sub(self.set.slack);
                self.users[user].lost |= self.users[user].service < least;
                self.users[user].service = self.users[user].service.max(least);
                self.classes[class].lost |= self.classes[class].counter < floor;
                self.classes[class].counter = self.classes[class].counter.max(floor);
            }
        }
    }

    /// Limits what is still lent to a user to what they are ahead.
    fn settle(&mut self) {
        for user in &mut self.users {
            let time = user.class.map_or(0, |class| self.classes[class].time);
            user.lent = user.lent.min(user.service.saturating_sub(time));
        }
    }

    fn units_a_part(&self, class: usize, units: u64) -> u128 {
        (units as f64 / self.parts(class) * 2f64.powi(64)) as u128
    }

    fn parts(&self, class: usize) -> f64 {
        let counted = self.users_of(class).iter().filter(|&&u| self.is_active(u) && !self.users[u].silent).count();
        let users = if self.set.counts { counted.max(1) } else { 1 };
        self.classes[class].weight.expect("a class that was named") * users as f64
    }

    /// Charges the request up to, or refunds it down to, `units` in total.
    fn charge_exactly(&mut self, request: usize, units: u64) {
        let (class, user) = (self.class_of(request), self.requests[request].user);
        let before = self.requests[request].charged;
        self.settle();
        self.requests[request].charged = units;
        let mut part = self.units_a_part(class, units.abs_diff(before));
        let r = &mut self.requests[request];
        let is_late = self.now - r.charged_ns.max(r.arrived_ns) > 1_000_000_000;
        let returned = r.absent.min(before.saturating_sub(units));
        r.absent -= returned;
        if units > before {
            r.paid += part;
            r.charged_ns = self.now;
        } else if units < before {
            let paid = if units == 0 { r.paid } else { r.paid / u128::from(before) * u128::from(before - units) };
            r.paid -= paid;
            part = part.min(paid);
        }
        let counter = &mut self.classes[class].counter;
        let PlainUser { service, lent, leads, .. } = &mut self.users[user];
        if units >= before {
            *counter += part;
            *service += units - before;
            *lent += if *leads { units - before } else { 0 };
        } else {
            *counter = counter.saturating_sub(part);
            *service = service.saturating_sub(before - units);
            *lent = lent.saturating_sub(before - units);
        }
        if units >= before {
            let r = &self.requests[request];
            let arrived = (r.received + r.unread).saturating_sub(before).min(units - before);
            let distance_ns = r.distance_ns;
            self.tokens -= i128::from(arrived);
            self.spend(i128::from(units - before - arrived), distance_ns);
        } else if !is_late {
            self.refund(i128::from(before - units - returned));
        }
        self.lift();
    }

    /// Whether requests wait for tokens: a refund is not lost on them.
    fn others_wait(&self) -> bool {
        (0..self.requests.len()).any(|request| self.is_candidate(request))
    }

    /// The presumed size of a response of which nothing is known.
    fn presumed(&self) -> u64 {
        self.expected().min(20_000.max(self.set.quantum))
    }

    fn expected(&self) -> u64 {
        ((self.mean + 0.5) as u64).max(self.set.quantum)
    }

    fn learn(&mut self, request: usize, units: u64) {
        if !self.requests[request].told {
            self.requests[request].told = true;
            let elicited = units.min(self.set.quantum + self.set.window) as f64;
            self.mean += (elicited - self.mean) / 32.0;
        }
    }

    /// An event of the request: false lengths are detected and the rank is recomputed.
    fn told(&mut self, request: usize) {
        let presumed = self.presumed();
        let set = self.set;
        let (user, class) = (self.requests[request].user, self.class_of(request));
        let ahead = (self.users[user].service, self.classes[class].time);
        let r = &mut self.requests[request];
        let is_lie = |total: u64| total < r.received || (r.ready && total <= r.granted);
        if r.total.is_some_and(is_lie) {
            r.total = None;
        }
        let is_candidate = self.is_candidate(request);
        let r = &mut self.requests[request];
        let aged = |units: u64| units + (r.arrival_ns as f64 * set.ageing as f64 / 1e9).floor() as u64;
        let so_far = r.granted.max((r.received + r.unread).min(16 * presumed)).max(presumed);
        r.left = r.total.map_or(so_far, |total| total - total.min(r.granted + r.window + r.excess));
        if r.released && r.total.is_none() && is_candidate {
            r.left /= 2;
            r.is_long |= ahead.0.saturating_add(r.left) > ahead.1.saturating_add(set.user_lead);
            if r.is_long {
                r.left = u64::MAX;
            }
        }
        r.rank = match (set.order, r.total) {
            ("srpt", Some(total)) => (aged(total - total.min(r.granted + r.window + r.excess)), r.number),
            ("srpt", None) => (aged(so_far), r.number),
            ("las", _) => (aged(r.granted), r.number),
            ("first", _) if r.granted < set.first => (0, r.number),
            ("first", _) => (1, r.served),
            _ => (0, r.served),
        };
        self.lift();
    }

    /// Sets the time and records an event of the user.
    fn hear(&mut self, user: usize) {
        self.users[user].heard_ns = self.now;
        self.users[user].silent &= self.users[user].doubted;
    }

    fn advance(&mut self, now: u64) {
        while let Some((&bin, &units)) = self.due.first_key_value()
            && bin * BIN_NS <= now
        {
            self.due.pop_first();
            self.pass(bin * BIN_NS);
            self.tokens -= units;
        }
        self.pass(now);
    }

    fn pass(&mut self, now: u64) {
        self.tokens = (self.tokens + i128::from(now - self.now)).min(self.depth());
        self.now = now;
    }

    /// Spends tokens when what they are for is due: `distance_ns` from now.
    fn spend(&mut self, units: i128, distance_ns: u64) {
        let current = self.now / BIN_NS;
        let bin = (self.now + distance_ns.min(AHEAD_NS)) / BIN_NS;
        if bin > current {
            *self.due.entry(bin).or_default() += units;
        } else {
            self.tokens -= units;
        }
    }

    /// Returns tokens: the last to be spent first, then to the bucket, which overflows if the rate is learnt.
    fn refund(&mut self, mut units: i128) {
        while units > 0
            && let Some(mut last) = self.due.last_entry()
        {
            let less = units.min(*last.get());
            *last.get_mut() -= less;
            units -= less;
            if *last.get() == 0 {
                last.remove();
            }
        }
        self.tokens += units;
        if self.set.learns() || !self.others_wait() {
            self.tokens = self.tokens.min(self.depth());
        }
    }

    /// The tokens, for a turn or half a bucket at most, when units at this distance arrive, beside those that are needed for what
    /// is due later.
    fn free(&self, distance_ns: u64) -> i128 {
        let at = self.now + distance_ns.min(AHEAD_NS);
        let (mut tokens, mut now) = (self.tokens, self.now);
        let depth = i128::from(self.set.quantum).max(self.depth() / 2);
        for (&bin, &units) in self.due.range(..=at / BIN_NS) {
            tokens = (tokens + i128::from(bin * BIN_NS - now)).min(depth) - units;
            now = bin * BIN_NS;
        }
        tokens = (tokens + i128::from(at - now)).min(depth);
        let mut needs = 0;
        for bin in (at / BIN_NS + 1..=(self.now + AHEAD_NS) / BIN_NS).rev() {
            needs = (needs + self.due.get(&bin).copied().unwrap_or(0) - i128::from(BIN_NS)).max(0);
        }
        tokens - needs
    }

    fn event(&mut self, event: Event) {
        let live = |request: u32| self.requests[request as usize].live;
        match event {
            Event::SetClass(class, weight) => self.classes[class as usize].weight = Some(WEIGHTS[weight]),
            Event::SetUser(user, class) => self.set_user(user as usize, class as usize),
            Event::Forget(user) if !self.is_active(user as usize) => self.users[user as usize] = PlainUser::default(),
            Event::Arrived(request, user, length) if !live(request) => {
                self.arrived(request as usize, user as usize, length);
            }
            Event::Length(request, units) if live(request) => self.length(request as usize, units),
            Event::Received(request, units) if live(request) => {
                let request = request as usize;
                let user = self.requests[request].user;
                self.users[user].doubted &= units == 0;
                self.hear(user);
                let unread = self.requests[request].unread.saturating_sub(units);
                self.arrive(request, units, unread);
                self.came(request, units);
                self.told(request);
                self.charge_arrived(request);
            }
            Event::Unread(request, units) if live(request) => {
                let request = request as usize;
                self.hear(self.requests[request].user);
                self.arrive(request, 0, units);
                self.told(request);
                self.charge_arrived(request);
            }
            Event::Ready(request) if live(request) => {
                let request = request as usize;
                self.hear(self.requests[request].user);
                self.requests[request].ready = self.requests[request].released;
                self.told(request);
            }
            Event::Offers(request, window) if live(request) => self.offers(request as usize, window),
            Event::RoundTrip(request, ns) if live(request) => {
                self.hear(self.requests[request as usize].user);
                let r = &mut self.requests[request as usize];
                (r.trip_ns, r.trip_is_told) = (Some(ns.max(1000)), true);
            }
            Event::Distance(request, ns) if live(request) && self.set.learns() => {
                self.requests[request as usize].distance_ns = ns.saturating_sub(DELAY_NS);
            }
            Event::Ended(request) if live(request) => self.over(request as usize, true),
            Event::GaveUp(request) if live(request) => self.over(request as usize, false),
            Event::Stray(class, units) => {
                self.came_ns = if units > 0 { self.now } else { self.came_ns };
                self.tokens -= i128::from(units);
                if let Some(class) = class.filter(|&class| self.classes[class as usize].weight.is_some()) {
                    let part = self.units_a_part(class as usize, units);
                    self.classes[class as usize].counter += part;
                }
            }
            _ => {}
        }
    }

    fn set_user(&mut self, user: usize, class: usize) {
        if self.classes[class].weight.is_none() || self.users[user].class == Some(class) {
            return;
        }
        let begins = !self.users_of(class).iter().any(|&user| self.is_active(user));
        if let Some(from) = self.users[user].class {
            if begins && self.is_active(user) {
                self.classes[class].counter = self.classes[class].counter.max(self.begins());
            }
            self.settle();
            let ahead = self.users[user].service.saturating_sub(self.classes[from].time);
            self.users[user].service = self.classes[class].time + ahead;
        }
        self.users[user].class = Some(class);
        self.lift();
    }

    fn arrived(&mut self, request: usize, user: usize, length: Option<u64>) {
        let Some(class) = self.users[user].class else { return };
        if !self.users_of(class).iter().any(|&user| self.is_active(user)) {
            self.classes[class].counter = self.classes[class].counter.max(self.begins());
        }
        if !self.is_active(user) {
            self.users[user].silent = self.users[user].doubted;
            self.users[user].service = self.users[user].service.max(self.classes[class].time);
        }
        self.steps += 1;
        let (number, arrival_ns) = (self.steps, self.now);
        self.requests[request] =
            PlainRequest { live: true, user, total: length, number, served: number, arrival_ns, ..Default::default() };
        self.hear(user);
        self.told(request);
    }

    /// Units arrived: this many were taken in, and those that were not are so many now.
    fn arrive(&mut self, request: usize, taken: u64, unread: u64) {
        let r = &mut self.requests[request];
        let before = r.received + r.unread;
        (r.received, r.unread) = (r.received + taken, unread);
        let units = (r.received + r.unread).saturating_sub(before);
        if r.released {
            r.excess = r.excess.max((r.received + r.unread).saturating_sub(r.granted + r.window));
        }
        let spent = r.absent.min(units);
        r.absent -= spent;
        self.tokens -= i128::from(spent);
        if units > 0 {
            (self.came_ns, r.arrived_ns) = (self.now, self.now);
            if r.released && r.total.is_none() {
                r.examined_ns = r.examined_ns.or(Some(self.now + 500_000_000));
            }
        }
    }

    fn charge_arrived(&mut self, request: usize) {
        let PlainRequest { received, unread, charged, .. } = self.requests[request];
        self.charge_exactly(request, charged.max(received + unread));
    }

    /// Returns the tokens of responses of unknown length that are silent.
    fn return_absent(&mut self) {
        let now = self.now;
        let mut returned = 0;
        let is_interrupted = now - self.came_ns > 250_000_000;
        let delay_ns = if self.set.short { 0 } else { DELAY_NS };
        for r in &mut self.requests {
            if r.examined_ns.is_none_or(|at| at > now) {
                continue;
            }
            let long_ns = (2 * (r.trip_ns.unwrap_or(0) + delay_ns)).max(500_000_000);
            let is_silent = !r.ready && now - r.arrived_ns.max(r.charged_ns) >= long_ns;
            if !r.released || r.total.is_some() {
                r.examined_ns = None;
            } else if !is_silent || is_interrupted {
                r.examined_ns = Some(now + 500_000_000);
            } else {
                r.examined_ns = None;
                let units = r.in_flight();
                r.absent += units;
                returned += i128::from(units);
            }
        }
        if returned > 0 {
            self.refund(returned);
        }
    }

    /// Units arrived: the first determine the round trip, and a round may end.
    fn came(&mut self, request: usize, units: u64) {
        let now = self.now;
        let r = &mut self.requests[request];
        let Some(trip_ns) = r.trip_ns else {
            r.trip_ns = Some((now - r.released_ns).max(1000));
            r.span = (now, 0, 0);
            return;
        };
        let delay_ns = if self.set.short { 0 } else { DELAY_NS };
        if now - r.span.0 >= trip_ns + delay_ns {
            let before = r.received - units;
            r.span = (now, before, before - r.span.1);
        }
        if let Some((until, began_ns)) = r.round.filter(|&(until, _)| until > 0 && r.received >= until) {
            let took_ns = (now - began_ns).max(1000);
            r.round = None;
            let trip_ns = if r.trip_is_told { trip_ns } else { trip_ns.min(took_ns) };
            r.trip_ns = Some(trip_ns);
            r.limited = took_ns <= 3 * (trip_ns + delay_ns);
            debug_assert!(until <= r.received);
        }
    }

    fn length(&mut self, request: usize, units: u64) {
        self.hear(self.requests[request].user);
        self.requests[request].total = Some(units);
        self.told(request);
        let PlainRequest { total, released, received, unread, charged, .. } = self.requests[request];
        if let (Some(total), true) = (total, released) {
            let target = self.target(request);
            self.learn(request, total);
            self.charge_exactly(
                request,
                if charged < target { target } else { charged.min(target.max(received + unread)) },
            );
        }
    }

    /// The connection's window already has this length.
    fn offers(&mut self, request: usize, window: u64) {
        self.hear(self.requests[request].user);
        let before = self.requests[request].window;
        self.requests[request].window = before.max(window);
        self.requests[request].offered = window;
        self.told(request);
        let PlainRequest { total, released, charged, .. } = self.requests[request];
        if released && total.is_some() {
            self.charge_exactly(request, charged.max(self.target(request)));
        }
    }

    fn over(&mut self, request: usize, ended: bool) {
        let PlainRequest { user, released, received, .. } = self.requests[request];
        self.hear(user);
        // It gets no more turns, but counts until its charge is settled.
        self.requests[request].released = true;
        self.requests[request].ready = false;
        self.users[user].doubted |= released && received == 0;
        if ended && released {
            self.learn(request, received);
            self.charge_exactly(request, received);
        }
        self.requests[request] = PlainRequest::default();
    }

    fn expire(&mut self) {
        for user in 0..self.users.len() {
            if self.is_active(user) && !self.has_candidates(user) && self.now - self.users[user].heard_ns >= SILENCE_NS
            {
                self.users[user].silent = true;
            }
        }
    }

    /// The next request, if there are tokens.
    fn choose(&mut self) -> Option<usize> {
        let candidates: Vec<_> =
            (0..self.classes.len()).filter(|&class| !self.candidate_users(class).is_empty()).collect();
        let class = candidates.iter().copied().min_by_key(|&class| (self.classes[class].counter >> 32, class))?;
        let counter = self.classes[class].counter;
        self.selected = self.selected.max(counter);
        // A class that is ahead of the least goes only for what ends within the lead, and its request counts as larger by as
        // much.
        let reach = counter.saturating_add(u128::from(self.set.lead) << 64);
        let mut of_each = Vec::new();
        for other in candidates {
            let Some(request) = (other == class || self.set.lead > 0 && self.classes[other].counter <= reach)
                .then(|| self.choose_of(other))
                .flatten()
            else {
                continue;
            };
            let (request, leads, is_owed) = request;
            let has = self.classes[other].counter;
            let left = self.left(request);
            if other == class || has.saturating_add(self.units_a_part(other, left)) <= reach {
                let (size, number) = self.requests[request].rank;
                let ahead = (has.saturating_sub(counter) as f64 / 2f64.powi(64) * self.parts(other)) as u64 / 2;
                of_each.push(((size.saturating_add(ahead), number), request, leads, is_owed));
            }
        }
        let (_, request, leads, is_owed) = of_each.into_iter().min()?;
        if self.free(self.requests[request].distance_ns) <= 0 {
            return None;
        }
        let user = self.requests[request].user;
        let is_alone =
            self.users_of(self.class_of(request)).into_iter().all(|other| other == user || !self.is_active(other));
        self.users[user].leads = leads && !is_alone;
        self.users[user].is_owed = is_owed;
        if is_alone {
            self.users[user].lent = 0;
        }
        Some(request)
    }

    /// The next request of a class that may go, and whether it precedes others who had had less.
    fn choose_of(&mut self, class: usize) -> Option<(usize, bool, bool)> {
        let users = self.candidate_users(class);
        let first = users.iter().copied().min_by_key(|&user| (self.users[user].service, user))?;
        let least = self.users[first].service;
        let before = self.classes[class].time;
        let time = before.max(least - self.users[first].lent);
        self.classes[class].time = time;
        self.settle();
        let best = |user: usize| {
            let candidates = self.of_user(user).filter(|&request| self.is_candidate(request));
            candidates.min_by_key(|&request| (self.requests[request].rank, request))
        };
        let is_behind = least < before.saturating_sub(self.set.slack / 2);
        let is_eligible = |user: usize| self.users[user].service <= time.saturating_add(self.set.slack);
        let eligible = users.iter().copied().filter(|&user| !is_behind && is_eligible(user));
        let of_all = eligible.filter_map(best).min_by_key(|&r| self.requests[r].rank).or_else(|| best(first))?;
        let far = time.saturating_add(self.set.slack).saturating_add(self.set.lag);
        let is_owed = self.set.user_lead > 0 && users.iter().any(|&user| self.users[user].service > far);
        let late = |request: usize, service: u64| {
            let (size, number) = self.requests[request].rank;
            (size.saturating_add(service / 2), number)
        };
        let reach = time.saturating_add(self.set.user_lead);
        let ends = |r: usize| self.users[self.requests[r].user].service.saturating_add(self.requests[r].left);
        let leading = users.iter().copied().filter_map(best).filter(|&r| self.set.user_lead > 0 && ends(r) <= reach);
        let leading = leading.min_by_key(|&r| late(r, self.users[self.requests[r].user].service));
        match leading {
            Some(r) if late(r, self.users[self.requests[r].user].service) < late(of_all, least.min(time)) => {
                Some((r, true, false))
            }
            _ => Some((of_all, false, is_owed)),
        }
    }

    /// The expected remaining size of the request, as far as known.
    fn left(&self, request: usize) -> u64 {
        let r = &self.requests[request];
        r.total.map_or_else(
            || r.granted.max((r.received + r.unread).min(16 * self.presumed())).max(self.presumed()),
            |total| total.saturating_sub(r.granted + r.window + r.excess),
        )
    }

    fn grant(&mut self, request: usize, units: u64) -> u64 {
        self.requests[request].granted += units;
        let rest = self.rest(request).unwrap_or(0);
        self.requests[request].granted += rest;
        units + rest
    }

    fn target(&self, request: usize) -> u64 {
        let r = &self.requests[request];
        r.total.unwrap_or(u64::MAX).min(r.granted + r.window + r.excess)
    }

    /// What a turn charges the response up to. Of unknown length, it is expected to become twice as long at most.
    fn due(&self, request: usize) -> u64 {
        let r = &self.requests[request];
        let most = if r.total.is_some() { u64::MAX } else { 2 * r.granted.max(r.received + r.unread) };
        self.target(request).min(most)
    }

    fn turn(&mut self, request: usize) -> Turn {
        let set = self.set;
        let user = self.requests[request].user;
        self.hear(user);
        self.steps += 1;
        let releases = !self.requests[request].released;
        let r = &mut self.requests[request];
        (r.released, r.ready, r.served) = (true, false, self.steps);
        let longest = set.setup().longest_window;
        let r = &mut self.requests[request];
        if releases {
            r.window = r.window.max(set.window);
            (r.round, r.limited, r.released_ns, r.span) = (None, false, self.now, (self.now, 0, 0));
            if !r.trip_is_told {
                r.trip_ns = None;
            }
        }
        let class = self.class_of(request);
        let of_class = std::mem::take(&mut self.classes[class].lost);
        let of_user = std::mem::take(&mut self.users[user].lost);
        let mut units = self.grant(request, set.quantum);
        let (target, charged) = (self.target(request), self.requests[request].charged);
        if releases {
            let class = self.class_of(request);
            self.classes[class].counter += self.units_a_part(class, set.overhead);
            self.settle();
            self.users[user].service += set.overhead;
            let user = &mut self.users[user];
            user.lent += if user.leads { set.overhead } else { 0 };
            self.tokens -= i128::from(set.overhead);
            let total = self.requests[request].total;
            let due = if total.is_some() { target } else { self.expected() };
            self.charge_exactly(request, charged.max(due));
            if let Some(total) = total {
                self.learn(request, total);
            }
        } else {
            self.charge_exactly(request, charged.max(self.due(request)));
            let alone = !(0..self.requests.len()).any(|other| self.is_candidate(other));
            let mut others = (0..self.requests.len()).filter(|&other| self.is_candidate(other));
            let of_same_user = others.any(|other| self.requests[other].user == user);
            let r = &self.requests[request];
            if self.rest(request).is_none() && r.window < longest {
                let all = self.requests.iter().filter(|other| other.live && other.released);
                let in_flight: u64 = all.map(PlainRequest::in_flight).sum();
                let trip_ns = r.trip_ns.unwrap_or(0);
                // The pace brings a unit in a nanosecond, and the link its estimated capacity.
                let carried = set.setup().rate * Nanos(trip_ns).as_secs_f64();
                let is_farthest = r.trip_is_told && 12.0 * (set.window as f64) < carried;
                let enough = trip_ns as f64 / 2.0;
                let most = if set.short { 0.75 } else { 0.5 };
                let is_idle = is_farthest && (in_flight as f64) < carried * most;
                let is_short = set.short && (self.tokens * 2 >= self.depth() || (in_flight as f64) < enough);
                let has_room = alone && (is_idle || is_short);
                let PlainUser { leads, is_owed, .. } = self.users[user];
                let (before, has_lost, hurries) = (r.window, of_class || of_user, leads || is_owed && !of_same_user);
                let brought = r.span.2.max(r.received - r.span.1) >= before / 2;
                let is_used = r.limited || brought || is_farthest && r.granted <= set.window.max(r.offered);
                let brings = if r.trip_is_told && is_used { carried } else { 0.0 };
                let is_far = (before as f64) < brings * if is_farthest { 0.75 } else { 0.25 };
                let lost_far = (before as f64) < brings && r.granted >= set.window;
                let lost_long = r.limited && r.granted / 4 >= before;
                let more = match (has_lost, has_room) {
                    (true, _) if lost_far => before.min(brings as u64 - before).max(set.quantum),
                    _ if lost_long && (has_lost || hurries) => (before / 4).max(set.quantum),
                    (_, true) if is_far && before as f64 > brings / 2.0 => set.quantum / 2,
                    (_, true) if is_far || r.limited => set.quantum,
                    // It preceded others of its user.
                    _ if of_same_user && is_farthest && is_far => set.quantum,
                    _ => 0,
                };
                let window = (before + more).min(longest);
                let r = &mut self.requests[request];
                r.window = window;
                if lost_long && (hurries || has_lost) && !(has_lost && lost_far) {
                    (r.round, r.limited) = (None, false);
                }
                if window > before {
                    units += self.grant(request, 0);
                    let charged = self.requests[request].charged;
                    self.charge_exactly(request, charged.max(self.due(request)));
                }
            }
        }
        let target = self.target(request);
        let r = &mut self.requests[request];
        if r.trip_ns.is_some() && r.round.is_none_or(|(until, _)| until == 0) {
            r.round = Some((target, self.now));
        }
        Turn { request: RequestId(request as u32), releases, units, window: self.requests[request].window }
    }

    /// Checks a turn against what should be next.
    fn check(&mut self, said: Option<Turn>) -> Result<(), TestCaseError> {
        self.expire();
        self.return_absent();
        let freed: Vec<_> = (0..self.requests.len()).filter(|&request| self.is_freed(request)).collect();
        if !freed.is_empty() {
            // All of these come first, in any order.
            let said = said.expect("the rest of a response is free");
            let request = said.request.0 as usize;
            prop_assert!(freed.contains(&request), "{said:?}, not one of {freed:?}");
            let units = self.grant(request, 0);
            self.requests[request].ready = false;
            let window = self.requests[request].window;
            prop_assert_eq!(said, Turn { request: said.request, releases: false, units, window });
            return Ok(());
        }
        let turn = self.choose().map(|request| self.turn(request));
        prop_assert_eq!(said, turn);
        Ok(())
    }
}

fn settings() -> impl Strategy<Value = Set> {
    let order = prop_oneof![Just("srpt"), Just("las"), Just("first"), Just("fair")];
    let ageing = prop_oneof![Just(0u64), Just(1_000_000_000u64), Just(250_000_000u64)];
    let slack = prop_oneof![Just(0u64), Just(50u64), Just(700u64), Just(u64::MAX)];
    let user_lead = prop_oneof![2 => Just(0u64), 2 => Just(300u64), 2 => Just(5_000u64), 1 => Just(u64::MAX)];
    let lag = prop_oneof![Just(0u64), Just(40u64), Just(100_000u64)];
    let lead = prop_oneof![2 => Just(0u64), 1 => Just(60u64), 1 => Just(100_000u64), 1 => Just(u64::MAX)];
    let overhead = prop_oneof![Just(0u64), Just(33u64)];
    let turn = (1u64..200, prop_oneof![Just(0u64), 1u64..400], 0u64..900, overhead, any::<bool>());
    (order, ageing, 0u64..500, (slack, user_lead), (lag, lead), any::<bool>(), turn).prop_map(
        |(
            order,
            ageing,
            first,
            (slack, user_lead),
            (lag, lead),
            counts,
            (quantum, window, longest, overhead, short),
        )| Set {
            order,
            ageing,
            first,
            slack,
            user_lead,
            lag,
            lead,
            counts,
            quantum,
            window,
            longest,
            overhead,
            short,
        },
    )
}

proptest! {
    #[test]
    fn it_is_its_definitions(
        set in settings(),
        events in events(
            prop_oneof![0u64..50, 0u64..1000],
            400,
            prop_oneof![40 => Just(0), 60 => 1u64..400, 2 => 100_000_000u64..600_000_000],
        ),
    ) {
        let mut scheduler = build(&set.knobs(), &set.setup());
        let mut plain = Plain::new(set);
        let far = FarDelay::of(Nanos(if set.short { 0 } else { DELAY_NS }));
        scheduler.far_queue(Some(far), Nanos::ZERO);
        prop_assert_eq!(figure(&*scheduler, "pace"), PACE);
        // A full bucket, as both know the pace now.
        scheduler.dequeue(Nanos(DELAY_NS));
        plain.tokens = plain.depth();
        let mut now = DELAY_NS;
        plain.now = now;
        for (event, gap) in events {
            // Before anything is overdue.
            now += if now < 10_000_000_000 { gap } else { gap % 400 };
            scheduler.far_queue(Some(far), Nanos(now));
            plain.advance(now);
            tell(&mut *scheduler, event, Nanos(now));
            plain.event(event);
            if let Event::Poll(times) = event {
                for _ in 0..times {
                    plain.check(scheduler.dequeue(Nanos(now)))?;
                    prop_assert_eq!(figure(&*scheduler, "tokens"), plain.tokens as f64);
                }
            }
        }
    }

    #[test]
    fn no_event_breaks_it_and_nothing_stays_behind(
        set in settings(),
        events in events(
            prop_oneof![0u64..2000, Just(u64::MAX), any::<u64>()],
            u64::MAX / 500,
            prop_oneof![2 => Just(0), 3 => 1..u64::MAX / 500],
        ),
        from in prop_oneof![Just(0u64), Just(u64::MAX - 1000)],
    ) {
        let mut scheduler = build(&set.knobs(), &set.setup());
        let mut now = Nanos(from);
        for (event, gap) in events {
            now += Nanos(gap);
            tell(&mut *scheduler, event, now);
            if let Event::Poll(times) = event {
                for _ in 0..times {
                    scheduler.dequeue(now);
                }
            }
            scheduler.far_queue((gap % 3 > 0).then_some(FarDelay::of(Nanos(gap))), now);
            if gap % 7 == 0 {
                scheduler.set_rate(gap as f64 - 10.0, now);
            }
            for figure in ["tokens", "pace", "capacity", "waiting", "candidates"].map(|name| figure(&*scheduler, name)) {
                prop_assert!(figure.is_finite());
            }
        }
        for request in 0..REQUESTS {
            scheduler.ended(RequestId(request), now);
        }
        prop_assert_eq!(scheduler.dequeue(now), None);
        prop_assert_eq!(scheduler.poll_at(), None);
        for name in ["waiting", "released", "candidates", "silent_users"] {
            prop_assert_eq!(figure(&*scheduler, name), 0.0, "{}", name);
        }
        // It still works: no debt remains from what hostile numbers claimed.
        scheduler.set_class(ClassId(0), Weight::ONE, now);
        scheduler.set_user(UserId(0), ClassId(0), now);
        scheduler.enqueue(&Request { id: RequestId(0), user: UserId(0), length: None }, now);
        let opens = scheduler.poll_at().expect("a request waits");
        let turn_s = set.quantum as f64 / figure(&*scheduler, "pace");
        prop_assert!(opens <= now + Nanos::from_f64((60.1 + turn_s) * 1e9));
    }
}
