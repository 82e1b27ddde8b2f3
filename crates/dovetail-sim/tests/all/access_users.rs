//! Users who speak TCP with the gateway, and connections to servers with or without reuse and TLS.

#![allow(clippy::unwrap_used)]

use dovetail_sched::Nanos;
use dovetail_sim::{
    blame::{ON_ITS_WAY, RequestBlame, SERVER, Selection, SlowPacket, USER_SIDE},
    network::{Exchange, Network, NetworkOptions, simulate_access},
};

use crate::described::{exchanged, parse};
use crate::watch::{Run, access, run_access};

/// One user, one server, and no other traffic: a byte takes a microsecond on every link.
const EMPTY: &str = r#"name = "empty"
seed = 3
[network]
stop = "200s"
[access]
gateway = "g"
probe = 0
[access.users]
USERS
[access.servers]
SERVERS
[[link]]
between = ["p", "g"]
rate = "8Mbps"
delay = "2ms"
watched = true
[[link]]
between = ["g", "u"]
rate = "8Mbps"
delay = "1ms"
[[link]]
between = ["s", "p"]
rate = "8Mbps"
delay = "5ms"
[[traffic]]
name = "t"
from = "s"
to = "u"
stop = "150s"
requests = { rate = "0.2/s", size = 1000 }
"#;

fn empty(users: &str, servers: &str) -> Network {
    parse(&EMPTY.replace("USERS", users).replace("SERVERS", servers)).unwrap()
}

/// The duration of every request, in microseconds, and the time since the end of the previous one.
fn took(run: &Run) -> Vec<(u64, Option<Nanos>)> {
    let mut last: Option<Nanos> = None;
    let of = |one: &Exchange| {
        let idle = last.map(|last| Nanos(one.wanted.0.checked_sub(last.0).expect("requests do not overlap")));
        last = one.ended;
        (one.took().unwrap().0 / 1000, idle)
    };
    access(run).exchanges.iter().map(of).collect()
}

// Lengths of packets in bytes, which are microseconds: the SYN's options are MSS, SACK and the window's scale.
const SYN: u64 = 20 + 20 + 12;
const ACK: u64 = 20 + 20;
const REQUEST: u64 = ACK + 330;
const RESPONSE: u64 = ACK + 330 + 1000;
// To the gateway, and from there to the server, over two links.
const LAN: u64 = 1000;
const WAN: u64 = 2000 + 5000;

/// SYN and SYN-ACK between user and gateway, and the acknowledgement that is sent before the request.
const LAN_HANDSHAKE: u64 = 2 * (SYN + LAN) + ACK;
/// SYN and SYN-ACK between gateway and server, and two acknowledgements that delay other packets: that of the handshake, and
/// that of the first segment, which a server sends at once and before its response. Later ones are piggybacked on responses.
const WAN_HANDSHAKE: u64 = 2 * (2 * SYN + WAN) + 2 * ACK;
/// The request and its response, both over the user's link and the two to the server.
const EXCHANGE: u64 = (REQUEST + LAN) + (2 * REQUEST + WAN) + (2 * RESPONSE + WAN) + (RESPONSE + LAN);
/// A ClientHello of 517 bytes, and an answer of 4,000 in three packets: the second waits for the first at the second link,
/// and the third for the second. The gateway acknowledges it at once, and what it sends next follows that.
const HELLO: u64 = ACK + 2 * (ACK + 517) + WAN + 3 * 1500 + (ACK + 4000 - 2 * 1460) + WAN;
/// TLS 1.2's second round trip.
const FINISHED: u64 = 2 * (ACK + 126) + WAN + 2 * (ACK + 51) + WAN;

#[test]
fn a_request_takes_its_round_trips_and_reuse_saves_the_handshakes() {
    let kept = Nanos::from_secs(3);
    let short = "idle = \"3s\"";
    for (users, servers, tls) in [
        ("", "", 0),
        ("reuse = false", "", 0),
        ("", "reuse = false", 0),
        ("reuse = false", "reuse = false", 0),
        (short, "", 0),
        ("", short, 0),
        ("", "tls_round_trips = 1", HELLO),
        ("reuse = false", "tls_round_trips = 2", HELLO + FINISHED),
        (short, "reuse = false\ntls_round_trips = 1", HELLO),
    ] {
        let run = run_access(&empty(users, servers), "none");
        let all = took(&run);
        assert!(all.len() > 20, "{}", all.len());
        let (mut redialled, mut users_dialled, mut dialled) = (0, 0, 0);
        for (at, &(took, idle)) in all.iter().enumerate() {
            let is_new = |how: &str| match idle {
                None => true,
                Some(idle) => how.contains("reuse = false") || (how.contains(short) && idle >= kept),
            };
            let (lan, wan) = (is_new(users), is_new(servers));
            let expected = EXCHANGE + if lan { LAN_HANDSHAKE } else { 0 } + if wan { WAN_HANDSHAKE + tls } else { 0 };
            assert_eq!(took, expected, "{users}, {servers}: request {at}, {idle:?} after the last");
            redialled += u64::from(idle.is_some_and(|idle| idle >= kept));
            users_dialled += u64::from(lan);
            dialled += u64::from(wan);
        }
        assert!(
            (1..all.len() as u64 - 1).contains(&redialled),
            "some requests come soon, and some do not: {redialled}"
        );
        assert_eq!((access(&run).users_dialled, access(&run).dialled), (users_dialled, dialled), "{users}, {servers}");
    }
}

/// What the first request waited for.
fn first(network: &Network, gateway: &str) -> (SlowPacket, u64) {
    let mut blame = RequestBlame::new(Selection::All, 100_000);
    let options = NetworkOptions { requests: Some(&mut blame), ..NetworkOptions::default() };
    let outcome = simulate_access(network, &gateway.parse().unwrap(), &mut (), options).unwrap();
    let took = outcome.access.unwrap().exchanges.iter().map(|one| one.took().map(|took| took.0)).collect::<Vec<_>>();
    let explanation = blame.finish();
    for told in &explanation.slowest {
        let sum = told.own[0].0 + told.same_flow.0 + told.causes.iter().map(|cause| cause.0).sum::<u64>();
        assert_eq!(Some(sum), took[told.packet as usize], "request {}", told.packet);
    }
    assert_eq!(explanation.slowest.len(), took.iter().flatten().count());
    let first = explanation.slowest.into_iter().find(|told| told.packet == 0);
    (first.unwrap(), took[0].unwrap())
}

#[test]
fn a_handshake_s_packets_are_the_request_s_own_and_its_rest_is_the_server_s() {
    let (without, _) = first(&empty("", ""), "none");
    let (with, _) = first(&empty("", "tls_round_trips = 1"), "none");
    let longer = |what: fn(&SlowPacket) -> Nanos| (what(&with) - what(&without)).0 / 1000;
    // Those 4,000 bytes are in packets of 1,500, 1,500 and 1,120.
    assert_eq!(longer(|told| told.own[0]), 4120);
    assert_eq!(longer(|told| told.causes[SERVER]), HELLO - 4120);
    assert_eq!(longer(|told| told.latency), HELLO);
    // Between user and gateway there are the handshake, the request and the response, and none of these is on its way.
    assert_eq!(without.causes[USER_SIDE].0 / 1000, LAN_HANDSHAKE + (REQUEST + LAN) + (RESPONSE + LAN));
    let over_packets = EMPTY.replace("[access.users]\nUSERS\n", "").replace("SERVERS", "");
    let (over_packets, _) = first(&parse(&over_packets).unwrap(), "none");
    assert_eq!(over_packets.causes[USER_SIDE], Nanos::ZERO);
    // There the request's packet has 330 bytes.
    let less = over_packets.causes[ON_ITS_WAY] - without.causes[ON_ITS_WAY];
    assert_eq!(less.0 / 1000, (330 + LAN) + (RESPONSE + LAN));
}

#[test]
fn a_slow_user_s_response_waits_on_the_users_side() {
    let network = slow_network("[access.users]\n");
    let (told, took) = first(&network, "none");
    // The watched link is ten times as fast, so a tenth is its own; after the last byte is read, a buffer is still on its
    // way.
    let side = told.causes[USER_SIDE].0 as f64 / took as f64;
    assert!((0.85..0.95).contains(&side), "{side}");
}

#[test]
fn parts_sum_to_the_latency_with_handshakes_and_slow_users() {
    for gateway in GATEWAYS {
        let asks = "each = 3, patience = \"4s\"";
        first(&bed(asks, "connections = 2\nbuffer = 4000", "idle = \"500ms\"\ntls_round_trips = 2"), gateway);
    }
}

/// One response of 2 MB over 10 Mbit/s, to a user whose own network carries 1 Mbit/s.
fn slow_network(users: &str) -> Network {
    let text = EMPTY.replacen("rate = \"8Mbps\"", "rate = \"10Mbps\"", 1);
    let text =
        text.replacen("rate = \"8Mbps\"", "rate = \"1Mbps\"", 1).replace("rate = \"8Mbps\"", "rate = \"100Mbps\"");
    let text = exchanged(&text, "rate = \"0.2/s\", size = 1000", "each = 1, size = \"2MB\"");
    let text = exchanged(&text, "stop = \"150s\"", "stop = \"1s\"");
    let text = exchanged(&text, "[access.servers]\nSERVERS\n", "");
    parse(&exchanged(&text, "[access.users]\nUSERS\n", users)).unwrap()
}

fn slow(users: &str) -> Run {
    run_access(&slow_network(users), "none")
}

/// The watched link's largest lead over the user at the end of any second, in bytes with headers.
fn lead(run: &Run) -> u64 {
    let of = &access(run).classes[0];
    let mut had = 0;
    let mut most = 0;
    for (at, bytes) in of.received_bytes.iter().enumerate() {
        had += bytes;
        let until = Nanos::from_secs((of.first_second + at + 1) as u64);
        let sent: u64 =
            run.watch.sent.iter().filter(|packet| packet.ends < until).map(|packet| u64::from(packet.bytes)).sum();
        most = most.max(sent.saturating_sub(had));
    }
    most
}

#[test]
fn what_the_gateway_holds_for_a_slow_user_is_bounded() {
    for (users, buffer) in [("[access.users]\n", 64_000), ("[access.users]\nbuffer = \"200kB\"\n", 200_000)] {
        let run = slow(users);
        let [one] = access(&run).exchanges[..] else { panic!("one request") };
        let seconds = one.took().unwrap().as_secs_f64();
        // 1,460 of 1,500 bytes are payload; the link is never idle.
        let least = 2e6 * 8.0 / 1e6 * 1500.0 / 1460.0;
        assert!((least..1.02 * least + 0.1).contains(&seconds), "{seconds} s for {least}");
        let most = access(&run).most_held_bytes;
        assert!((buffer - 2 * 1460..=buffer).contains(&most), "{most} of {buffer}");
        // The rest is held back by the window of the connection to the server: 256 KiB of payload, and some in flight.
        let lead = lead(&run);
        assert!(lead < (buffer + 262_144) * 1500 / 1460 + 60_000, "{lead}");
    }
    // Without TCP all of it is queued in the user's own network.
    let run = slow("");
    assert_eq!((access(&run).most_held_bytes, access(&run).users_dialled), (0, 0));
    assert!(lead(&run) > 1_500_000, "{}", lead(&run));
}

/// Two classes of two users over 2 Mbit/s, and users' own network that is not much wider.
const BED: &str = r#"name = "bed"
seed = 1
[network]
stop = "150s"
[access]
gateway = "g"
[access.users]
USERS
[access.servers]
SERVERS
[[link]]
between = ["p", "g"]
rate = "2Mbps"
delay = "1ms"
buffer_packets = 25
watched = true
[[link]]
between = ["g", "lan"]
rate = "6Mbps"
delay = "1ms"
buffer_packets = 12
[[link]]
between = ["lan", ["a1", "a2", "b1", "b2"]]
rate = "1Mbps"
delay = "2ms"
buffer_packets = 8
[[link]]
between = [["near1", "near2"], "p"]
rate = "100Mbps"
delay = "10ms"
[[link]]
between = ["far", "p"]
rate = "100Mbps"
delay = "100ms"
[[traffic]]
name = "a"
weight = 3
from = ["near1", "near2", "far"]
to = ["a1", "a2"]
stop = "20s"
requests = { ASKS, size = SIZE }
[[traffic]]
name = "b"
from = ["near1", "near2", "far"]
to = ["b1", "b2"]
stop = "20s"
requests = { ASKS, size = SIZE, upload = 2000 }
"#;
const SIZE: &str = "{ lognormal = { mu = 9.357, sigma = 1.318, min = 1, max = \"500kB\" } }";
const GATEWAYS: [&str; 6] = ["none", "msf-rs", "grants", "delay-pools", "drr", "ingress"];

fn bed(asks: &str, users: &str, servers: &str) -> Network {
    let text = BED.replace("ASKS", asks).replace("SIZE", SIZE);
    parse(&text.replace("USERS", users).replace("SERVERS", servers)).unwrap()
}

#[test]
fn every_byte_comes_once_through_buffers_that_drop_and_users_wait_for_connections() {
    for (asks, users, servers) in [
        ("load = 0.9", "", ""),
        ("each = 5", "connections = 2\nbuffer = 4000", "reuse = false\ntls_round_trips = 1"),
        ("each = 3, patience = \"3s\"", "connections = 2\nreuse = false", "idle = \"500ms\"\ntls_round_trips = 2"),
        ("each = 2, think = \"1s\", patience = \"2s\"", "connections = 1\nidle = \"300ms\"", ""),
    ] {
        let network = bed(asks, users, servers);
        for gateway in GATEWAYS {
            let at = format!("{gateway}, {asks}");
            let run = run_access(&network, gateway);
            let all = &access(&run).exchanges;
            assert!(all.len() > 40, "{at}: {}", all.len());
            assert_eq!((access(&run).open, access(&run).lost_among_users), (0, 0), "{at}");
            assert_eq!(all.iter().any(|one| one.cancelled.is_some()), asks.contains("patience"), "{at}");
            for class in [0, 1] {
                let of = |one: &&Exchange| one.traffic == class;
                let due = |one: &Exchange| 330 + one.bytes;
                let (ended, cancelled): (Vec<_>, Vec<_>) = all.iter().filter(of).partition(|one| one.ended.is_some());
                let had: u64 = access(&run).classes[class].received_bytes.iter().sum();
                let least: u64 = ended.into_iter().map(due).sum();
                let most = least + cancelled.into_iter().map(due).sum::<u64>();
                assert!((least..=most).contains(&had), "{at}: {had} of {least} to {most}");
            }
            let buffer = if users.contains("4000") { 4000 } else { 64_000 };
            assert!((1..=buffer).contains(&access(&run).most_held_bytes), "{at}: {}", access(&run).most_held_bytes);
            let again = run_access(&network, gateway);
            assert!(
                format!("{:?}", access(&run)) == format!("{:?}", access(&again)) && run.capture == again.capture,
                "{at}"
            );
        }
    }
}

#[test]
fn a_user_has_no_more_requests_at_the_gateway_than_connections() {
    let run = run_access(&bed("each = 6", "connections = 2", ""), "grants");
    for user in 0..4 {
        let own = access(&run).exchanges.iter().filter(|one| one.user == user);
        let times = own.flat_map(|one| [(one.arrived.unwrap(), 1), (one.ended.unwrap(), -1)]);
        let mut times: Vec<(Nanos, i32)> = times.collect();
        times.sort_unstable();
        let mut open = 0;
        let most = times.into_iter().map(|(_, change)| {
            open += change;
            open
        });
        assert_eq!(most.max(), Some(2), "user {user}");
    }
    // Two connections each suffice for all requests, since they are reused.
    assert_eq!(access(&run).users_dialled, 8);
}
