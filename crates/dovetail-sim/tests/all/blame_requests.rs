//! Attribution of the time of users' requests, checked by a replay of the watched link's packets and of the requests'
//! results.

use std::collections::BTreeMap;

use dovetail_sched::{FlowId, Nanos};
use dovetail_sim::{
    blame::{
        Cause, Explanation, HELD, ON_ITS_WAY, PACE, RECOVERING, RequestBlame, SERVER, STALLED, Selection, SlowPacket,
        WITHOUT_FLOW,
    },
    network::{AccessOutcome, Contender, Exchange, Network, NetworkOptions, NetworkOutcome, simulate_access},
};

use crate::{
    described::{exchanged, parse},
    watch::{Watch, run_access},
};

/// Two classes of two users, each with a separate server, and a call, over 2 Mbit/s. Windows are short and the buffer has
/// room for all of them.
const BED: &str = r#"name = "bed"
seed = 1
[network]
stop = "100s"
window = "16kB"
[access]
gateway = "g"
[[link]]
between = ["p", "g"]
rate = "2Mbps"
delay = "1ms"
buffer_packets = 500
watched = true
[[link]]
between = ["g", ["ann", "amy", "bob", "ben"]]
rate = "1Gbps"
delay = "2ms"
[[link]]
between = [["s1", "s2", "s3"], "p"]
rate = "100Mbps"
delay = "10ms"
[[link]]
between = ["s4", "p"]
rate = "100Mbps"
delay = "80ms"
[[traffic]]
name = "ann"
weight = 3
from = "s1"
to = "ann"
stop = "20s"
requests = { ASKS, size = SIZE }
[[traffic]]
name = "amy"
from = "s2"
to = "amy"
stop = "20s"
requests = { ASKS, size = SIZE, class = "ann" }
[[traffic]]
name = "bob"
from = "s3"
to = "bob"
stop = "20s"
requests = { ASKS, size = SIZE, upload = 2000 }
[[traffic]]
name = "ben"
from = "s4"
to = "ben"
stop = "20s"
requests = { ASKS, size = SIZE, class = "bob" }
[[traffic]]
name = "call"
from = "s1"
to = "g"
stop = "20s"
udp = { bytes = 200, rate = "20/s" }
"#;

const SIZE: &str = "{ lognormal = { mu = 9.357, sigma = 1.318, min = 1, max = \"300kB\" } }";
const USERS: [&str; 4] = ["ann", "amy", "bob", "ben"];
const GATEWAYS: [&str; 6] = ["none", "msf-rs", "grants", "drr", "delay-pools", "ingress"];

fn bed(asks: &str) -> String {
    BED.replace("ASKS", asks).replace("SIZE", SIZE)
}

struct Run {
    watch: Watch,
    outcome: NetworkOutcome,
    explanation: Explanation,
    capture: Vec<u8>,
}

impl Run {
    fn access(&self) -> &AccessOutcome {
        self.outcome.access.as_ref().expect("users behind a gateway")
    }
}

fn run(network: &Network, gateway: &str, selection: Selection) -> Run {
    let gateway: Contender = gateway.parse().expect("a gateway");
    let (mut watch, mut blame, mut capture) = (Watch::default(), RequestBlame::new(selection, 100_000), Vec::new());
    let options =
        NetworkOptions { requests: Some(&mut blame), capture: Some(&mut capture), ..NetworkOptions::default() };
    let outcome = simulate_access(network, &gateway, &mut watch, options).expect("runs");
    Run { watch, outcome, explanation: blame.finish(), capture }
}

fn sum(told: &SlowPacket) -> u64 {
    told.own[0].0 + told.same_flow.0 + told.causes.iter().map(|cause| cause.0).sum::<u64>()
}

/// Invariants of every run: all requests that ended are divided without remainder, and counted in the right rows.
fn check(run: &Run, at: &str) {
    let (exchanges, explanation) = (&run.access().exchanges, &run.explanation);
    let ended: Vec<_> = exchanges.iter().filter_map(Exchange::took).collect();
    assert_eq!(explanation.slowest.len(), ended.len(), "{at}");
    for told in &explanation.slowest {
        assert_eq!(Some(told.latency), exchanges[told.packet as usize].took(), "{at}");
        assert_eq!(sum(told), told.latency.0, "{at}: request {}", told.packet);
    }
    let cancelled = exchanges.iter().filter(|one| one.cancelled.is_some()).count() as u64;
    let selected = &explanation.selected;
    assert_eq!((selected.packets, selected.dropped, selected.left), (ended.len() as u64, cancelled, run.access().open));
    let all: u128 = ended.iter().map(|took| u128::from(took.0)).sum();
    assert_eq!(selected.latency_nanos, all, "{at}");
    let rows = explanation.rows.iter();
    assert_eq!(rows.clone().map(|row| row.latency_nanos).sum::<u128>(), all, "{at}");
    assert_eq!(rows.map(|row| row.dropped + row.left).sum::<u64>(), cancelled + run.access().open, "{at}");
}

#[test]
fn parts_sum_to_the_latency_whatever_the_gateway_does() {
    for (seed, asks, buffer) in
        [(1, "load = 0.9", 25), (2, "each = 4", 6), (3, "rate = \"3/s\"", 12), (4, "each = 2, patience = \"2s\"", 9)]
    {
        let text = exchanged(&bed(asks), "buffer_packets = 500", &format!("buffer_packets = {buffer}"));
        let mut network = parse(&exchanged(&text, "window = \"16kB\"", "window = \"128kB\"")).expect("a network");
        network.seed = seed;
        for gateway in GATEWAYS {
            let run = run(&network, gateway, Selection::All);
            let at = format!("{gateway}, {asks}");
            check(&run, &at);
            assert!(run.explanation.slowest.len() > 50, "{at}: {}", run.explanation.slowest.len());
            // The shaper of ingress drops behind the link.
            assert!(run.outcome.link.dropped > 0 || gateway == "grants" || gateway == "delay-pools", "{at}");
            let selected = &run.explanation.selected;
            assert_eq!(selected.cause_nanos(STALLED), 0);
            assert_eq!(selected.cause_nanos(HELD), 0, "a queue in order of arrival holds no packet back");
            let reads_all = !matches!(gateway, "grants" | "delay-pools" | "msf-rs");
            assert!(!reads_all || selected.cause_nanos(PACE) == 0, "{at}");
        }
    }
}

#[test]
fn watching_changes_nothing() {
    let network = parse(&bed("each = 2")).expect("a network");
    for gateway in GATEWAYS {
        let (seen, plain) = (run(&network, gateway, Selection::All), run_access(&network, gateway));
        assert_eq!(seen.access().exchanges, plain.outcome.access.as_ref().expect("users").exchanges, "{gateway}");
        assert!(seen.capture == plain.capture, "{gateway}");
    }
}

/// Spans of time, in nanoseconds, ordered and disjoint.
#[derive(Debug, Clone, Default)]
struct Spans(Vec<(u64, u64)>);

impl Spans {
    fn of(spans: impl Iterator<Item = (Nanos, Nanos)>, within: (u64, u64)) -> Self {
        let mut spans: Vec<_> = spans
            .map(|(from, to)| (from.0.clamp(within.0, within.1), to.0.clamp(within.0, within.1)))
            .filter(|(from, to)| from < to)
            .collect();
        spans.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::new();
        for (from, to) in spans {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => apart.push((from, to)),
            }
        }
        Self(apart)
    }

    fn nanos(&self) -> u64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    fn without(&self, others: &Self) -> Self {
        let mut left = Vec::new();
        for &(begins, to) in &self.0 {
            let mut from = begins;
            for &(a, b) in others.0.iter().filter(|(a, b)| *a < to && *b > begins) {
                if from < a {
                    left.push((from, a));
                }
                from = from.max(b);
            }
            if from < to {
                left.push((from, to));
            }
        }
        Self(left)
    }

    fn overlap(&self, others: &Self) -> u64 {
        self.nanos() - self.without(others).nanos()
    }
}

/// A packet at the link: its owner, its flow, its length, its arrival, and its transmission.
#[derive(Debug, Clone)]
struct Stay {
    whose: String,
    flow: FlowId,
    bytes: u32,
    came: Nanos,
    on_link: (Nanos, Nanos),
}

fn stays(watch: &Watch) -> Vec<Stay> {
    // Flows are numbered in order of appearance as long as none is forgotten.
    let whose = |flow: FlowId| {
        let (label, class, _) = &watch.appeared[flow.index()];
        if label.contains(":7>") { "probes".to_owned() } else { class.clone() }
    };
    let stay = |sent: &crate::watch::Sent| Stay {
        whose: whose(sent.flow),
        flow: sent.flow,
        bytes: sent.bytes,
        came: sent.arrival,
        on_link: (sent.begun, sent.ends),
    };
    watch.sent.iter().map(stay).collect()
}

/// A request's parts according to a replay, if nothing is dropped and the gateway reads everything that arrives.
fn replay(one: &Exchange, whose: &str, stays: &[Stay]) -> BTreeMap<String, u64> {
    let life = (one.wanted.0, one.ended.expect("it ended").0);
    let (arrived, released) = (one.arrived.expect("it arrived").0, one.released.expect("it was released").0);
    let answered = (released, life.1);
    // Its connection is the one that carries the most in the meantime.
    let mut bytes: BTreeMap<FlowId, u64> = BTreeMap::new();
    for stay in stays.iter().filter(|stay| stay.whose == whose && (answered.0..=answered.1).contains(&stay.came.0)) {
        *bytes.entry(stay.flow).or_default() += u64::from(stay.bytes);
    }
    let (&flow, _) = bytes.iter().max_by_key(|(_, bytes)| **bytes).expect("a connection");
    let own_packets = || stays.iter().filter(move |stay| stay.flow == flow);
    let own = Spans::of(own_packets().map(|stay| stay.on_link), answered);
    let waits = Spans::of(own_packets().map(|stay| (stay.came, stay.on_link.0)), answered).without(&own);
    let queued = Spans(vec![(arrived, released)]);
    let mut parts = BTreeMap::from([("own".to_owned(), own.nanos())]);
    let (mut held, mut pace) = (waits.nanos(), released - arrived);
    for name in USERS.into_iter().chain(["call", "probes"]) {
        let others = stays.iter().filter(|stay| stay.whose == name && stay.flow != flow);
        let others = Spans::of(others.map(|stay| stay.on_link), life);
        let (before_link, at_gateway) = (waits.overlap(&others), queued.overlap(&others));
        parts.insert(name.to_owned(), before_link + at_gateway);
        held -= before_link;
        pace -= at_gateway;
    }
    // While it is queued its connection carries the rest of the previous request.
    let before = Spans::of(own_packets().map(|stay| stay.on_link), (arrived, released)).nanos();
    *parts.get_mut(whose).expect("its user's") += before;
    pace -= before;
    // A segment with data is longer than any acknowledgement.
    let first = own_packets().find(|stay| stay.came.0 >= released && stay.bytes > 100).expect("a response").came;
    let server = Spans(vec![(released, first.0)]).without(&own).without(&waits).nanos();
    parts.insert("held".to_owned(), held);
    parts.insert("pace".to_owned(), pace);
    parts.insert("server".to_owned(), server);
    let rest = (life.1 - life.0) - parts.values().sum::<u64>();
    parts.insert("on its way".to_owned(), rest);
    parts
}

/// The reported parts, by the same names.
fn told(of: &SlowPacket, explanation: &Explanation) -> BTreeMap<String, u64> {
    let mut parts: BTreeMap<String, u64> = [
        ("own", of.own[0]),
        ("held", of.causes[HELD]),
        ("pace", of.causes[PACE]),
        ("server", of.causes[SERVER]),
        ("on its way", of.causes[ON_ITS_WAY]),
    ]
    .map(|(name, nanos)| (name.to_owned(), nanos.0))
    .into();
    for (column, nanos) in explanation.columns.iter().zip(&of.causes).skip(WITHOUT_FLOW) {
        let Cause::Flow(label) = &column.cause else { panic!("so few users have columns of their own") };
        let same = if *label == of.flow { of.same_flow.0 } else { 0 };
        parts.insert(label.clone(), nanos.0 + same);
    }
    parts
}

#[test]
fn a_request_s_parts_are_what_a_replay_of_the_link_finds() {
    // One request at a time, so that a user's packets are those of one request.
    for (gateway, asks) in [
        ("none", "each = 1"),
        ("none", "each = 1, think = \"200ms\""),
        ("msf-rs", "each = 1"),
        ("drr", "each = 1"),
        ("ingress", "each = 1"),
        ("grants", "each = 1"),
        ("grants:lead=0", "each = 1"),
        ("delay-pools", "each = 1"),
    ] {
        // The replay does not handle losses or spurious retransmissions.
        let patient = exchanged(&bed(asks), "window = \"16kB\"", "window = \"16kB\"\ntransport = \"2005\"");
        let network = parse(&patient).expect("a network");
        let run = run(&network, gateway, Selection::All);
        check(&run, gateway);
        assert_eq!(run.outcome.link.dropped, 0, "{gateway}");
        assert!(run.explanation.slowest.len() > 60, "{gateway}: {}", run.explanation.slowest.len());
        let (stays, reads_all) = (stays(&run.watch), !matches!(gateway, "grants" | "grants:lead=0" | "delay-pools"));
        let (mut behind_others, mut paced) = (0, 0);
        for of in &run.explanation.slowest {
            let exchange = &run.access().exchanges[of.packet as usize];
            let whose = USERS[exchange.user];
            assert_eq!(of.flow, whose);
            let (found, told) = (replay(exchange, whose, &stays), told(of, &run.explanation));
            let at = format!("{gateway}: request {} of {whose}", of.packet);
            assert_eq!(of.causes[RECOVERING], Nanos::ZERO, "{at}");
            if reads_all {
                assert_eq!(told, found, "{at}");
            } else {
                // When data is available to read cannot be observed from outside.
                for name in ["own", "server", "held"] {
                    assert_eq!(told[name], found[name], "{at}: {name}");
                }
                for name in USERS.into_iter().chain(["call", "probes", "pace"]) {
                    assert!(told[name] >= found[name], "{at}: {name}");
                }
                assert!(told["on its way"] <= found["on its way"], "{at}");
            }
            behind_others += USERS.iter().filter(|user| **user != whose).map(|user| told[*user]).sum::<u64>();
            paced += told["pace"];
        }
        assert!(behind_others > 0, "{gateway}");
        assert_eq!(paced > 0, !matches!(gateway, "none" | "drr" | "ingress"), "{gateway}");
    }
}

#[test]
fn only_what_was_dropped_recovers() {
    let network = parse(&exchanged(&bed("each = 1"), "buffer_packets = 500", "buffer_packets = 5")).expect("a network");
    for gateway in GATEWAYS {
        let run = run(&network, gateway, Selection::All);
        check(&run, gateway);
        let mut recovering = 0;
        for of in &run.explanation.slowest {
            let exchange = &run.access().exchanges[of.packet as usize];
            let out = exchange.released.expect("it was released")..=exchange.ended.expect("it ended");
            let dropped = run.watch.dropped.iter().any(|(_, at)| out.contains(at));
            assert!(dropped || of.causes[RECOVERING] == Nanos::ZERO, "{gateway}: request {}", of.packet);
            recovering += of.causes[RECOVERING].0;
        }
        assert_eq!(recovering > 0, run.outcome.link.dropped > 0, "{gateway}");
    }
}

#[test]
fn a_user_s_other_requests_are_told_from_other_users() {
    let network = parse(&bed("each = 4")).expect("a network");
    let run = run(&network, "msf-rs", Selection::Class("bob".into()));
    let explanation = &run.explanation;
    let of_class = |one: &&Exchange| one.user >= 2 && one.ended.is_some();
    let done = run.access().exchanges.iter().filter(of_class).count() as u64;
    assert_eq!(explanation.selected.packets, done);
    assert!(explanation.selected.same_flow_nanos > 0);
    let alone = explanation.slowest.iter().filter(|told| told.flow == "bob" || told.flow == "ben").count() as u64;
    assert_eq!(alone, done);
    let classes: Vec<_> =
        explanation.columns[WITHOUT_FLOW..].iter().map(|column| column.class.as_deref().expect("a class")).collect();
    assert_eq!(&classes[..4], ["ann", "ann", "bob", "bob"]);
}
