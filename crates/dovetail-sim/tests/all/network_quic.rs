//! Hosts that run QUIC: what their connections carry, how fast, and that runs are reproducible.

#![allow(clippy::unwrap_used)]

use dovetail_sched::{Nanos, units::Rate};
use dovetail_sim::{
    blame::{Selection, TransferBlame},
    measure::{DEFAULT_WINDOW, Meters},
    network::{Network, NetworkError, NetworkOptions, Protocol, simulate_network},
};
use proptest::prelude::*;

use crate::recorded::records;
use crate::watch::{Run, check_books, lines, run};

/// A sender and a receiver, 10 Mbit/s and 20 ms each way, with this traffic and this queue length.
fn path(transport: &str, buffer: u32, traffic: &str) -> Result<Network, String> {
    let text = format!(
        r#"
        name = "path"
        seed = 7
        [network]
        stop = "30s"
        {transport}
        [[link]]
        between = ["s", "c"]
        rate = "10Mbps"
        delay = "20ms"
        buffer_packets = {buffer}
        watched = true
        [[traffic]]
        name = "flows"
        from = ["s"]
        to = ["c"]
        {traffic}
        "#
    );
    Network::parse(&text, "path.toml", &mut |name: &str| panic!("it names {name}")).map_err(|error| error.to_string())
}

fn quic(buffer: u32, traffic: &str) -> Network {
    path(r#"transport = "quic""#, buffer, traffic).unwrap()
}

fn refused(transport: &str, traffic: &str) -> String {
    path(transport, 33, traffic).expect_err("it cannot be run")
}

#[test]
fn a_scenario_names_it_and_what_it_cannot_do_is_refused() {
    let long = "long_lived = 1";
    let network = path(r#"transport = "quic:congestion=reno""#, 33, long).unwrap();
    assert_eq!((network.transport.protocol, network.transport), (Protocol::Quic, quic(33, long).transport));
    for (transport, traffic, words) in [
        (r#"transport = "quic:congestion=cubic""#, long, "QUIC here has congestion = reno alone"),
        ("transport = \"quic\"\ncongestion = \"bbr\"", long, "QUIC here has congestion = reno alone"),
        (r#"transport = "quic:ecn=on""#, long, "'ecn' is no knob of quic: it has congestion"),
        ("transport = \"quic\"\ndelayed_ack = \"10ms\"", long, "delayed_ack is TCP's"),
        ("transport = \"quic\"\nmtu = 1040", long, "from 1228 to 9000 bytes, not 1040"),
        ("transport = \"quic\"\nmtu = 65535", long, "from 1228 to 9000 bytes, not 65535"),
        (
            r#"transport = "quic""#,
            r#"interactive = { rate = "5/s", keystroke = 1, echo = 1 }"#,
            "interactive sessions are over TCP",
        ),
    ] {
        let error = refused(transport, traffic);
        assert!(error.contains(words), "'{error}' does not say '{words}'");
    }
}

#[test]
fn users_behind_a_gateway_are_refused() {
    let text = include_str!("../../../../scenarios/access.toml");
    let text = text.replacen("[network]", "[network]\ntransport = \"quic\"", 1);
    let error = Network::parse(&text, "gateway.toml", &mut |name: &str| panic!("it names {name}")).unwrap_err();
    assert!(error.to_string().contains("a gateway relays TCP"), "{error}");
}

#[test]
fn what_it_waits_for_is_not_guessed() {
    let network = quic(33, "transfers = { count = 3, size = 100000 }");
    let mut blame = TransferBlame::new(Selection::default(), 1);
    let options = NetworkOptions { blame: Some(&mut blame), ..NetworkOptions::default() };
    let error = simulate_network(&network, &"fifo".parse().unwrap(), &mut (), options).unwrap_err();
    assert!(matches!(&error, NetworkError::Network(why) if why.contains("TCP's sequence numbers")), "{error}");
}

/// The opener's ClientHello fills a datagram, and the listener's two flights of TLS arrive, the second after the first. The
/// opener acknowledges the first at once in another full datagram, which is still on the link when the second has arrived.
/// Then it sends its Finished and 1,000 bytes in one packet. This takes three times 20 ms, and the transmission times of
/// those packets that wait for each other.
#[test]
fn a_transfer_over_an_empty_network_takes_its_round_trips_and_its_bits() {
    let there = quic(33, "transfers = { count = 1, size = 1000 }");
    let back = Network { watched: 1, ..there.clone() };
    let [there, back] = [there, back].map(|network| run(&network, "fifo"));
    let bytes = |run: &Run| run.watch.sent.iter().map(|sent| sent.bytes).collect::<Vec<_>>();
    let ([hello, first_ack, data], [first, second]) =
        (bytes(&there)[..].try_into().unwrap(), bytes(&back)[..].try_into().unwrap());
    let [hello, first_ack, data, first, second]: [u32; 5] = [hello, first_ack, data, first, second];
    assert_eq!([hello, first, first_ack], [1500; 3]);
    // TLS's 2,590 bytes in two datagrams, and 1,000 bytes and a Finished in one: with headers, tags and four more connection
    // ids each, of 28 bytes.
    assert!((2590 + 112..2900).contains(&(first + second - 2 * 28)) && (1036 + 112..1250).contains(&(data - 28)));
    // 10 Mbit/s take 0.8 us for a byte.
    let on_link = |bytes: u32| Nanos(800 * u64::from(bytes));
    let delay = Nanos::from_millis(20);
    let first_came = on_link(hello) + delay + on_link(first) + delay;
    assert!(
        first_came + on_link(second) < first_came + on_link(first_ack),
        "it waits for the link, not for the handshake"
    );
    let took = first_came + on_link(first_ack) + on_link(data) + delay;
    println!("1,000 bytes over an empty path: {took}");
    assert_eq!(there.outcome.transfers[0].took(), Some(took));
    assert_eq!(back.outcome.transfers[0].took(), Some(took));
}

/// A transfer without losses sends what a load assumes, except for the handshake: two full packets before the data, and the
/// one after it, if any.
#[test]
fn a_load_counts_the_packets_that_are_sent() {
    let network = quic(1000, "transfers = { count = 1, size = 1000000 }");
    let run = run(&network, "fifo");
    assert_eq!(run.outcome.link.dropped, 0);
    let sent: u32 = run.watch.sent.iter().map(|sent| sent.bytes).sum();
    let counted = network.transport.wire_bytes(1_000_000);
    println!("1 MB: {sent} bytes sent, {counted} counted");
    assert!((counted - 1_500..counted + 7_000).contains(&u64::from(sent)));
}

/// Both fill the link, since the queue is as long as the bandwidth-delay product: the remaining difference is the payload of
/// a packet, 1,440 bytes against TCP's 1,460, and the effect of losses.
#[test]
fn long_flows_get_what_tcp_gets() {
    let goodput = |network: &Network| {
        let outcome = run(network, "fifo").outcome;
        (outcome.streams.iter().map(|stream| stream.mean_bps(5, 30)).sum::<f64>() / 1e6, outcome.link.dropped)
    };
    for flows in [1, 4] {
        let traffic = format!("long_lived = {flows}");
        let (over_quic, lost) = goodput(&quic(33, &traffic));
        let (over_tcp, dropped) = goodput(&path(r#"congestion = "reno""#, 33, &traffic).unwrap());
        println!("{flows} flows: QUIC {over_quic:.3} Mbit/s, {lost} drops; TCP {over_tcp:.3} Mbit/s, {dropped} drops");
        let ratio = over_quic / over_tcp / (1440.0 / 1460.0);
        assert!((0.99..1.01).contains(&ratio), "{flows} flows: {ratio}");
        assert!(lost > 0 && lost.abs_diff(dropped) < dropped / 4, "{flows} flows: {lost} and {dropped} drops");
    }
}

#[test]
fn a_flow_that_stops_sends_nothing_more() {
    let outcome = run(&quic(33, "long_lived = 2\nstop = \"5s\""), "fifo").outcome;
    for stream in &outcome.streams {
        let (until, after) = stream.received_bytes.split_at(6);
        assert!(until[4] > 100_000 && after.iter().sum::<u64>() == 0, "{:?}", stream.received_bytes);
    }
    assert_eq!(outcome.link.left, 0);
}

/// More connections than may be open at once begin and end.
#[test]
fn connections_that_are_over_make_room() {
    let mut network = quic(1000, "transfers = { count = 17000, size = 1, rate = \"2000/s\" }");
    network.stop_at = None;
    for link in &mut network.links {
        link.rate = Rate::from_bps(1e9).unwrap();
    }
    let outcome = run(&network, "fifo").outcome;
    assert!(outcome.transfers.iter().all(|transfer| transfer.ended.is_some()));
}

/// The purpose of the policy, over another protocol.
#[test]
fn short_transfers_gain_from_a_policy() {
    let traffic = "size = { pareto = { shape = 0.9252, min = 1, max = 10000 } }, unit = 1000, load = 0.8";
    let network = quic(50, &format!("transfers = {{ count = 1000, {traffic} }}"));
    let network = Network { stop_at: None, ..network };
    let mean_ms = |policy: &str| {
        let outcome = run(&network, policy).outcome;
        let short = outcome.transfers.iter().filter(|transfer| transfer.bytes < 20_000);
        let took: Vec<_> = short.map(|transfer| transfer.took().unwrap().as_secs_f64() * 1e3).collect();
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        println!("{policy}: {} short transfers of {}, {mean:.1} ms on average", took.len(), outcome.transfers.len());
        mean
    };
    let [fifo, drr, sff] = ["fifo", "drr", "drr-sff"].map(mean_ms);
    assert!(sff < drr && drr < fifo && sff < 0.6 * fifo);
}

/// Transfers that keep the queue full at times.
fn crowded(seed: u64) -> Network {
    let traffic = "transfers = { count = 60, size = { uniform = { min = 1, max = 200000 } }, load = 0.9 }";
    Network { seed, stop_at: None, ..quic(15, traffic) }
}

fn digest(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[test]
fn equal_seeds_give_equal_runs_and_others_others() {
    let [first, again, other] = [1, 1, 2].map(|seed| run(&crowded(seed), "drr"));
    assert!(first.outcome.link.dropped > 0);
    assert!(first.capture == again.capture && lines(&first.outcome) == lines(&again.outcome));
    assert_eq!((&first.watch.sent, &first.watch.dropped), (&again.watch.sent, &again.watch.dropped));
    assert!(first.capture != other.capture && lines(&first.outcome) != lines(&other.outcome));
}

/// Pins a run, to verify that floats are the same on every machine. Another `quinn-proto` or `rand` may change it.
#[test]
fn golden() {
    let run = run(&crowded(1), "drr");
    assert_eq!([digest(lines(&run.outcome).as_bytes()), digest(&run.capture)], [3_780_864_153, 2_601_853_945]);
}

/// The internet checksum of words (RFC 1071): 0xffff over data with a correct checksum.
fn sum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u64 = words.map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum();
    let fold = |sum: u64| (sum & 0xffff) + (sum >> 16);
    fold(fold(fold(sum))) as u16
}

#[test]
fn a_capture_has_whole_packets_of_quic() {
    let run = run(&crowded(1), "drr");
    let records = records(&run.capture);
    assert_eq!(records.len(), run.watch.sent.len());
    let (mut long, mut short) = (0, 0);
    for ((nanos, bytes), sent) in records.iter().zip(&run.watch.sent) {
        assert_eq!((*nanos, bytes.len() as u64), (sent.begun.0, u64::from(sent.bytes)));
        let (ip, udp) = bytes.split_at(20);
        // IPv4, UDP, not ECN-capable; to port 443.
        assert_eq!((ip[0], ip[1], ip[9], &udp[2..4]), (0x45, 0, 17, &[1, 187][..]));
        assert_eq!(sum(&[ip]), 0xffff);
        let length = (udp.len() as u16).to_be_bytes();
        assert_eq!(udp[4..6], length);
        assert_eq!(sum(&[&ip[12..20], &[0, 17], &length, udp]), 0xffff);
        // RFC 9000, section 17: a long header contains its version, both kinds have the fixed bit.
        match udp[8] >> 6 {
            0b11 => {
                assert_eq!(udp[9..13], [0, 0, 0, 1]);
                long += 1;
            }
            0b01 => short += 1,
            other => panic!("{other}"),
        }
    }
    assert!(long >= 120 && short > 1000, "{long} {short}");
}

/// Handshakes that lose several packets.
#[test]
fn connections_over_a_few_packets_come_about() {
    let traffic = "transfers = { count = 50, size = { uniform = { min = 1, max = 30000 } }, load = 2 }";
    let mut stalled = 0;
    for (buffer, seed) in (1..=5).flat_map(|buffer| (1..=50).map(move |seed| (buffer, seed))) {
        let network = Network { seed, stop_at: None, ..quic(buffer, traffic) };
        let mut meters = Meters::new(1, DEFAULT_WINDOW);
        let outcome = simulate_network(&network, &"fifo".parse().unwrap(), &mut meters, NetworkOptions::default());
        stalled += usize::from(outcome.is_err());
        if let Err(error) = outcome {
            println!("buffer {buffer}, seed {seed}: {error}");
        }
    }
    assert_eq!(stalled, 0, "of 250 runs");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_byte_arrives(seed: u64, buffer in 2u32..12, count in 1u32..6, bytes in 1u64..300_000, mtu in 1228u32..9000) {
        let transport = format!("transport = \"quic\"\nmtu = {mtu}");
        let network = path(&transport, buffer, &format!("transfers = {{ count = {count}, size = {bytes} }}")).unwrap();
        let run = run(&Network { seed, stop_at: None, ..network }, "drr");
        prop_assert!(run.outcome.transfers.iter().all(|transfer| transfer.ended.is_some()), "{}", lines(&run.outcome));
        check_books(&run).map_err(TestCaseError::fail)?;
        prop_assert!(records(&run.capture).iter().all(|(_, packet)| packet.len() <= mtu as usize));
    }
}
