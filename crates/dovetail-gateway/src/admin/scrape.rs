//! Data for a scrape of the metrics: copies of existing counters, so that nothing else pays for it.

use std::{collections::HashMap, sync::Arc};

use dovetail_admin::{Process, metrics::Durations};
use dovetail_tower::dispatcher::{Totals, UserView};

use super::{
    history::Sample,
    link::{Link, Up},
    named::class_name,
    seen::Seen,
    written::Written,
};
use crate::{
    config::Config,
    counters::{BUCKETS_S, ClassCounters, Histogram},
    quota::Shown,
    who::Who,
};

/// Maximum number of users with labels of their own: labels stay in a metrics store for good, while users come and go.
pub(super) const MAX_USERS: usize = 20;

#[derive(Debug)]
pub(super) struct Scrape {
    pub(super) totals: Totals,
    pub(super) link: Link,
    pub(super) uplink: Up,
    pub(super) goodput_bytes_per_s: f64,
    pub(super) probe_up: Option<bool>,
    pub(super) classes: Vec<Class>,
    pub(super) users: Vec<User>,
    pub(super) sample: Option<Sample>,
    pub(super) connections: usize,
    pub(super) accepted: u64,
    pub(super) refused_clients: u64,
    pub(super) refused_full: u64,
    pub(super) refused_headers: u64,
    pub(super) refused_tls: u64,
    pub(super) accepts_failed: u64,
    pub(super) dialled: u64,
    pub(super) reused: u64,
    pub(super) retried: u64,
    /// The parent proxies, and whether each could be reached.
    pub(super) parents: Vec<(Arc<str>, bool)>,
    pub(super) idle_upstream_connections: usize,
    pub(super) log_lost: u64,
    pub(super) quotas: Vec<Shown>,
    pub(super) store_up: Option<bool>,
    pub(super) store_written: u64,
    pub(super) process: Option<Process>,
}

/// A class's counters.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) active_users: u32,
    pub(super) by_status: [u64; 6],
    pub(super) tunnels: u64,
    pub(super) sent_bytes: u64,
    pub(super) latency: Durations,
    pub(super) queue: Durations,
}

#[derive(Debug)]
pub(super) struct User {
    pub(super) who: String,
    pub(super) class: String,
    pub(super) received_bytes: u64,
}

impl Scrape {
    /// The current values. O(users + requests).
    pub(super) fn of(seen: &Seen, sample: Option<&Sample>) -> Self {
        let config = seen.settings.config();
        let view = seen.link.dispatcher().view();
        let active = view.active_users();
        let counters = seen.notes.classes();
        let classes = config.classes.iter().zip(counters.iter().zip(&active));
        let classes = classes.map(|(class, (counters, &active))| Class::of(&class.name, counters, active)).collect();
        let users = most_served(&config, &view.users);
        let goodput_bytes_per_s = config.downlink.goodput_bytes_per_s();
        let shared = &seen.counters;
        Self {
            link: Link::of(&view.totals, goodput_bytes_per_s),
            uplink: Up::of(seen),
            totals: view.totals,
            goodput_bytes_per_s,
            probe_up: seen.probing.is_up(),
            classes,
            users,
            sample: sample.cloned(),
            connections: seen.seats.taken(),
            accepted: shared.accepted.get(),
            refused_clients: shared.refused_clients.get(),
            refused_full: shared.refused_full.get(),
            refused_headers: shared.refused_headers.get(),
            refused_tls: shared.refused_tls.get(),
            accepts_failed: shared.accepts_failed.get(),
            dialled: shared.dialled.get(),
            reused: shared.reused.get(),
            retried: shared.retried.get(),
            parents: config.parents.iter().map(|by| (Arc::clone(&by.name), seen.unreached.is_up(by))).collect(),
            idle_upstream_connections: seen.pool.len(),
            log_lost: seen.notes.log_lost(),
            quotas: seen.quotas.shown(),
            store_up: seen.quotas.store().map(|(_, fault)| fault.is_none()),
            store_written: seen.quotas.written(),
            process: Process::own(),
        }
    }
}

/// The users with the most bytes. O(users), of whom only these cost text.
fn most_served(config: &Config, all: &[UserView<Who>]) -> Vec<User> {
    // A user may be several to the scheduler, by the hosts of their requests, and a series must be unique.
    let mut bytes: HashMap<(Written<'_>, u32), u64> = HashMap::new();
    for user in all {
        *bytes.entry((Written::of(&user.who), user.class.0)).or_default() += user.units;
    }
    let mut most: Vec<_> = bytes.into_iter().collect();
    if most.len() > MAX_USERS {
        most.select_nth_unstable_by_key(MAX_USERS, |(_, received_bytes)| std::cmp::Reverse(*received_bytes));
        most.truncate(MAX_USERS);
    }
    let user = |((who, class), received_bytes): ((Written<'_>, _), _)| User {
        who: who.to_string(),
        class: class_name(config, class),
        received_bytes,
    };
    most.into_iter().map(user).collect()
}

impl Class {
    fn of(name: &str, counters: &ClassCounters, active_users: u32) -> Self {
        Self {
            name: name.to_owned(),
            active_users,
            by_status: std::array::from_fn(|digit| counters.by_status[digit].get()),
            tunnels: counters.tunnels.get(),
            sent_bytes: counters.sent_bytes.get(),
            latency: durations(&counters.latency),
            queue: durations(&counters.queue),
        }
    }
}

fn durations(histogram: &Histogram) -> Durations {
    let bounds = BUCKETS_S.into_iter().chain([f64::INFINITY]);
    let buckets = bounds.zip(histogram.counts.iter().map(std::cell::Cell::get)).collect();
    Durations { sum_s: histogram.sum_s.get(), count: histogram.count(), buckets }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use dovetail_sched::request::ClassId;

    use super::*;

    const TEXT: &str = "[downlink]\nrate = \"1Gbps\"\n[access]\nclients = \"10.0.0.0/8\"\n";

    #[test]
    fn the_users_with_the_most_bytes_are_shown() {
        let config = Config::parse(TEXT).expect("a configuration");
        let name = |number: u32| match number % 2 {
            0 => Who::Name(format!("a user with a long name {number}").into()),
            _ => Who::Address(Ipv4Addr::from(0x0a00_0000 + number).into()),
        };
        let user =
            |number: u32| UserView { who: name(number), class: ClassId(0), live: 1, units: number.into(), requests: 1 };
        let users: Vec<_> = (0..10_000).map(user).collect();
        let shown = most_served(&config, &users);
        assert_eq!(shown.len(), MAX_USERS);
        assert!(shown.iter().all(|user| user.received_bytes >= 9_980));
    }
}
