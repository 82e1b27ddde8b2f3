//! The contents of the status page: the link, classes, users, and requests with what each is waiting for.

use std::{cmp::Reverse, collections::BTreeMap};

use dovetail_sched::Nanos;
use dovetail_tower::dispatcher::{LiveView, Stage, UserView, View};
use serde::Serialize;

use super::{
    chosen::Chosen,
    history::Sample,
    link::{Link, Up},
    named::class_name,
    rates::Rates,
    seen::Seen,
};
use crate::{
    config::{Config, Per},
    spent::SpentSeconds,
    who::Who,
};

/// Maximum number of users, and of requests, in the lists.
const MAX_ROWS: usize = 200;
/// A response that received bytes within this time is shown as receiving.
const LATELY: Nanos = Nanos::from_secs(1);
/// Stages in the order of the list.
const ORDER: [&str; 5] = ["receiving", "requested", "stalled", "throttled", "queued"];

#[derive(Debug, Serialize)]
pub(super) struct Status {
    name: String,
    version: &'static str,
    uptime_s: f64,
    policy: String,
    /// Whether a token is configured; without one nothing can be changed.
    can_change: bool,
    goodput_bytes_per_s: f64,
    #[serde(flatten)]
    link: Link,
    uplink: Up,
    received_bytes: u64,
    /// How the far queue is measured, and whether the probe is answered; unknown if none is sent.
    probe: String,
    probe_up: Option<bool>,
    /// What is wrong with the probe, in words.
    probe_fault: Option<String>,
    lost_probes: u64,
    /// The policy's own figures by name.
    figures: BTreeMap<&'static str, f64>,
    active_users: u32,
    waiting: u32,
    outstanding: u32,
    connections: usize,
    idle_upstream_connections: usize,
    classes: Vec<Class>,
    quotas: Vec<Quota>,
    /// Where quotas are stored, if anywhere.
    store: Option<Store>,
    users: Vec<User>,
    more_users: usize,
    requests: Vec<Request>,
    more_requests: usize,
    /// The last second.
    sample: Option<Sample>,
}

#[derive(Debug, Serialize)]
struct Class {
    name: String,
    weight: f64,
    /// When its hours next change the weight, in seconds since 1970; `None` if they do not.
    weight_until: Option<i64>,
    waiting: u32,
    outstanding: u32,
    active_users: u32,
    received_bytes: u64,
    requests: u64,
    cancelled: u64,
    /// What its finished requests spent their time on.
    spent: SpentSeconds,
}

/// A quota and its use.
#[derive(Debug, Serialize)]
struct Quota {
    name: String,
    bytes: u64,
    every: &'static str,
    per: &'static str,
    /// Whether usage does not count at this hour.
    is_free: bool,
    /// When its period ends, in seconds since 1970.
    ends: i64,
    /// The number of users with known usage, and how many of them are beyond the quota.
    known: usize,
    beyond: usize,
    /// Bytes counted since the start, by class.
    counted_bytes: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct Store {
    path: String,
    /// Why the store cannot be written, in words.
    fault: Option<String>,
}

#[derive(Debug, Serialize)]
struct User {
    who: String,
    class: String,
    /// Unknown at the first poll after a pause.
    bytes_per_s: Option<f64>,
    received_bytes: u64,
    live: u32,
    requests: u64,
}

#[derive(Debug, Serialize)]
struct Request {
    who: String,
    class: String,
    host: String,
    /// One of [`ORDER`].
    stage: &'static str,
    why: &'static str,
    age_s: f64,
    waited_s: f64,
    received_bytes: u64,
    length_bytes: Option<u64>,
    /// What its time has been spent on so far.
    spent: SpentSeconds,
}

impl Status {
    /// A snapshot restricted to the chosen users and requests. O(n log n) in users and requests.
    pub(super) fn of(seen: &Seen, rates: &mut Rates, sample: Option<&Sample>, chosen: &Chosen) -> Self {
        let (config, at) = (seen.settings.config(), seen.settings.now());
        let view = seen.link.dispatcher().view();
        rates.look(view.totals.now, &view.users);
        let active = view.active_users();
        let (users, more_users) = users(&config, &view.users, rates, chosen);
        let (requests, more_requests) = requests(&config, &view, chosen);
        let View { totals, .. } = view;
        let goodput_bytes_per_s = config.downlink.goodput_bytes_per_s();
        let classes: Vec<_> = config
            .classes
            .iter()
            .zip(totals.classes.iter().zip(&active))
            .map(|(class, (now, &active_users))| Class {
                name: class.name.to_string(),
                weight: now.weight.as_f64(),
                weight_until: class.next_weight(&at).map(|until| until.timestamp().as_second()),
                waiting: now.waiting,
                outstanding: now.outstanding,
                active_users,
                received_bytes: now.units,
                requests: now.requests,
                cancelled: now.cancelled,
                spent: SpentSeconds::of(&now.spent),
            })
            .collect();
        Self {
            name: config.proxy.name.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            uptime_s: totals.now.as_secs_f64(),
            policy: config.downlink.policy.to_string(),
            can_change: config.admin.as_ref().is_some_and(|admin| admin.token.is_some()),
            goodput_bytes_per_s,
            link: Link::of(&totals, goodput_bytes_per_s),
            uplink: Up::of(seen),
            received_bytes: totals.units,
            probe: config.downlink.probe.to_string(),
            probe_up: seen.probing.is_up(),
            probe_fault: seen.probing.fault(),
            lost_probes: totals.lost_probes,
            active_users: active.iter().sum(),
            waiting: totals.classes.iter().map(|class| class.waiting).sum(),
            outstanding: totals.classes.iter().map(|class| class.outstanding).sum(),
            figures: totals.figures.into_iter().collect(),
            connections: seen.seats.taken(),
            idle_upstream_connections: seen.pool.len(),
            quotas: quotas(seen, config.classes.len()),
            store: seen.quotas.store().map(|(path, fault)| Store { path, fault }),
            classes,
            users,
            more_users,
            requests,
            more_requests,
            sample: sample.cloned(),
        }
    }
}

fn quotas(seen: &Seen, classes: usize) -> Vec<Quota> {
    let quotas = seen.quotas.shown().into_iter().map(|quota| Quota {
        name: quota.name.to_string(),
        bytes: quota.bytes,
        every: quota.every,
        per: if quota.per == Per::User { "user" } else { "class" },
        is_free: quota.is_free,
        ends: quota.ends_s,
        known: quota.known,
        beyond: quota.beyond,
        counted_bytes: (0..classes).map(|class| quota.counted.get(class).copied().unwrap_or(0)).collect(),
    });
    quotas.collect()
}

/// Users with the highest rates first.
fn users(config: &Config, all: &[UserView<Who>], rates: &Rates, chosen: &Chosen) -> (Vec<User>, usize) {
    let all = all.iter().filter(|user| chosen.has(config, &user.who, user.class.0));
    let mut order: Vec<_> = all.map(|user| (user, rates.of(&user.who))).collect();
    order.sort_by(|(a, fast), (b, slow)| {
        let key = |rate: &Option<f64>, user: &UserView<Who>| (rate.unwrap_or(0.0), user.units);
        let (a, b) = (key(fast, a), key(slow, b));
        b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
    });
    let rows = order.iter().take(MAX_ROWS).map(|(user, bytes_per_s)| User {
        who: user.who.to_string(),
        class: class_name(config, user.class.0),
        bytes_per_s: *bytes_per_s,
        received_bytes: user.units,
        live: user.live,
        requests: user.requests,
    });
    (rows.collect(), order.len().saturating_sub(MAX_ROWS))
}

/// Receiving requests first, queued ones last; within a stage the oldest first.
fn requests(config: &Config, view: &View<Who>, chosen: &Chosen) -> (Vec<Request>, usize) {
    let outstanding: Vec<_> = view.totals.classes.iter().map(|class| class.outstanding).collect();
    let all: u32 = outstanding.iter().sum();
    let live = view.live.iter().filter(|live| chosen.has(config, &live.who, live.class.0));
    let staged = live.map(|live| {
        let of_class = outstanding.get(live.class.0 as usize).copied().unwrap_or(0);
        (stage(live, of_class, all), live)
    });
    let mut order: Vec<_> = staged.collect();
    order.sort_by_key(|((stage, _), live)| (ORDER.iter().position(|known| known == stage), Reverse(live.age)));
    let row = |&((stage, why), live): &((&'static str, &'static str), &LiveView<Who>)| Request {
        who: live.who.to_string(),
        class: class_name(config, live.class.0),
        host: live.label.to_string(),
        stage,
        why,
        age_s: live.age.as_secs_f64(),
        waited_s: live.waited.as_secs_f64(),
        received_bytes: live.received,
        length_bytes: live.length,
        spent: SpentSeconds::of(&live.spent),
    };
    (order.iter().take(MAX_ROWS).map(row).collect(), order.len().saturating_sub(MAX_ROWS))
}

/// A request's stage, and what it is waiting for in words. `of_class` and `all` requests are in flight.
///
/// Turns are short: a response that received bytes a moment ago counts as receiving, although it waits for its next turn.
fn stage(live: &LiveView<Who>, of_class: u32, all: u32) -> (&'static str, &'static str) {
    let moves = live.still.is_some_and(|still| still < LATELY);
    match live.stage {
        Stage::Queued if live.is_at_cap => ("queued", "queued: its class has had its rate"),
        Stage::Queued if of_class == 0 && all > 0 => ("queued", "queued: its class has nothing in flight"),
        Stage::Queued => ("queued", "queued for release"),
        Stage::Requested => ("requested", "its server has not responded"),
        Stage::Throttled | Stage::Receiving if moves => ("receiving", "receiving"),
        Stage::Throttled if live.is_at_cap => ("throttled", "throttled: its class has had its rate"),
        Stage::Throttled => ("throttled", "throttled: data waits for a grant"),
        // Its server has paused, or its client is not reading.
        Stage::Receiving => ("stalled", "stalled: granted, but nothing arrives"),
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::request::ClassId;
    use dovetail_tower::dispatcher::Spent;

    use super::*;

    #[test]
    fn what_a_request_waits_for() {
        let why = |stage: Stage, still_ms: Option<u64>, of_class, all| {
            let live = LiveView {
                is_at_cap: false,
                who: Who::Name("ann".into()),
                class: ClassId(0),
                label: "a".into(),
                stage,
                age: Nanos::ZERO,
                waited: Nanos::ZERO,
                received: 0,
                still: still_ms.map(Nanos::from_millis),
                length: None,
                spent: Spent::default(),
            };
            super::stage(&live, of_class, all)
        };
        assert_eq!(
            why(Stage::Queued, None, 0, 3).1,
            "queued: its class has nothing in flight",
            "only others are served"
        );
        assert_eq!(why(Stage::Queued, None, 1, 3).1, "queued for release");
        assert_eq!(why(Stage::Queued, None, 0, 0).1, "queued for release");
        assert_eq!(why(Stage::Requested, None, 1, 1).1, "its server has not responded");
        assert_eq!(why(Stage::Throttled, Some(20), 1, 1), ("receiving", "receiving"), "its next turn is near");
        assert_eq!(why(Stage::Throttled, None, 1, 1), ("throttled", "throttled: data waits for a grant"));
        assert_eq!(why(Stage::Throttled, Some(1_000), 1, 1).0, "throttled");
        assert_eq!(why(Stage::Receiving, Some(20), 1, 1).0, "receiving");
        assert_eq!(why(Stage::Receiving, Some(1_000), 1, 1).0, "stalled");
    }

    #[test]
    fn two_hundred_users_are_listed_and_the_rest_is_counted() {
        let text = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n";
        let config = Config::parse(text).expect("a configuration");
        let user = |number: u32| UserView {
            who: Who::Address(std::net::Ipv4Addr::from(number).into()),
            class: ClassId(0),
            live: 1,
            units: u64::from(number % 1_000),
            requests: 1,
        };
        let all: Vec<_> = (0..1_000).map(user).collect();
        let mut rates = Rates::default();
        let (rows, more) = users(&config, &all, &rates, &Chosen::All);
        assert_eq!((rows.len(), more), (200, 800));
        let (one, more) = users(&config, &all, &rates, &Chosen::User("0.0.0.7".into()));
        assert_eq!((one.len(), more, &*one[0].who), (1, 0, "0.0.0.7"));
        assert_eq!((&*rows[0].who, rows[0].received_bytes), ("0.0.3.231", 999), "no rates: by bytes");
        rates.look(Nanos::from_secs(1), &all);
        let mut later = all.clone();
        later[3].units += 100;
        rates.look(Nanos::from_secs(2), &later);
        let (rows, _) = users(&config, &later, &rates, &Chosen::All);
        assert_eq!((&*rows[0].who, rows[0].bytes_per_s), ("0.0.0.3", Some(100.0)), "the fastest first");
    }
}
