//! The gateway's metrics.

use std::fmt::Error;

use dovetail_admin::metrics::{self, Families, Labels, NOTHING};
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder, registry::Unit};

use super::scrape::{Class, Scrape};
use crate::{quota::Shown, spent::named};

/// Encodes a scrape as text.
pub(super) fn encode(scrape: Scrape) -> Result<String, Error> {
    metrics::encode("dovetail_gateway", scrape)
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut families = Families::new(encoder);
        self.requests(&mut families)?;
        self.link(&mut families)?;
        self.connections(&mut families)?;
        self.users(&mut families)?;
        self.quotas(&mut families)?;
        self.process(&mut families)
    }
}

impl Scrape {
    fn requests(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let now = || self.classes.iter().map(class_label).zip(&self.totals.classes);
        to.gauge("requests_waiting", "Requests queued for release", None, now().map(|(l, c)| (l, c.waiting)))?;
        let help = "Requests in flight: released and not finished";
        to.gauge("requests_outstanding", help, None, now().map(|(l, c)| (l, c.outstanding)))?;
        let active = self.classes.iter().map(|class| (class_label(class), class.active_users));
        to.gauge("active_users", "Users with requests queued or in flight", None, active)?;
        to.gauge("class_weight", "The class's weight", None, now().map(|(l, c)| (l, c.weight.as_f64())))?;
        let help = "Requests, and bursts of tunnels, that were queued for release";
        to.counter("requests_arrived", help, None, now().map(|(l, c)| (l, c.requests)))?;
        let help = "Requests cancelled before their responses were complete";
        to.counter("requests_cancelled", help, None, now().map(|(l, c)| (l, c.cancelled)))?;
        let help = "Bytes received over the link, headers included";
        to.counter("received", help, Some(Unit::Bytes), now().map(|(l, c)| (l, c.units)))?;
        let sent = self.classes.iter().map(|class| (class_label(class), class.sent_bytes));
        to.counter(
            "sent",
            "Bytes of bodies and tunnels sent to clients, counted when they finish",
            Some(Unit::Bytes),
            sent,
        )?;
        const STATUS: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];
        let by_status = self.classes.iter().flat_map(|class| {
            STATUS
                .into_iter()
                .zip(class.by_status)
                .map(|(status, count)| ([("class", &*class.name), ("status", status)], count))
        });
        to.counter("requests", "Finished requests, by the status that clients got", None, by_status)?;
        let tunnels = self.classes.iter().map(|class| (class_label(class), class.tunnels));
        to.counter("tunnels", "Finished tunnels", None, tunnels)?;
        let latency = self.classes.iter().map(|class| (class_label(class), &class.latency));
        to.histogram("request_duration", "From a request's arrival to the end of its complete response", latency)?;
        let queue = self.classes.iter().map(|class| (class_label(class), &class.queue));
        to.histogram("queue_duration", "How long a request, or all bursts of a tunnel, waited for release", queue)?;
        let spent = self.classes.iter().zip(&self.totals.classes).flat_map(|(class, now)| {
            named(&now.spent).map(|(on, time)| ([("class", &*class.name), ("on", on)], time.as_secs_f64()))
        });
        let help = "What finished requests' time was spent on, from their arrival to their end";
        to.counter("requests_spent", help, Some(Unit::Seconds), spent)
    }

    fn link(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let used = self
            .sample
            .iter()
            .flat_map(|sample| self.classes.iter().map(class_label).zip(sample.utilisation.iter().copied()));
        let help = "The class's part of the capacity in the last second, 0 to 1";
        to.gauge("utilisation_ratio", help, None, used)?;
        let help = "The link's capacity for responses, as configured";
        to.gauge("goodput_bytes_per_second", help, None, [(NOTHING, self.goodput_bytes_per_s)])?;
        let help = "The link's capacity for responses: as learnt if the policy learns, else as configured";
        to.gauge("capacity_bytes_per_second", help, None, [(NOTHING, self.link.capacity_bytes_per_s)])?;
        let delay = self.link.far_delay_ms.map(|delay| (NOTHING, delay / 1e3));
        to.gauge("far_delay", "How long a packet waits at the link's far end, if known", Some(Unit::Seconds), delay)?;
        let up = self.probe_up.map(|is_up| (NOTHING, u32::from(is_up)));
        to.gauge("probe_up", "Whether the probe of the far queue is answered, if one is sent", None, up)?;
        let lost = [(NOTHING, self.totals.lost_probes)];
        to.counter("probes_lost", "Probes of the far queue that went unanswered", None, lost)?;
        let up = self.uplink;
        let paced = up.goodput_bytes_per_s.map(|rate| (NOTHING, rate));
        to.gauge("uplink_goodput_bytes_per_second", "The uplink's capacity for uploads, if configured", None, paced)?;
        let help = "Whether clients send so much that the far queue's delay may be the uplink's";
        to.gauge("uplink_busy", help, None, [(NOTHING, u32::from(up.is_busy))])?;
        let sent = [(NOTHING, up.sent_bytes)];
        to.counter("uplink_sent", "Bytes of uploads, and of what clients sent in tunnels", Some(Unit::Bytes), sent)?;
        let figures = self.totals.figures.iter().map(|&(name, value)| ([("figure", name)], value));
        to.gauge("policy_figure", "The policy's own figures, by name and in its own units", None, figures)
    }

    fn connections(&self, to: &mut Families<'_>) -> Result<(), Error> {
        to.gauge("client_connections", "Open client connections", None, [(NOTHING, self.connections)])?;
        to.counter("connections_accepted", "Accepted client connections", None, [(NOTHING, self.accepted)])?;
        let refused = [
            ("client", self.refused_clients),
            ("full", self.refused_full),
            ("header", self.refused_headers),
            ("tls", self.refused_tls),
        ];
        let help = "Refused connections: not from a permitted client, over the limit, without the PROXY header of those \
                    who are trusted, or without TLS where that is spoken";
        to.counter("connections_refused", help, None, refused.map(|(reason, count)| ([("reason", reason)], count)))?;
        let help = "Failures to accept a connection for want of a file descriptor";
        to.counter("accepts_failed", help, None, [(NOTHING, self.accepts_failed)])?;
        let used = [("dialled", self.dialled), ("reused", self.reused)].map(|(how, count)| ([("how", how)], count));
        to.counter("upstream_connections", "Connections to servers that requests and tunnels went out on", None, used)?;
        let help = "Requests sent once more because a kept connection was closed";
        to.counter("upstream_retries", help, None, [(NOTHING, self.retried)])?;
        let parents = self.parents.iter().map(|(name, is_up)| ([("parent", &**name)], u32::from(*is_up)));
        let help = "Whether the parent proxy could be reached when it was last tried; 1 before that";
        to.gauge("parent_up", help, None, parents)?;
        let idle = [(NOTHING, self.idle_upstream_connections)];
        to.gauge("idle_upstream_connections", "Idle connections to servers kept for reuse", None, idle)?;
        let lost = [(NOTHING, self.log_lost)];
        to.counter("log_lines_lost", "Access log lines that could not be written to disk", None, lost)
    }

    fn users(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let help = "Bytes received for a user since they were first known; for the 20 known users with the most bytes. \
                    A user without requests for a minute is forgotten";
        let users =
            self.users.iter().map(|user| ([("class", &*user.class), ("user", &*user.who)], user.received_bytes));
        to.counter("user_received", help, Some(Unit::Bytes), users)
    }

    fn quotas(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let each =
            |value: fn(&Shown) -> u64| self.quotas.iter().map(move |quota| ([("quota", &*quota.name)], value(quota)));
        to.gauge("quota", "How much the quota is", Some(Unit::Bytes), each(|quota| quota.bytes))?;
        to.gauge(
            "quota_known",
            "Users, or classes, that used something of the quota",
            None,
            each(|quota| quota.known as u64),
        )?;
        let help = "Users, or classes, that are beyond the quota";
        to.gauge("quota_beyond", help, None, each(|quota| quota.beyond as u64))?;
        let counted = self.quotas.iter().flat_map(|quota| {
            let counted = quota.counted.iter().zip(&self.classes);
            counted.map(|(bytes, class)| ([("quota", &*quota.name), ("class", &*class.name)], *bytes))
        });
        to.counter("quota_counted", "Bytes that counted for the quota", Some(Unit::Bytes), counted)?;
        let up = self.store_up.map(|is_up| (NOTHING, u32::from(is_up)));
        to.gauge("store_up", "Whether the store of quotas can be written, if there is one", None, up)?;
        let written = self.store_up.map(|_| (NOTHING, self.store_written));
        to.counter("store_written", "Times that the store of quotas was written", None, written)
    }

    fn process(&self, to: &mut Families<'_>) -> Result<(), Error> {
        to.process(self.process)?;
        let uptime = [(NOTHING, self.totals.now.as_secs_f64())];
        to.gauge("uptime", "Time since the start", Some(Unit::Seconds), uptime)
    }
}

fn class_label(class: &Class) -> Labels<'_, 1> {
    [("class", &class.name)]
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, rc::Rc};

    use dovetail_sched::request::ClassId;

    use super::*;
    use crate::{
        admin::{scrape::MAX_USERS, seen::Seen},
        config::Config,
        counters::{BUCKETS_S, add},
        quota::Quotas,
        state::{Link, Notes, Settings},
        who::Who,
    };

    const TEXT: &str = "[downlink]\nrate = \"1Gbps\"\nprobe = \"off\"\n[access]\nclients = \"10.0.0.0/8\"\n\
                        [[class]]\nname = \"office\"\nweight = 3\nclients = \"10.1.0.0/16\"\n";

    fn seen() -> Seen {
        let settings = Rc::new(Settings::new(Config::parse(TEXT).expect("a configuration")));
        let link = Rc::new(Link::new(Rc::clone(&settings)).expect("a link"));
        Seen {
            quotas: Rc::new(Quotas::new(&settings, &link, None)),
            link,
            notes: Rc::new(Notes::new(Rc::clone(&settings), None)),
            settings,
            counters: Rc::default(),
            seats: Rc::default(),
            pool: Rc::default(),
            probing: Rc::default(),
            unreached: Rc::default(),
        }
    }

    fn scraped(seen: &Seen) -> String {
        encode(Scrape::of(seen, None)).expect("text")
    }

    fn value(text: &str, metric: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {metric} in {text}")).parse().expect("a number")
    }

    #[tokio::test]
    async fn ten_thousand_users_are_twenty_labels() {
        let seen = seen();
        let one = scraped(&seen).lines().count();
        for number in 0..10_000_u32 {
            let who = Who::Address(Ipv4Addr::from(0x0a00_0000 + number).into());
            let ticket = seen.link.dispatcher().arrive(&who, ClassId(number % 2), None, "a".into());
            ticket.received(u64::from(number) + 1);
            ticket.end();
        }
        let text = scraped(&seen);
        let named: Vec<_> = text.lines().filter(|line| line.contains("user=\"")).collect();
        assert_eq!(named.len(), MAX_USERS);
        assert_eq!(text.lines().count(), one + MAX_USERS + 3, "nothing else but their family's head");
        // 10.0.39.15 is the last one and received the most; the twentieth received 9,981 bytes.
        let first = "dovetail_gateway_user_received_bytes_total{class=\"default\",user=\"10.0.39.15\"}";
        assert!((value(&text, first) - 10_000.0).abs() < 1e-9);
        assert!(named.iter().all(|line| {
            line.rsplit(' ').next().is_some_and(|bytes| bytes.parse::<u64>().is_ok_and(|bytes| bytes > 9_980))
        }));
    }

    #[tokio::test]
    async fn histograms_are_cumulative_and_their_last_bucket_is_all() {
        let seen = seen();
        let class = seen.notes.of_class(ClassId(0));
        for seconds in [0.005, 0.03, 0.03, 1_000.0] {
            class.latency.note(std::time::Duration::from_secs_f64(seconds));
        }
        add(&class.by_status[2], 4);
        let text = scraped(&seen);
        let bucket = |bound: &str| {
            value(
                &text,
                &format!("dovetail_gateway_request_duration_seconds_bucket{{le=\"{bound}\",class=\"office\"}}"),
            )
        };
        assert_eq!(
            [bucket("0.01"), bucket("0.025"), bucket("0.05"), bucket("300.0"), bucket("+Inf")],
            [1., 1., 3., 3., 4.]
        );
        let buckets = text.matches("request_duration_seconds_bucket").count();
        assert_eq!(buckets, 2 * (BUCKETS_S.len() + 1), "of two classes");
        assert_eq!(value(&text, "dovetail_gateway_request_duration_seconds_count{class=\"office\"}"), 4.0);
        assert_eq!(value(&text, "dovetail_gateway_request_duration_seconds_sum{class=\"office\"}"), 1_000.065);
        assert_eq!(value(&text, "dovetail_gateway_requests_total{class=\"office\",status=\"2xx\"}"), 4.0);
        assert_eq!(value(&text, "dovetail_gateway_class_weight{class=\"office\"}"), 3.0);
    }

    #[tokio::test]
    async fn a_user_is_one_series_of_a_class() {
        let seen = seen();
        let ann = Who::Name("ann".into());
        // Her class has hosts as well.
        for (who, bytes) in [(&ann, 300), (&ann.towards(ClassId(0)), 40), (&Who::Group("ann".into()), 5)] {
            let ticket = seen.link.dispatcher().arrive(who, ClassId(0), None, "a".into());
            ticket.received(bytes);
            ticket.end();
        }
        let text = scraped(&seen);
        assert_eq!(text.matches("user=\"ann\"").count(), 1, "{text}");
        let metric = "dovetail_gateway_user_received_bytes_total{class=\"office\",user=\"ann\"}";
        assert_eq!(value(&text, metric), 345.0);
    }

    #[tokio::test]
    async fn names_of_users_cannot_break_out_of_their_labels() {
        let seen = seen();
        let ticket = seen.link.dispatcher().arrive(&Who::Name("a\"} 9\\".into()), ClassId(0), None, "a".into());
        let text = scraped(&seen);
        assert!(text.contains("user=\"a\\\"} 9\\\\\"} 0\n"), "{text}");
        drop(ticket);
    }
}
