//! Scenario files of networks: every key has its intended effect, every mistake is reported, and nothing makes the reader
//! fail.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use dovetail_sched::{DropPolicy, Limits, Nanos, Weight, units::Rate};
use dovetail_sim::{
    network::{
        Arrivals, Datagrams, Interactive, Kind, Link, Network, Node, Protocol, RateChange, TcpConfig, Traffic,
        Transport,
    },
    workload::Size,
};
use proptest::prelude::*;

use crate::described::{
    Mistake, answer, any_value, check_mistakes, example, exchanged, parse, shipped, with_piece, with_value,
};

/// All keys of the format; replaceable values are between signs.
const WHOLE: &str = r#"
name = @"whole"@
description = @"all keys"@
source = @"here"@
seed = @7@
[network]
stop = @"90s"@
transport = @"2005:congestion=reno,initial_window=4"@
mtu = @1040@
window = @"64KiB"@
delayed_ack = @"30ms"@
jitter = @"50us"@
[[node]]
name = @"user"@
count = @2@
[[link]]
between = [@"r1"@, @"r0"@]
rate = @"3Mbps"@
delay = @"30ms"@
watched = @true@
policy = @"drr:quantum=1514"@
buffer_packets = @50@
buffer = @"60kB"@
flows = @1000@
[[link]]
between = [[@"s1"@, "s2"], @"r1"@]
rate = "10Mbps"
rate_back = @"1Mbps"@
buffer_back = @"30kB"@
mark_packets = @20@
mark_packets_back = @5@
changes = [{ at = @"3s"@, rate = @"5Mbps"@ }, { at = "10s", rate = "4Mbps", rate_back = @"2Mbps"@ }, { at = "13s", rate_back = "1Mbps" }]
down = [@["3s", "4s"]@, ["9s", "11s"]]
[[link]]
between = ["r0", @["c1", "c2"]@]
rate = "20Mbps"
delay = @0@
[[link]]
between = ["r0", "user"]
rate = "20Mbps"
[[traffic]]
name = @"web"@
weight = @2.5@
from = @["s1", "s2"]@
to = @"c1"@
start = @"1s"@
stop = @"60s"@
transfers = { count = @30@, size = @{ pareto = { shape = 1.2, min = 1, max = 900 } }@, unit = @"1kB"@, load = @0.8@ }
[[traffic]]
name = "often"
from = "s1"
to = ["c1", "c2"]
transfers = { count = 2, size = { cdf = { file = "sizes.csv" } }, rate = @"20/s"@ }
[[traffic]]
name = "at once"
from = "s1"
to = "c1"
transfers = { count = 3, size = @"20kB"@ }
[[traffic]]
name = "ftp"
from = "s2"
to = "c2"
long_lived = @2@
[[traffic]]
name = "voice"
from = "s1"
to = "c2"
udp = { bytes = @200@, rate = @"50/s"@, on = @"1s"@, off = @"1.35s"@ }
[[traffic]]
name = "flood"
from = "s1"
to = "c2"
udp = { bytes = 1000, rate = @"4Mbps"@, random = true, flow_each = @true@ }
[[traffic]]
name = "ssh"
from = "s1"
to = "c2"
interactive = { rate = @"4/s"@, keystroke = @100@, echo = @150@ }
"#;

#[test]
fn every_key_is_read_as_it_is_meant() {
    let network = parse(&WHOLE.replace('@', "")).unwrap();
    let names = ["r1", "r0", "s1", "s2", "c1", "c2", "user-1", "user-2"];
    let [r1, r0, s1, s2, c1, c2, user_1, user_2] = [0, 1, 2, 3, 4, 5, 6, 7];
    let link = |from, to, mbps: f64, delay_ms, policy: &str, limits| Link {
        from,
        to,
        rate: Rate::from_bps(mbps * 1e6).unwrap(),
        changes: [].into(),
        delay: Nanos::from_millis(delay_ms),
        policy: policy.parse().unwrap(),
        limits,
        mark_packets: None,
    };
    let tail = Limits { packets: Some(100_000), on_full: DropPolicy::Tail, ..Limits::UNLIMITED };
    let tight = Limits { packets: Some(50), bytes: Some(60_000), flows: 1000, ..tail };
    let loose = Limits { flows: 65_536, ..tail };
    let narrow = |from, to| link(from, to, 3.0, 30, "drr:quantum=1514", tight);
    let changes = |mbps: &[(u64, f64)]| -> Arc<[RateChange]> {
        let rate = |mbps: f64| (mbps > 0.0).then(|| Rate::from_bps(mbps * 1e6).unwrap());
        mbps.iter().map(|&(at_s, mbps)| RateChange { at: Nanos::from_secs(at_s), rate: rate(mbps) }).collect()
    };
    let left_changes = changes(&[(3, 0.0), (4, 5.0), (9, 0.0), (10, 0.0), (11, 4.0)]);
    let left_back_changes = changes(&[(3, 0.0), (4, 1.0), (9, 0.0), (10, 0.0), (11, 2.0), (13, 1.0)]);
    let left = |from, to| Link {
        mark_packets: Some(20),
        changes: left_changes.clone(),
        ..link(from, to, 10.0, 0, "fifo", loose)
    };
    let little = Limits { packets: None, bytes: Some(30_000), ..loose };
    let left_back = |from, to| Link {
        mark_packets: Some(5),
        changes: left_back_changes.clone(),
        ..link(from, to, 1.0, 0, "fifo", little)
    };
    let right = |from, to| link(from, to, 20.0, 0, "fifo", loose);
    let traffic = |name: &str, from: &[usize], to: &[usize], kind| Traffic {
        name: name.into(),
        weight: Weight::ONE,
        class: None,
        from: from.into(),
        to: to.into(),
        start: Nanos::ZERO,
        stop: Nanos::MAX,
        kind,
    };
    let transfers = |count, size, unit_bytes, arrivals| Kind::Transfers { count, size, unit_bytes, arrivals };
    let web = Size::Pareto { shape: 1.2, min: 1.0, max: 900.0 };
    let voice = Some((Nanos::from_secs(1), Nanos::from_millis(1350)));
    // 1,000 bytes at 4 Mbit/s are 2 ms.
    let flood = Datagrams { bytes: 1000, gap: Nanos::from_millis(2), random: true, on_off: None, flow_each: true };
    let typed = Interactive { gap: Nanos::from_millis(250), keystroke_bytes: 100, echo_bytes: 150 };
    let Kind::Transfers { size: table @ Size::Empirical(_), .. } = network.traffic[1].kind.clone() else {
        panic!("{:?}", network.traffic[1])
    };
    assert_eq!(table.mean(), 5.0, "a straight line from 1 to 9");
    let meant = Network {
        name: "whole".into(),
        description: "all keys".into(),
        source: "here".into(),
        seed: 7,
        stop_at: Some(Nanos::from_secs(90)),
        nodes: names.map(|name| Node { name: name.into() }).into(),
        links: vec![
            narrow(r1, r0),
            narrow(r0, r1),
            left(s1, r1),
            left_back(r1, s1),
            left(s2, r1),
            left_back(r1, s2),
            right(r0, c1),
            right(c1, r0),
            right(r0, c2),
            right(c2, r0),
            right(r0, user_1),
            right(user_1, r0),
            right(r0, user_2),
            right(user_2, r0),
        ],
        watched: 0,
        transport: Transport {
            protocol: Protocol::Tcp,
            tcp: TcpConfig {
                receive_bytes: 65_536,
                ack_delay: Nanos::from_millis(30),
                initial_window: 4,
                ..TcpConfig::year_2005()
            },
            mtu_bytes: 1040,
            jitter: Nanos::from_micros(50),
        },
        traffic: vec![
            Traffic {
                weight: Weight::new(2.5).unwrap(),
                start: Nanos::from_secs(1),
                stop: Nanos::from_secs(60),
                ..traffic("web", &[s1, s2], &[c1], transfers(30, web, 1000, Arrivals::Load(0.8)))
            },
            traffic("often", &[s1], &[c1, c2], transfers(2, table, 1, Arrivals::PerSecond(20.0))),
            traffic("at once", &[s1], &[c1], transfers(3, Size::Fixed(20_000), 1, Arrivals::Together)),
            traffic("ftp", &[s2], &[c2], Kind::LongLived(2)),
            traffic(
                "voice",
                &[s1],
                &[c2],
                Kind::Datagrams(Datagrams {
                    bytes: 200,
                    gap: Nanos::from_millis(20),
                    random: false,
                    on_off: voice,
                    flow_each: false,
                }),
            ),
            traffic("flood", &[s1], &[c2], Kind::Datagrams(flood)),
            traffic("ssh", &[s1], &[c2], Kind::Interactive(typed)),
        ],
        access: None,
    };
    assert_eq!(format!("{network:#?}"), format!("{meant:#?}"));
    assert_eq!((network.transfers(), network.is_endless()), (35, true));
}

/// The smallest network; one key per line, so that the line of an error can be checked.
const MINIMAL: &str = r#"name = "least"
[network]
[[link]]
between = ["a", "b"]
rate = "1Mbps"
watched = true
[[traffic]]
name = "t"
from = "a"
to = "b"
transfers = { count = 1, size = 1 }
"#;

/// What is said of an array of tables in the place of a table.
const ONCE: &str = "one table is meant, not an array of them";

/// The smallest network with one piece of text replaced.
fn least(old: &str, new: &str) -> String {
    exchanged(MINIMAL, old, new)
}

#[test]
fn what_is_not_said_is_the_default() {
    let network = parse(MINIMAL).unwrap();
    let transport = Transport {
        protocol: Protocol::Tcp,
        tcp: TcpConfig { receive_bytes: 262_144, ..TcpConfig::linux() },
        mtu_bytes: 1500,
        jitter: Nanos::ZERO,
    };
    assert_eq!((network.transport, network.seed, network.stop_at), (transport, 0, None));
    let link = &network.links[0];
    assert_eq!((link.policy.as_str(), link.delay, link.limits.flows), ("fifo", Nanos::ZERO, 65_536));
    assert_eq!((link.limits.packets, link.limits.bytes), (Some(100_000), None));
    assert_eq!(network.traffic[0].weight, Weight::ONE);
    let at_once = parse(&least("[network]", "[network]\ndelayed_ack = 0")).unwrap();
    assert_eq!(at_once.transport.tcp.ack_delay, Nanos::ZERO);
}

#[test]
fn whoever_is_named_twice_is_drawn_twice_as_often() {
    let text = least("from = \"a\"", "from = [\"a\", \"a\"]");
    let network = parse(&text).unwrap();
    assert_eq!(network.traffic[0].from, [0, 0]);
}

#[test]
fn a_name_for_several_nodes_is_short_for_their_names() {
    let grouped = |users: &str, sinks: &str, nodes: &str| {
        let text = format!(
            "{MINIMAL}{nodes}[[link]]\nbetween = [[{users}], \"a\"]\nrate = \"2Mbps\"\n\
             [[link]]\nbetween = [\"b\", [{sinks}, \"other\"]]\nrate = \"3Mbps\"\n\
             [[traffic]]\nname = \"u\"\nfrom = [{users}, \"a\"]\nto = [{sinks}, \"sink-2\"]\nlong_lived = 3\n"
        );
        format!("{:?}", parse(&exchanged(&text, "[network]", "[network]\nstop = \"1s\"")).unwrap())
    };
    let written = |name: &str, count: usize| {
        (1..=count).map(|number| format!("\"{name}-{number}\"")).collect::<Vec<_>>().join(", ")
    };
    let nodes = "[[node]]\nname = \"user\"\ncount = 200\n[[node]]\nname = \"sink\"\ncount = 2\n";
    let short = grouped("\"user\"", "\"sink\"", nodes);
    assert_eq!(short, grouped(&written("user", 200), &written("sink", 2), ""));
}

const MISTAKES: &[Mistake] = &[
    ("name = \"least\"", "name = ", 1, ""),
    ("name = \"least\"", "name = \"x\"\ncolour = 3", 2, "unknown field `colour`, expected one of `name`"),
    ("[[link]]", "[[node]]\nname = \"n\"\ncount = 0\n[[link]]", 3, "node: count is from 1 to 1024, not 0"),
    ("[[link]]", "[[node]]\nname = \"n\"\ncount = 1025\n[[link]]", 3, "node: count is from 1 to 1024, not 1025"),
    ("[[link]]", "[[node]]\nname = \"n\"\ncount = 2\n[[link]]", 3, "node: no link names 'n'"),
    ("[[link]]", "[[node]]\nname = \"b\"\ncount = 2\n[[link]]", 6, "link: a watched link is between one node"),
    (
        "[[link]]",
        "[[node]]\nname = \"b\"\ncount = 1\n[[node]]\nname = \"b\"\ncount = 1\n[[link]]",
        6,
        "node: 'b' is declared twice",
    ),
    (
        "[network]",
        "[network]\nspeed = 1",
        3,
        "unknown field `speed`, expected one of `stop`, `transport`, `congestion`",
    ),
    (
        "[network]",
        "[network]\ncongestion = \"vegas\"",
        3,
        "unknown variant `vegas`, expected one of `reno`, `cubic`, `bbr`",
    ),
    ("[network]", "[network]\nmtu = 100", 2, "mtu: the largest packet is from 576 to 65535 bytes, not 100"),
    ("[network]", "[network]\nmtu = \"5GB\"", 2, "the largest packet is from 576 to 65535 bytes"),
    ("[network]", "[network]\nwindow = 1499", 2, "the window is from the largest packet to 16 MiB, not 1499 bytes"),
    ("[network]", "[network]\nwindow = \"17MiB\"", 2, "the window is from the largest packet to 16 MiB"),
    ("[network]", "[network]\nstop = \"200000min\"", 2, "stop is at most 10000000s, not 12000000s"),
    ("name = \"least\"", "name = \"\\u001b[31m\"", 1, "name: there is a control character, \\u{1b}: leave it out"),
    ("name = \"t\"", "name = \"\"", 7, "traffic '': a name is not empty"),
    (
        "[[traffic]]",
        "[[traffic]]\nname = \"t\"\nfrom = \"a\"\nto = \"b\"\nlong_lived = 1\n[[traffic]]",
        12,
        "traffic 't': another has the same name",
    ),
    ("name = \"t\"", "name = \"t\\u0000\"", 7, "traffic 't\\u{0}': name: there is a control character, \\u{0}"),
    ("[network]", "[network]\nstop = 5", 3, "5 is not a time such as"),
    ("watched = true", "watched = false", 0, "one link is to have watched = true"),
    (
        "watched = true",
        "watched = true\n[[link]]\nbetween = [\"b\", \"c\"]\nrate = \"1Mbps\"\nwatched = true",
        7,
        "link: another link is watched already",
    ),
    ("watched = true", "colour = 3", 6, "unknown field `colour`, expected one of `between`"),
    ("watched = true", "watched = true\npolicy = \"fastest\"", 3, "link: unknown policy 'fastest': available are fifo"),
    (
        "watched = true",
        "watched = true\npolicy = \"grants\"",
        3,
        "link: 'grants' orders requests at a gateway, not packets on a link: compare it in a network with [access]",
    ),
    ("watched = true", "watched = true\npolicy = \"drr:quanta=3\"", 3, "quanta"),
    ("watched = true", "watched = true\nbuffer_packets = 0", 3, "link: a buffer holds at least a packet"),
    ("watched = true", "watched = true\nbuffer = 0", 3, "link: a buffer holds at least a packet"),
    ("watched = true", "watched = true\nbuffer_packets_back = 0", 3, "link: a buffer holds at least a packet"),
    ("watched = true", "watched = true\nbuffer_back = 0", 3, "link: a buffer holds at least a packet"),
    ("watched = true", "watched = true\nmark_packets = 0", 3, "link: mark_packets is at least 1"),
    ("watched = true", "watched = true\nmark_packets_back = 0", 3, "link: mark_packets is at least 1"),
    ("watched = true", "watched = true\nrate_back = \"0Mbps\"", 7, "\"0Mbps\": "),
    ("watched = true", "watched = true\nrate_back = 5", 7, "5 is not a rate such as \"400Mbps\""),
    (
        "watched = true",
        "watched = true\nchanges = [{ at = \"1s\" }]",
        3,
        "link: changes: each has a rate or a rate_back",
    ),
    (
        "watched = true",
        "watched = true\nchanges = [{ at = \"2s\", rate = \"1Mbps\" }, { at = \"2s\", rate = \"2Mbps\" }]",
        3,
        "link: changes: each is later than the one before",
    ),
    ("watched = true", "watched = true\nchanges = [{ at = \"2s\", rate = \"0Mbps\" }]", 7, "\"0Mbps\": "),
    ("watched = true", "watched = true\nchanges = [{ at = \"2s\", rates = 3 }]", 7, "unknown field `rates`"),
    (
        "watched = true",
        "watched = true\ndown = [[\"2s\", \"2s\"]]",
        3,
        "link: down: each period ends after it begins, and before the next begins",
    ),
    (
        "watched = true",
        "watched = true\ndown = [[\"2s\", \"3s\"], [\"3s\", \"4s\"]]",
        3,
        "link: down: each period ends after it begins, and before the next begins",
    ),
    ("watched = true", "watched = true\nflows = 0", 3, "link: flows is from 1 to "),
    ("watched = true", "watched = true\nflows = 4294967295", 3, "link: flows is from 1 to "),
    ("rate = \"1Mbps\"", "rate = \"0Mbps\"", 5, "\"0Mbps\": "),
    ("rate = \"1Mbps\"", "rate = 5", 5, "5 is not a rate such as \"400Mbps\""),
    ("rate = \"1Mbps\"", "", 3, "missing field `rate`"),
    (
        "rate = \"1Mbps\"",
        "rate = \"1Mbps\"\ndelay = \"3\"",
        6,
        "\"3\": there is no unit behind the number: use one of ns us ms s min",
    ),
    ("[\"a\", \"b\"]", "[\"a\"]", 4, "two are needed, not 1"),
    ("[\"a\", \"b\"]", "[\"a\", \"b\", \"c\"]", 4, "two are needed, not 3"),
    ("[\"a\", \"b\"]", "[\"a\", 3]", 4, "a node's name such as \"r1\", or several such as"),
    ("[\"a\", \"b\"]", "[\"a\", \"\"]", 3, "link: a node's name is 1 to 64 bytes long"),
    ("[\"a\", \"b\"]", "[\"a\", \"\\u0007\"]", 3, "link: a node's name is 1 to 64 bytes long, without control"),
    ("[\"a\", \"b\"]", "[\"a\", \"a\"]", 3, "link: 'a' is at both ends"),
    ("[\"a\", \"b\"]", "[\"a\", [\"b\", \"c\"]]", 3, "link: a watched link is between one node and one other"),
    (
        "watched = true",
        "watched = true\n[[link]]\nbetween = [\"b\", \"a\"]\nrate = \"1Mbps\"",
        7,
        "link: there is a link between 'b' and 'a' already",
    ),
    (
        "watched = true",
        "watched = true\n[[link]]\nbetween = [[\"c\", \"c\"], \"a\"]\nrate = \"1Mbps\"",
        7,
        "link: there is a link between 'c' and 'a' already",
    ),
    ("to = \"b\"", "to = \"nowhere\"", 7, "traffic 't': no link names a node 'nowhere'"),
    ("to = \"b\"", "to = []", 7, "traffic 't': it needs senders and receivers"),
    ("to = \"b\"", "to = [\"b\", \"a\"]", 7, "traffic 't': a node cannot send to itself"),
    ("to = \"b\"", "to = \"b\"\ncolour = 3", 11, "unknown field `colour`, expected one of `name`"),
    ("to = \"b\"", "to = \"b\"\nstart = \"2s\"\nstop = \"2s\"", 7, "traffic 't': stop is after start"),
    ("to = \"b\"", "to = \"b\"\nweight = -1.0", 7, "traffic 't': weight is from 0.000001 to 1000000, not -1"),
    ("to = \"b\"", "to = \"b\"\nweight = nan", 7, "traffic 't': weight is from 0.000001 to 1000000, not NaN"),
    (
        "transfers = { count = 1, size = 1 }",
        "",
        7,
        "traffic 't': it has one of transfers, long_lived, udp, interactive and requests",
    ),
    (
        "transfers = { count = 1, size = 1 }",
        "transfers = { count = 1, size = 1 }\nlong_lived = 1",
        7,
        "traffic 't': it has one of transfers, long_lived, udp, interactive and requests",
    ),
    ("transfers = { count = 1, size = 1 }", "long_lived = 1", 2, "nothing here ends on its own: set a time to stop"),
    ("transfers = { count = 1, size = 1 }", "long_lived = 0", 7, "traffic 't': count is at least 1"),
    (
        "transfers = { count = 1, size = 1 }",
        "long_lived = 10001",
        7,
        "traffic 't': long_lived is at most 10000, not 10001",
    ),
    ("count = 1", "count = 0", 7, "traffic 't': count is at least 1"),
    ("count = 1", "count = 10000001", 0, "there are 10000001 transfers: at most 10000000"),
    ("count = 1", "count = 1, load = 0.5, rate = \"3/s\"", 7, "traffic 't': transfers: load or rate, not both"),
    ("count = 1", "count = 1, rate = \"3Mbps\"", 7, "traffic 't': transfers: rate is a number per second"),
    ("count = 1", "count = 1, load = 0.0", 7, "traffic 't': a rate or a load is from 0.000001"),
    ("count = 1", "count = 1, load = inf", 7, "traffic 't': a rate or a load is from 0.000001"),
    ("count = 1", "count = 1, colour = 3", 11, "unknown field `colour`, expected one of `count`"),
    ("count = 1", "count = 1, unit = 0", 7, "traffic 't': a unit is at least a byte"),
    ("count = 1", "count = 1, unit = \"5GB\"", 7, "traffic 't': a unit is under 4 GiB"),
    ("size = 1", "size = 0", 7, "traffic 't': sizes are from 1 to"),
    ("size = 1", "size = \"2000GB\"", 7, "traffic 't': sizes are from 1 to"),
    ("size = 1", "size = { uniform = { min = 2, max = 1 } }", 7, "traffic 't': min (2) is over max (1)"),
    ("size = 1", "size = { cdf = { points = [[1, 0], [2, 1, 3]] } }", 11, "two are needed, not 3"),
    ("size = 1", "size = { cdf = { file = \"gone.csv\" } }", 7, "traffic 't': size: gone.csv: cannot be read"),
    ("transfers = { count = 1, size = 1 }", "udp = { bytes = 27, rate = \"3/s\" }", 7, "28 to 65535 bytes"),
    ("transfers = { count = 1, size = 1 }", "udp = { bytes = \"5GB\", rate = \"3/s\" }", 7, "28 to 65535 bytes"),
    ("transfers = { count = 1, size = 1 }", "udp = { bytes = 28, rate = \"0/s\" }", 11, "\"0/s\": "),
    ("transfers = { count = 1, size = 1 }", "udp = { bytes = 28, rate = \"900Tbps\" }", 7, "some time between them"),
    (
        "transfers = { count = 1, size = 1 }",
        "udp = { bytes = 28, rate = \"3/s\", on = \"1s\" }",
        7,
        "traffic 't': udp: on and off are given together",
    ),
    (
        "transfers = { count = 1, size = 1 }",
        "udp = { bytes = 28, rate = \"3/s\", on = 0, off = \"1s\" }",
        7,
        "on is over 0",
    ),
    ("transfers = { count = 1, size = 1 }", "udp = { bytes = 28 }", 11, "missing field `rate`"),
    (
        "transfers = { count = 1, size = 1 }",
        "interactive = { rate = \"5Mbps\", keystroke = 1, echo = 1 }",
        7,
        "traffic 't': interactive: rate is a number per second",
    ),
    (
        "transfers = { count = 1, size = 1 }",
        "interactive = { rate = \"5/s\", keystroke = 0, echo = 1 }",
        7,
        "keystrokes and echoes are from 1 to 65535 bytes",
    ),
    (
        "transfers = { count = 1, size = 1 }",
        "interactive = { rate = \"5/s\", keystroke = 1, echo = 65536 }",
        7,
        "keystrokes and echoes are from 1 to 65535 bytes",
    ),
    ("[network]", "[[network]]", 2, "network: write [network], with one bracket: it is one table"),
    ("[network]", "[[network]]\nstop = \"9s\"", 2, "network: write [network], with one bracket"),
    ("[[link]]", "[link]", 3, "link: write [[link]], with two brackets"),
    ("[[traffic]]", "[traffic]", 7, "traffic: write [[traffic]], with two brackets"),
    (
        "[[traffic]]",
        "[link]\nbetween = [\"a\", \"c\"]\nrate = \"1Mbps\"\n[[traffic]]",
        7,
        "there is a [link] before: for several, write [[link]] for each, with two brackets",
    ),
    ("transfers = { count = 1, size = 1 }", "transfers = [{ count = 1, size = 1 }]", 11, ONCE),
    (
        "transfers = { count = 1, size = 1 }",
        "[[traffic.udp]]\nbytes = 99\nrate = \"3/s\"",
        11,
        "write [traffic.udp], with one bracket",
    ),
    (
        "transfers = { count = 1, size = 1 }",
        "long_lived = 1\n[[link]]\nbetween = [\"x\", \"c\"]\nrate = \"1Mbps\"\n[[traffic]]\nname = \"far\"\nfrom = \"b\"\n\
            to = [\"a\", \"x\"]\ntransfers = { count = 1, size = 1 }",
        15,
        "traffic 'far': there is no path from 'b' to 'x': add a link",
    ),
];

#[test]
fn mistakes_are_named_with_their_place() {
    check_mistakes(MINIMAL, MISTAKES);
}

#[test]
fn a_network_has_its_limits() {
    let line = |hosts: usize| -> String {
        let names: Vec<String> = (0..hosts).map(|host| format!("\"h{host}\"")).collect();
        let more = format!("watched = true\n[[link]]\nbetween = [[{}], \"b\"]\nrate = \"1Mbps\"", names.join(", "));
        least("watched = true", &more)
    };
    assert_eq!(parse(&line(1022)).unwrap().nodes.len(), 1024);
    let error = parse(&line(1023)).unwrap_err();
    assert!(error.contains("there are 1025 nodes and 2048 directions of links: at most 1024 and 4096"), "{error}");
    let without = MINIMAL.split("[[traffic]]").next().unwrap();
    assert!(parse(without).unwrap_err().contains("missing field `traffic`"));
    let error = parse(&format!("traffic = []\n{without}")).unwrap_err();
    assert_eq!(error, "test.toml: there is no traffic");
    let error = parse("name = \"x\"\nlink = []\ntraffic = []\n[network]\n").unwrap_err();
    assert_eq!(error, "test.toml: one link is to have watched = true");
}

#[test]
fn networks_and_workloads_are_told_apart() {
    for name in ["drr-sff", "drr-sff-ftp", "drr-sff-flood"] {
        assert!(Network::is_described_by(&shipped(name)), "{name}");
    }
    assert!(Network::is_described_by("[network]\nnothing = \"that is known\"\n"), "it means to be one");
    for name in ["middlebox", "atfq-fig1", "cbcs"] {
        assert!(!Network::is_described_by(&shipped(name)), "{name}");
    }
    for text in ["", "name = \"network\"", "[networks]", "[network", "[link]\nnetwork = 1"] {
        assert!(!Network::is_described_by(text), "{text}");
    }
}

#[test]
fn the_shipped_ones_have_one_topology() {
    let [plain, ftp, flood] = ["drr-sff", "drr-sff-ftp", "drr-sff-flood"].map(|name| parse(&shipped(name)).unwrap());
    let topology = |network: &Network| {
        let Network { nodes, links, watched, transport, seed, .. } = network;
        format!("{nodes:?} {links:?} {watched} {transport:?} {seed}")
    };
    assert_eq!(topology(&plain), topology(&ftp));
    assert_eq!(topology(&plain), topology(&flood));
    // As printed in the paper: 3 Mbit/s and 30 ms between two routers, five hosts per side at 10 Mbit/s and 10 ms.
    assert_eq!((plain.nodes.len(), plain.links.len()), (12, 22));
    let narrow = &plain.links[plain.watched];
    assert_eq!((narrow.rate.bps(), narrow.delay, narrow.limits.packets), (3e6, Nanos::from_millis(30), Some(50)));
    let hosts = plain.links.iter().filter(|link| (link.rate.bps(), link.delay) == (1e7, Nanos::from_millis(10)));
    assert_eq!(hosts.count(), 20);
    assert_eq!(format!("{:?}", plain.traffic[0]), format!("{:?}", ftp.traffic[0]), "the same transfers");
    assert_eq!((plain.traffic.len(), ftp.traffic.len(), flood.traffic.len()), (1, 2, 3));
    assert_eq!((plain.transfers(), ftp.transfers(), flood.transfers()), (4000, 4000, 0));
}

#[test]
fn the_example_of_the_reference_is_one() {
    let example = example(include_str!("../../../../docs/networks.md"));
    let network = parse(example).unwrap();
    assert!(Network::is_described_by(example));
    assert_eq!((network.transfers(), network.traffic.len(), network.nodes.len()), (600, 3, 5));
}

#[test]
fn hostile_text_gets_an_answer() {
    let deep =
        ["[", "{a=", "{size={uniform={min="].map(|open| least("size = 1", &format!("size = {}", open.repeat(100_000))));
    let dotted = least("size = 1", &format!("size.{} = 1", vec!["a"; 100_000].join(".")));
    let numbers = ["99999999999999999999", "1e400", "-9223372036854775808", "0x7fffffffffffffff", "1e-400"];
    let numbers = numbers.map(|number| least("size = 1", &format!("size = {number}")));
    let long =
        ["s".repeat(1 << 20), "\\u0000".repeat(1000)].map(|name| least("\"t\"", &format!("\"{name}\"\ncolour = 1")));
    let clipped = least("from = \"a\"", &format!("from = \"{}\"", "n".repeat(1 << 20)));
    for text in deep.into_iter().chain([dotted]).chain(numbers).chain(long) {
        let _ = Network::is_described_by(&text);
        assert!(parse(&text).is_err(), "{text:.300}");
    }
    let error = parse(&clipped).unwrap_err();
    assert!(error.len() < 500, "a name of a megabyte is not said again: {} bytes", error.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A valid network with one of its values replaced.
    #[test]
    fn a_network_with_one_value_wrong(
        which in any::<prop::sample::Index>(),
        value in any_value(),
    ) {
        answer(&with_value(WHOLE, which, &value));
    }

    /// A valid network with a piece replaced.
    #[test]
    fn a_network_with_a_piece_exchanged(
        at in any::<prop::sample::Index>(),
        cut in 0usize..60,
        put in "(\\PC|\n){0,20}|\\[\\[link\\]\\]\n|[0-9]{1,20}",
    ) {
        answer(&with_piece(WHOLE, at, cut, &put));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        answer(&text);
    }
}
