//! Scenario files with users behind a gateway: every key has its intended effect, every mistake is reported, and nothing
//! makes the reader fail.
#![allow(clippy::unwrap_used)]

use dovetail_sched::{Nanos, Weight, units::Rate};
use dovetail_sim::{
    network::{Access, AccessUplink, Asks, Kind, Network, Requests, ServerConnections, Traffic, UserConnections},
    workload::Size,
};
use proptest::prelude::*;

use crate::described::{
    Mistake, answer, any_value, check_mistakes, example, exchanged, parse, shipped, with_piece, with_value,
};

/// All keys of a gateway and its users; replaceable values are between signs.
const WHOLE: &str = r#"
name = "whole"
[network]
stop = @"90s"@
[access]
gateway = @"g"@
capacity = @"1.9Mbps"@
probe = @"50ms"@
request = @400@
header = @"1kB"@
tells_length = @false@
sees_end = @true@
warm_up = @"10s"@
uplink = @"512kbps"@
[access.users]
connections = @4@
reuse = @true@
idle = @"30s"@
buffer = @"32kB"@
[access.servers]
reuse = @false@
tls_round_trips = @2@
[[link]]
between = [@"p"@, @"g"@]
rate = @"2Mbps"@
rate_back = @"600kbps"@
buffer_packets_back = @64@
delay = "1ms"
watched = @true@
[[link]]
between = ["g", @["u1", "u2", "u3", "u4"]@]
rate = "100Mbps"
[[link]]
between = [["s1", "s2"], "p"]
rate = "100Mbps"
[[traffic]]
name = "loops"
weight = @2.5@
from = @["s1", "s2"]@
to = @["u1", "u2"]@
start = @"1s"@
stop = @"60s"@
requests = { each = @4@, think = @"5s"@, size = @"20kB"@, patience = @"30s"@, silent = @[["10s", "20s"], ["30s", "31s"]]@ }
[[traffic]]
name = "often"
from = "s1"
to = "u3"
requests = { rate = @"2/s"@, upload = @"30kB"@, class = @"loops"@, size = { cdf = { file = @"sizes.csv"@ } } }
[[traffic]]
name = "loaded"
from = "s2"
to = "u4"
requests = { load = @0.5@, size = @{ lognormal = { mu = 9.357, sigma = 1.318, min = 1, max = "2MB" } }@ }
[[traffic]]
name = "crossing"
from = "s1"
to = "g"
udp = { bytes = 1000, rate = "400kbps" }
"#;

#[test]
fn every_key_is_read_as_it_is_meant() {
    let network = parse(&WHOLE.replace('@', "")).unwrap();
    let [p, g, u1, u2, u3, u4, s1, s2] = [0, 1, 2, 3, 4, 5, 6, 7];
    let names: Vec<&str> = network.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["p", "g", "u1", "u2", "u3", "u4", "s1", "s2"]);
    let access = Access {
        gateway: g,
        provider: p,
        capacity_bytes_per_s: Some(237_500.0),
        probe: Some(Nanos::from_millis(50)),
        request_bytes: 400,
        header_bytes: 1000,
        tells_length: false,
        sees_end: true,
        warm_up: Nanos::from_secs(10),
        uplink: Some(AccessUplink { rate: Rate::from_bps(512e3).unwrap(), learns: true }),
        users: Some(UserConnections { most: 4, idle: Nanos::from_secs(30), buffer_bytes: 32_000 }),
        servers: ServerConnections { idle: Nanos::ZERO, tls_round_trips: 2 },
    };
    assert_eq!(network.access, Some(access));
    assert_eq!((network.links[network.watched].from, network.links[network.watched].to), (p, g));
    let (down, up) = (&network.links[network.watched], &network.links[network.watched + 1]);
    assert_eq!((down.rate.bps(), up.rate.bps()), (2e6, 600e3));
    assert_eq!((down.limits.packets, up.limits.packets), (Some(100_000), Some(64)));
    let Kind::Requests(Requests { size: table @ Size::Empirical(_), .. }) = &network.traffic[1].kind else {
        panic!("{:?}", network.traffic[1])
    };
    assert_eq!(table.mean(), 5.0, "a straight line from 1 to 9");
    let traffic = |name: &str, from: &[usize], to: &[usize], asks, size| Traffic {
        name: name.into(),
        weight: Weight::ONE,
        class: None,
        from: from.into(),
        to: to.into(),
        start: Nanos::ZERO,
        stop: Nanos::MAX,
        kind: Kind::Requests(Requests { asks, size, upload: None, patience: None, silent: Vec::new() }),
    };
    let seconds = |(from, to)| (Nanos::from_secs(from), Nanos::from_secs(to));
    let loops = Requests {
        asks: Asks::Kept { each: 4, think: Nanos::from_secs(5) },
        size: Size::Fixed(20_000),
        upload: None,
        patience: Some(Nanos::from_secs(30)),
        silent: [(10, 20), (30, 31)].map(seconds).into(),
    };
    let lognormal = Size::LogNormal { mu: 9.357, sigma: 1.318, min: 1.0, max: 2e6 };
    let often = Requests {
        asks: Asks::PerSecond(2.0),
        size: table.clone(),
        upload: Some(Size::Fixed(30_000)),
        patience: None,
        silent: Vec::new(),
    };
    let meant = [
        Traffic {
            weight: Weight::new(2.5).unwrap(),
            start: Nanos::from_secs(1),
            stop: Nanos::from_secs(60),
            kind: Kind::Requests(loops),
            ..traffic("loops", &[s1, s2], &[u1, u2], Asks::Load(1.0), Size::Fixed(1))
        },
        Traffic {
            weight: Weight::new(2.5).unwrap(),
            class: Some(0),
            kind: Kind::Requests(often),
            ..traffic("often", &[s1], &[u3], Asks::Load(1.0), Size::Fixed(1))
        },
        traffic("loaded", &[s2], &[u4], Asks::Load(0.5), lognormal),
    ];
    assert_eq!(format!("{:#?}", &network.traffic[..3]), format!("{meant:#?}"));
    assert!(matches!(network.traffic[3].kind, Kind::Datagrams(_)));
    assert_eq!((network.transfers(), network.is_endless()), (0, true));
}

/// The smallest network with a gateway; one key per line, so that the line of an error can be checked.
const MINIMAL: &str = r#"name = "least"
[network]
stop = "9s"
[access]
gateway = "g"
[[link]]
between = ["p", "g"]
rate = "1Mbps"
watched = true
[[link]]
between = ["g", ["u", "v"]]
rate = "9Mbps"
[[link]]
between = ["s", "p"]
rate = "8Mbps"
[[traffic]]
name = "t"
from = "s"
to = "u"
requests = { each = 1, size = 1 }
"#;

fn least(old: &str, new: &str) -> String {
    exchanged(MINIMAL, old, new)
}

#[test]
fn what_is_not_said_is_the_default() {
    let network = parse(MINIMAL).unwrap();
    let access = Access {
        gateway: 1,
        provider: 0,
        capacity_bytes_per_s: None,
        probe: Some(Nanos::from_millis(100)),
        request_bytes: 330,
        header_bytes: 330,
        tells_length: true,
        sees_end: false,
        warm_up: Nanos::ZERO,
        uplink: None,
        users: None,
        servers: ServerConnections { idle: Nanos::MAX, tls_round_trips: 0 },
    };
    assert_eq!(network.access, Some(access));
    // A packet of 1500 bytes has 40 of headers.
    assert_eq!(network.goodput_bytes_per_s(), 125_000.0 * 1460.0 / 1500.0);
    let Kind::Requests(requests) = &network.traffic[0].kind else { panic!("{:?}", network.traffic) };
    assert_eq!(requests.asks, Asks::Kept { each: 1, think: Nanos::ZERO });
    assert_eq!((requests.patience, requests.silent.len()), (None, 0));
    let of = |new: &str| parse(&least("gateway = \"g\"", &format!("gateway = \"g\"\n{new}"))).unwrap().access.unwrap();
    assert_eq!(of("probe = 0").probe, None);
    let learns = |new: &str| of(&format!("uplink = \"1Mbps\"\n{new}")).uplink.map(|uplink| uplink.learns);
    assert_eq!((learns(""), learns("uplink_learn = false")), (Some(true), Some(false)));
    assert_eq!(of("header = 0").header_bytes, 0);
    let users = |keys: &str| of(&format!("users = {{ {keys} }}")).users.unwrap();
    let kept = UserConnections { most: 6, idle: Nanos::from_secs(120), buffer_bytes: 64_000 };
    assert_eq!(users(""), kept);
    assert_eq!(users("reuse = false"), UserConnections { idle: Nanos::ZERO, ..kept });
    assert_eq!(users("idle = 0"), UserConnections { idle: Nanos::ZERO, ..kept });
    let servers = |keys: &str| of(&format!("servers = {{ {keys} }}")).servers;
    assert_eq!(servers(""), ServerConnections::default());
    assert_eq!(servers("idle = \"5s\"").idle, Nanos::from_secs(5));
    assert_eq!((of("request = 1").request_bytes, of("request = 1500").request_bytes), (1, 1500));
}

const REQUESTS: &str = "requests = { each = 1, size = 1 }";

const MISTAKES: &[Mistake] = &[
    ("gateway = \"g\"", "", 4, "missing field `gateway`"),
    ("gateway = \"g\"", "gateway = 3", 5, "invalid type: integer `3`, expected a string"),
    ("gateway = \"g\"", "gateway = \"nobody\"", 4, "access: no link names a node 'nobody'"),
    ("gateway = \"g\"", "gateway = \"p\"", 4, "access: the watched link is to be written from the provider to 'p'"),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\ncolour = 3",
        6,
        "unknown field `colour`, expected one of `gateway`, `capacity`",
    ),
    ("gateway = \"g\"", "gateway = \"g\"\ncapacity = \"0bps\"", 6, "\"0bps\": "),
    ("gateway = \"g\"", "gateway = \"g\"\ncapacity = \"7bps\"", 4, "a capacity is from 8 bit/s to 8 Tbit/s"),
    ("gateway = \"g\"", "gateway = \"g\"\ncapacity = \"8001Gbps\"", 4, "a capacity is from 8 bit/s to 8 Tbit/s"),
    ("gateway = \"g\"", "gateway = \"g\"\nuplink = 512", 6, "512 is not a rate such as"),
    ("gateway = \"g\"", "gateway = \"g\"\nuplink = \"7bps\"", 4, "an uplink is from 8 bit/s to 8 Tbit/s"),
    ("gateway = \"g\"", "gateway = \"g\"\nuplink = \"8001Gbps\"", 4, "an uplink is from 8 bit/s to 8 Tbit/s"),
    ("gateway = \"g\"", "gateway = \"g\"\nprobe = 5", 6, "5 is not a time such as"),
    ("gateway = \"g\"", "gateway = \"g\"\nprobe = \"-1s\"", 6, "\"-1s\": "),
    ("gateway = \"g\"", "gateway = \"g\"\nprobe = \"9ms\"", 4, "probes are 10 ms apart at least"),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nwarm_up = \"1000000s\"",
        4,
        "warm_up leaves a second at least before users stop",
    ),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nrequest = 0",
        4,
        "a request is at least a byte and fits a packet, and a header is up to 1 MiB long",
    ),
    ("gateway = \"g\"", "gateway = \"g\"\nrequest = 1501", 4, "a request is at least a byte and fits a packet"),
    ("gateway = \"g\"", "gateway = \"g\"\nrequest = \"5GB\"", 4, "a request is at least a byte and fits a packet"),
    ("gateway = \"g\"", "gateway = \"g\"\nheader = 1048577", 4, "a request is at least a byte and fits a packet"),
    ("gateway = \"g\"", "gateway = \"g\"\ntells_length = \"no\"", 6, "expected a boolean"),
    ("gateway = \"g\"", "gateway = \"g\"\nsees_end = 1", 6, "expected a boolean"),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nusers = { connections = 0 }",
        4,
        "a user has from 1 to 1000 connections to the gateway",
    ),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nusers = { connections = 1001 }",
        4,
        "a user has from 1 to 1000 connections to the gateway",
    ),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nusers = { buffer = 1499 }",
        4,
        "the buffer for a user's connection is from the largest packet to 16 MiB",
    ),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nusers = { buffer = \"17MB\" }",
        4,
        "the buffer for a user's connection is from the largest packet to 16 MiB",
    ),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nusers = { reuse = false, idle = \"5s\" }",
        4,
        "access: users: idle is of connections that are used again: leave it out, or reuse",
    ),
    (
        "gateway = \"g\"",
        "gateway = \"g\"\nservers = { reuse = false, idle = \"5s\" }",
        4,
        "access: servers: idle is of connections that are used again: leave it out, or reuse",
    ),
    ("gateway = \"g\"", "gateway = \"g\"\nservers = { tls_round_trips = 3 }", 4, "tls_round_trips is 0, 1 or 2"),
    ("gateway = \"g\"", "gateway = \"g\"\nservers = { tls = 1 }", 6, "unknown field `tls`"),
    ("gateway = \"g\"", "gateway = \"g\"\nwarm_up = 3", 6, "3 is not a time such as"),
    ("[access]\ngateway = \"g\"\n", "", 0, "requests need a gateway: add [access]"),
    (REQUESTS, "udp = { bytes = 99, rate = \"3/s\" }", 4, "there is a gateway, but no traffic has requests"),
    ("stop = \"9s\"\n", "", 2, "nothing here ends on its own: set a time to stop"),
    ("from = \"s\"", "from = [\"s\", \"g\"]", 16, "traffic 't': the gateway is no server"),
    ("to = \"u\"", "to = [\"u\", \"g\"]", 16, "traffic 't': the gateway is no user"),
    ("[\"s\", \"p\"]", "[\"s\", \"x\"]", 16, "traffic 't': there is no path from 'g' to 's': add a link"),
    (
        "[\"g\", [\"u\", \"v\"]]",
        "[\"x\", [\"u\", \"v\"]]",
        16,
        "traffic 't': there is no path from 'g' to 'u': add a link",
    ),
    ("[access]", "[[access]]", 4, "access: write [access], with one bracket: it is one table"),
    ("to = \"u\"", "to = [\"u\", \"u\"]", 16, "traffic 't': 'u' is named twice: every user is of one class"),
    (
        REQUESTS,
        "requests = { each = 1, size = 1 }\n[[traffic]]\nname = \"x\"\nfrom = \"s\"\nto = \"u\"\nrequests = { each = 1, size = 1 }",
        21,
        "traffic 'x': 'u' is named twice: every user is of one class",
    ),
    ("to = \"u\"", "to = \"nobody\"", 16, "traffic 't': no link names a node 'nobody'"),
    ("to = \"u\"", "to = \"s\"", 16, "traffic 't': a node cannot send to itself"),
    (REQUESTS, "requests = { size = 1 }", 16, "traffic 't': requests: one of each, rate and load"),
    (
        REQUESTS,
        "requests = { each = 1, load = 0.5, size = 1 }",
        16,
        "traffic 't': requests: one of each, rate and load",
    ),
    (REQUESTS, "requests = { each = 1, rate = \"1/s\", size = 1 }", 16, "requests: one of each, rate and load"),
    (REQUESTS, "requests = { load = 1.0, rate = \"1/s\", size = 1 }", 16, "requests: one of each, rate and load"),
    (
        REQUESTS,
        "requests = { load = 1.0, think = \"1s\", size = 1 }",
        16,
        "requests: think needs a number of requests to keep: add each",
    ),
    (
        REQUESTS,
        "requests = { rate = \"1/s\", think = 0, size = 1 }",
        16,
        "requests: think needs a number of requests to keep: add each",
    ),
    (
        REQUESTS,
        "requests = { rate = \"1Mbps\", size = 1 }",
        16,
        "requests: rate is a number per second, such as \"2/s\"",
    ),
    (REQUESTS, "requests = { rate = \"0/s\", size = 1 }", 20, "\"0/s\": "),
    (REQUESTS, "requests = { rate = \"1000001/s\", size = 1 }", 16, "a rate or a load is from 0.000001 to 1000000"),
    (REQUESTS, "requests = { load = 0.0, size = 1 }", 16, "traffic 't': a rate or a load is from 0.000001 to 1000000"),
    (REQUESTS, "requests = { load = inf, size = 1 }", 16, "a rate or a load is from 0.000001 to 1000000"),
    (REQUESTS, "requests = { load = nan, size = 1 }", 16, "a rate or a load is from 0.000001 to 1000000"),
    (REQUESTS, "requests = { each = 0, size = 1 }", 16, "traffic 't': a user keeps from 1 to 10000 requests, not 0"),
    (REQUESTS, "requests = { each = 10001, size = 1 }", 16, "a user keeps from 1 to 10000 requests, not 10001"),
    (REQUESTS, "requests = { each = -1, size = 1 }", 20, "invalid value: integer `-1`"),
    (REQUESTS, "requests = { each = 1, size = 1, patience = 0 }", 16, "traffic 't': patience is longer than nothing"),
    (REQUESTS, "requests = { each = 1, size = 1, patience = 3 }", 20, "3 is not a time such as"),
    (
        REQUESTS,
        "requests = { each = 1, size = 1, silent = [[\"1s\", \"2s\"], [\"4s\", \"3s\"]] }",
        16,
        "traffic 't': a silence begins before it ends",
    ),
    (REQUESTS, "requests = { each = 1, size = 1, silent = [[\"1s\", \"1s\"]] }", 16, "a silence begins before it ends"),
    (REQUESTS, "requests = { each = 1, size = 1, silent = [[\"1s\"]] }", 20, "two are needed, not 1"),
    (REQUESTS, "requests = { each = 1, size = 1, silent = [[\"1s\", \"2s\", \"3s\"]] }", 20, "two are needed, not 3"),
    (REQUESTS, "requests = { each = 1, size = 1, silent = \"1s\" }", 20, "expected an array"),
    (
        REQUESTS,
        "requests = { each = 1, size = 1, colour = 3 }",
        20,
        "unknown field `colour`, expected one of `size`, `upload`, `class`",
    ),
    (REQUESTS, "requests = { each = 1 }", 20, "missing field `size`"),
    (REQUESTS, "requests = { each = 1, size = 0 }", 16, "traffic 't': sizes are from 1 to"),
    (REQUESTS, "requests = { each = 1, size = 1, class = \"x\" }", 16, "traffic 't': no traffic is called 'x'"),
    (
        REQUESTS,
        "requests = { each = 1, size = 1, class = \"t\" }\nweight = 2",
        16,
        "traffic 't': its weight is that of its class: leave it out",
    ),
    (
        REQUESTS,
        "requests = { each = 1, size = 1, class = \"x\" }\n[[traffic]]\nname = \"x\"\nfrom = \"s\"\nto = \"v\"\nudp = { bytes = 99, rate = \"3/s\" }",
        16,
        "traffic 't': a class of users is another traffic with requests",
    ),
    (
        REQUESTS,
        "requests = { each = 1, size = 1, class = \"x\" }\n[[traffic]]\nname = \"x\"\nfrom = \"s\"\nto = \"v\"\nrequests = { each = 1, size = 1, class = \"t\" }",
        16,
        "traffic 't': a class of users is another traffic with requests, which names no class itself",
    ),
    (REQUESTS, "requests = { each = 1, size = 1, upload = 0 }", 16, "traffic 't': upload: sizes are from 1 to"),
    (REQUESTS, "requests = { each = 1, size = 1, upload = \"2000GB\" }", 16, "upload: sizes are from 1 to"),
    (
        REQUESTS,
        "requests = { each = 1, size = 1, upload = { cdf = { file = \"gone.csv\" } } }",
        16,
        "upload: gone.csv: cannot be read",
    ),
    (REQUESTS, "requests = { each = 1, size = \"2000GB\" }", 16, "traffic 't': sizes are from 1 to"),
    (
        REQUESTS,
        "requests = { each = 1, size = { cdf = { file = \"gone.csv\" } } }",
        16,
        "size: gone.csv: cannot be read",
    ),
    (
        REQUESTS,
        "requests = { each = 1, size = 1 }\nlong_lived = 1",
        16,
        "traffic 't': it has one of transfers, long_lived, udp, interactive and requests",
    ),
];

#[test]
fn mistakes_are_named_with_their_place() {
    check_mistakes(MINIMAL, MISTAKES);
}

#[test]
fn the_shipped_ones_are_three_classes_of_four_users_with_weights_4_2_1() {
    for name in ["access", "msfrs"] {
        let network = parse(&shipped(name)).unwrap();
        let classes: Vec<(f64, usize)> =
            network.traffic.iter().map(|class| (class.weight.as_f64(), class.to.len())).collect();
        assert_eq!(classes, [(4.0, 4), (2.0, 4), (1.0, 4)], "{name}");
        let narrow = &network.links[network.watched];
        assert_eq!((narrow.rate.bps(), narrow.delay), (2e6, Nanos::from_millis(1)), "{name}");
        // Round trips to servers are from 10 to 40 ms and from 100 to 250 ms.
        for class in &network.traffic {
            let mut delays: Vec<u64> = class.from.iter().map(|&server| to_provider(&network, server)).collect();
            delays.sort_unstable();
            assert_eq!(delays, [5, 5, 10, 10, 20, 20, 50, 50, 90, 90, 125, 125], "{name}");
        }
    }
}

/// Delay from a server to the provider, in milliseconds.
fn to_provider(network: &Network, server: usize) -> u64 {
    let provider = network.access.as_ref().unwrap().provider;
    let link = network.links.iter().find(|link| (link.from, link.to) == (server, provider));
    link.unwrap().delay.0 / 1_000_000
}

#[test]
fn the_example_of_the_reference_is_one() {
    let example = example(include_str!("../../../../docs/access.md"));
    let network = parse(example).unwrap();
    assert!(Network::is_described_by(example) && network.access.is_some());
    assert_eq!((network.traffic.len(), network.nodes.len()), (3, 8));
}

#[test]
fn hostile_text_gets_an_answer() {
    let deep = ["[", "{a=", "[[\"1s\","].map(|open| {
        least(REQUESTS, &format!("requests = {{ each = 1, size = 1, silent = {} }}", open.repeat(100_000)))
    });
    let dotted = least("gateway = \"g\"", &format!("gateway.{} = 1", vec!["a"; 100_000].join(".")));
    let numbers = ["99999999999999999999", "1e400", "-9223372036854775808", "0x7fffffffffffffff", "1e-400"];
    let numbers = numbers.map(|number| least(REQUESTS, &format!("requests = {{ each = {number}, size = 1 }}")));
    for text in deep.into_iter().chain([dotted]).chain(numbers) {
        assert!(parse(&text).is_err(), "{text:.300}");
    }
    let error = parse(&least("gateway = \"g\"", &format!("gateway = \"{}\"", "n".repeat(1 << 20)))).unwrap_err();
    assert!(error.len() < 500, "a name of a megabyte is not said again: {} bytes", error.len());
    let many = vec!["[\"1s\", \"2s\"]"; 100_000].join(", ");
    let many = least(REQUESTS, &format!("requests = {{ each = 1, size = 1, silent = [{many}] }}"));
    answer(&many);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A valid network with one of its values replaced.
    #[test]
    fn a_gateway_with_one_value_wrong(which in any::<prop::sample::Index>(), value in any_value()) {
        answer(&with_value(WHOLE, which, &value));
    }

    /// A valid network with a piece replaced.
    #[test]
    fn a_gateway_with_a_piece_exchanged(
        at in any::<prop::sample::Index>(),
        cut in 0usize..60,
        put in "(\\PC|\n){0,20}|\\[access\\]\n|requests = \\{\\}\n|[0-9]{1,20}",
    ) {
        answer(&with_piece(WHOLE, at, cut, &put));
    }
}

#[test]
fn the_shipped_one_with_far_servers_has_a_narrow_uplink_and_uploads() {
    let network = parse(&shipped("access-far")).unwrap();
    let (down, up) = (&network.links[network.watched], &network.links[network.watched + 1]);
    assert_eq!((down.rate.bps(), up.rate.bps()), (4e6, 512e3));
    // Round trips, with the narrow link's 10 ms.
    let mut away: Vec<u64> =
        network.traffic.iter().map(|class| 2 * (to_provider(&network, class.from[0]) + 10)).collect();
    away.sort_unstable();
    assert_eq!(away, [160, 160, 600]);
    let uploads = |traffic: &Traffic| matches!(&traffic.kind, Kind::Requests(Requests { upload: Some(_), .. }));
    assert_eq!(network.traffic.iter().filter(|traffic| uploads(traffic)).count(), 1);
}
