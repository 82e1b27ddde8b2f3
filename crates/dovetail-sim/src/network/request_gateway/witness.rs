//! A scheduler for tests that records what the gateway tells it and what it permits, in order.

use std::{
    io::ErrorKind,
    sync::{Arc, Mutex, PoisonError},
};

use dovetail_sched::{
    Knobs, Nanos, PolicyError, Weight,
    request::{ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSpec, Turn, UserId},
};

use super::{RequestGateway, gateway::setup, lay_out};
use crate::network::{
    blamed::Blamed, contender::Contender, net::Net, outcome::AccessOutcome, spec::Network, watch::Watch, world::World,
};

/// What was told of a request, or permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Arrived,
    Released { window: u64 },
    MayRead { window: u64 },
    Length(u64),
    Received(u64),
    Unread(u64),
    Ready,
    Offers(u64),
    RoundTrip(Nanos),
    Distance(Nanos),
    Ended,
    Cancelled,
}

/// A request: ids are reused, but not these numbers, which count arrivals from 0.
pub(super) type Number = usize;

#[derive(Debug, Default)]
struct Account {
    lines: Vec<(Nanos, Number, Said)>,
    // By id.
    numbers: Vec<Number>,
    arrived: usize,
}

impl Account {
    fn say(&mut self, now: Nanos, request: RequestId, said: Said) {
        let id = request.0 as usize;
        if said == Said::Arrived {
            self.numbers.resize(self.numbers.len().max(id + 1), 0);
            self.numbers[id] = self.arrived;
            self.arrived += 1;
        }
        self.lines.push((now, self.numbers[id], said));
    }
}

#[derive(Debug)]
struct Witness {
    scheduler: Box<dyn RequestScheduler>,
    account: Arc<Mutex<Account>>,
}

/// Runs this network with a gateway under `policy`. Returns what was said, and the results.
pub(super) fn witnessed(network: &str, policy: &str) -> (Vec<(Nanos, Number, Said)>, AccessOutcome) {
    let network = Network::parse(network, "test.toml", &mut |_| Err(ErrorKind::NotFound.into())).expect("a network");
    let spec: RequestSpec = policy.parse().expect("a policy");
    let laid = lay_out(&network, &Contender::Requests(spec.clone())).expect("a gateway");
    let mut observer = ();
    let watch = Watch::new(&mut observer, None, Blamed::Nothing);
    let mut net = Net::new(&laid.network, &laid.far_end, &laid.by_traffic, watch).expect("a network");
    let setup = setup(&laid.access, &laid.network);
    let account = Arc::new(Mutex::new(Account::default()));
    let scheduler = spec.build(&setup).expect("a scheduler");
    let witness = Box::new(Witness { scheduler, account: Arc::clone(&account) });
    let gateway = RequestGateway::under(&laid.access, (witness, setup), &mut net).expect("a gateway");
    let outcome = World::new(net, gateway, None, None).run().expect("a run");
    let lines = std::mem::take(&mut account.lock().unwrap_or_else(PoisonError::into_inner).lines);
    (lines, outcome.access.expect("users"))
}

impl Witness {
    fn say(&self, now: Nanos, request: RequestId, said: Said) {
        self.account.lock().unwrap_or_else(PoisonError::into_inner).say(now, request, said);
    }
}

impl RequestScheduler for Witness {
    fn set_class(&mut self, class: ClassId, weight: Weight, now: Nanos) {
        self.scheduler.set_class(class, weight, now);
    }

    fn set_user(&mut self, user: UserId, class: ClassId, now: Nanos) {
        self.scheduler.set_user(user, class, now);
    }

    fn forget_user(&mut self, user: UserId) {
        self.scheduler.forget_user(user);
    }

    fn set_rate(&mut self, units_per_s: f64, now: Nanos) {
        self.scheduler.set_rate(units_per_s, now);
    }

    fn enqueue(&mut self, request: &Request, now: Nanos) {
        self.say(now, request.id, Said::Arrived);
        self.scheduler.enqueue(request, now);
    }

    fn length(&mut self, request: RequestId, units: u64, now: Nanos) {
        self.say(now, request, Said::Length(units));
        self.scheduler.length(request, units, now);
    }

    fn received(&mut self, request: RequestId, units: u64, now: Nanos) {
        self.say(now, request, Said::Received(units));
        self.scheduler.received(request, units, now);
    }

    fn unread(&mut self, request: RequestId, units: u64, now: Nanos) {
        self.say(now, request, Said::Unread(units));
        self.scheduler.unread(request, units, now);
    }

    fn ready(&mut self, request: RequestId, now: Nanos) {
        self.say(now, request, Said::Ready);
        self.scheduler.ready(request, now);
    }

    fn offers(&mut self, request: RequestId, window: u64, now: Nanos) {
        self.say(now, request, Said::Offers(window));
        self.scheduler.offers(request, window, now);
    }

    fn round_trip(&mut self, request: RequestId, takes: Nanos, now: Nanos) {
        self.say(now, request, Said::RoundTrip(takes));
        self.scheduler.round_trip(request, takes, now);
    }

    fn distance(&mut self, request: RequestId, takes: Nanos, now: Nanos) {
        self.say(now, request, Said::Distance(takes));
        self.scheduler.distance(request, takes, now);
    }

    fn uplink(&mut self, is_busy: bool, now: Nanos) {
        self.scheduler.uplink(is_busy, now);
    }

    fn ended(&mut self, request: RequestId, now: Nanos) {
        self.say(now, request, Said::Ended);
        self.scheduler.ended(request, now);
    }

    fn cancel(&mut self, request: RequestId, now: Nanos) {
        self.say(now, request, Said::Cancelled);
        self.scheduler.cancel(request, now);
    }

    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos) {
        self.scheduler.stray(class, units, now);
    }

    fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos) {
        self.scheduler.far_queue(seen, now);
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Turn> {
        let turn = self.scheduler.dequeue(now)?;
        let Turn { request, releases, window, .. } = turn;
        self.say(now, request, if releases { Said::Released { window } } else { Said::MayRead { window } });
        Some(turn)
    }

    fn poll_at(&self) -> Option<Nanos> {
        self.scheduler.poll_at()
    }

    fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
        self.scheduler.figures(report);
    }

    fn first_window(&self) -> Option<u64> {
        self.scheduler.first_window()
    }

    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError> {
        self.scheduler.retune(knobs, now)
    }
}
