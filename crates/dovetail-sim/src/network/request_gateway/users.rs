//! All users: their current requests, what they have received, and the results.

use std::mem;

use dovetail_sched::Nanos;

use super::{
    told::{GatewayNet, Told},
    user::{User, Wish},
};
use crate::network::{
    agenda::Event,
    check::MAX_TRANSFERS,
    error::NetworkError,
    outcome::{AccessOutcome, Exchange},
    spec::{Kind, Network, Traffic},
};

/// All users.
pub(super) struct Users<'a> {
    spec: &'a Network,
    users: Vec<User>,
    // When the last of them stops, if all do.
    stop: Nanos,
    // By exchange.
    progress: Vec<Progress>,
    // Open requests that will never be over.
    hopeless: u64,
    pub(super) outcome: AccessOutcome,
}

/// Progress of a request.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// Bytes received by the user.
    delivered: u64,
    /// The request's index at the gateway.
    live: Option<usize>,
    /// Whether a packet was lost between user and gateway.
    is_lost: bool,
}

impl<'a> Users<'a> {
    pub(super) fn new(spec: &'a Network, users: Vec<User>) -> Self {
        let stop = users.iter().map(|user| spec.traffic[user.traffic].stop).max().unwrap_or_default();
        let outcome = AccessOutcome::new(spec.traffic.len());
        Self { spec, users, stop, progress: Vec::new(), hopeless: 0, outcome }
    }

    /// Schedules users' first requests.
    pub(super) fn begin(&mut self, net: &mut GatewayNet<'_>) {
        for (number, user) in self.users.iter_mut().enumerate() {
            let Some(requests) = self.spec.requests(user.traffic) else { continue };
            let start = self.spec.traffic[user.traffic].start;
            for begins in user.begins(requests) {
                net.agenda.add(start + begins, Event::Access(Told::User(number)));
            }
        }
    }

    /// Number of users.
    pub(super) fn number(&self) -> usize {
        self.users.len()
    }

    pub(super) fn user(&self, number: usize) -> &User {
        &self.users[number]
    }

    pub(super) fn exchange(&self, at: usize) -> &Exchange {
        &self.outcome.exchanges[at]
    }

    /// A user may want something now; returns it as an exchange.
    pub(super) fn wants(&mut self, number: usize, net: &mut GatewayNet<'_>) -> Result<Option<usize>, NetworkError> {
        let now = net.now;
        let user = &mut self.users[number];
        let traffic = &self.spec.traffic[user.traffic];
        let Some(requests) = self.spec.requests(user.traffic) else { return Ok(None) };
        if now >= traffic.stop {
            return Ok(None);
        }
        let silence = requests.silent.iter().find(|(from, to)| (*from..*to).contains(&now));
        let next = user.next();
        let again = next.map(|gap| now + gap).or(silence.map(|(_, to)| *to));
        if let Some(again) = again {
            net.agenda.add(again, Event::Access(Told::User(number)));
        }
        if silence.is_some() {
            return Ok(None);
        }
        if self.outcome.exchanges.len() as u64 >= MAX_TRANSFERS {
            let why = format!("at {now} users have sent {MAX_TRANSFERS} requests: lower the rate, or stop earlier");
            return Err(NetworkError::Network(why));
        }
        let Wish { bytes, server, upload } = user.asks(traffic, requests);
        let exchange = self.outcome.exchanges.len();
        self.outcome.open += 1;
        self.outcome.exchanges.push(Exchange::new((user.traffic, number), server, [bytes, upload], now));
        self.progress.push(Progress::default());
        if let Some(blame) = net.watch.blamed.requests() {
            blame.wanted(exchange, number, now);
        }
        if let Some(patience) = requests.patience {
            net.agenda.add(now + patience, Event::Access(Told::Cancels(exchange)));
        }
        Ok(Some(exchange))
    }

    /// A request arrived at the gateway, where it has this index.
    pub(super) fn arrived(&mut self, exchange: usize, live: usize, now: Nanos) {
        self.progress[exchange].live = Some(live);
        self.outcome.exchanges[exchange].arrived = Some(now);
    }

    pub(super) fn released(&mut self, exchange: usize, now: Nanos) {
        self.outcome.exchanges[exchange].released = Some(now);
    }

    /// The gateway has read the whole response, and is done with the request.
    pub(super) fn left_gateway(&mut self, exchange: usize) {
        self.progress[exchange].live = None;
    }

    /// The request's index at the gateway, while it is there.
    pub(super) fn live(&self, exchange: usize) -> Option<usize> {
        self.progress[exchange].live
    }

    /// A user received part of a response, whose total length with its header is `whole`.
    pub(super) fn answered(&mut self, exchange: usize, bytes: u64, whole: u64, net: &mut GatewayNet<'_>) {
        let progress = &mut self.progress[exchange];
        let done = &mut self.outcome.exchanges[exchange];
        progress.delivered += bytes;
        self.outcome.classes[done.traffic].received(bytes, net.now);
        if progress.delivered < whole || done.cancelled.is_some() {
            return;
        }
        done.ended = Some(net.now);
        let user = done.user;
        if let Some(blame) = net.watch.blamed.requests() {
            blame.ended(exchange, net.now);
        }
        self.thinks(user, net);
    }

    /// A packet of a request was lost between user and gateway, and is not sent again.
    pub(super) fn loses(&mut self, exchange: usize) {
        self.outcome.lost_among_users += 1;
        let one = &self.outcome.exchanges[exchange];
        let is_patient = self.spec.requests(one.traffic).is_some_and(|requests| requests.patience.is_none());
        if is_patient && !mem::replace(&mut self.progress[exchange].is_lost, true) {
            self.hopeless += 1;
        }
    }

    /// A user no longer waits: returns their number, and the request's index at the gateway. `None` if the response arrived
    /// in time.
    pub(super) fn cancels(&mut self, exchange: usize, now: Nanos) -> Option<(usize, Option<usize>)> {
        let over = &mut self.outcome.exchanges[exchange];
        if over.ended.is_some() {
            return None;
        }
        over.cancelled = Some(now);
        Some((over.user, self.progress[exchange].live.take()))
    }

    /// A request is over for its user, who may want another.
    pub(super) fn thinks(&mut self, number: usize, net: &mut GatewayNet<'_>) {
        self.outcome.open -= 1;
        let user = &mut self.users[number];
        let Some(requests) = self.spec.requests(user.traffic) else { return };
        if let Some(time) = user.thinks(requests) {
            net.agenda.add(net.now + time, Event::Access(Told::User(number)));
        }
    }

    /// Whether users have requests to make or responses to get, and will be done at some time.
    pub(super) fn is_waited_for(&self, now: Nanos) -> bool {
        self.stop < Nanos::MAX && (now < self.stop || self.outcome.open > self.hopeless)
    }

    /// Whether all requests have been made and answered, and unlimited traffic has stopped.
    pub(super) fn is_satisfied(&self, now: Nanos) -> bool {
        let sends =
            |traffic: &Traffic| matches!(traffic.kind, Kind::LongLived(_) | Kind::Datagrams(_) | Kind::Interactive(_));
        let is_sent = |traffic: &Traffic| sends(traffic) && now < traffic.stop;
        self.outcome.open == 0 && now >= self.stop && !self.spec.traffic.iter().any(is_sent)
    }
}
