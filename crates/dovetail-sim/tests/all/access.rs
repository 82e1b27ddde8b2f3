//! Users behind a gateway: invariants of every run, whatever the gateway does.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use dovetail_sched::{Nanos, Weight};
use dovetail_sim::network::{Contender, Exchange, Kind, Network, NetworkOptions, simulate_access, simulate_network};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

use crate::described::{exchanged, parse};
use crate::recorded::{delivered, records};
use crate::watch::{Run, access, run_access};

/// Two classes of two users over 2 Mbit/s, servers 22 and 202 ms away, and users' own links without any queueing.
const BED: &str = r#"name = "bed"
seed = 1
[network]
stop = "150s"
[access]
gateway = "g"
[[link]]
between = ["p", "g"]
rate = "2Mbps"
delay = "1ms"
buffer_packets = 25
watched = true
[[link]]
between = ["g", "lan"]
rate = "10Gbps"
[[link]]
between = ["lan", ["a1", "a2", "b1", "b2"]]
rate = "1Gbps"
delay = "2ms"
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
requests = { A, size = SIZE }
[[traffic]]
name = "b"
from = ["near1", "near2", "far"]
to = ["b1", "b2"]
stop = "20s"
requests = { B, size = SIZE }
"#;

const LOGNORMAL: &str = "{ lognormal = { mu = 9.357, sigma = 1.318, min = 1, max = \"500kB\" } }";

/// The network with these requests in both classes.
fn asking(how: &str) -> String {
    BED.replace(" A,", &format!(" {how},")).replace(" B,", &format!(" {how},")).replace("SIZE", LOGNORMAL)
}

fn bed(how: &str) -> Network {
    parse(&asking(how)).unwrap()
}

/// One of each kind, and what they are based on.
const GATEWAYS: [&str; 6] = ["none", "msf-rs", "grants", "delay-pools", "drr", "ingress"];

fn exchanges(run: &Run) -> &[Exchange] {
    &access(run).exchanges
}

/// Bytes received by the users of a class.
fn received(run: &Run, class: usize) -> u64 {
    access(run).classes[class].received_bytes.iter().sum()
}

/// When a user stopped waiting, if they did.
fn over(exchange: &Exchange) -> Option<Nanos> {
    exchange.ended.or(exchange.cancelled)
}

/// Invariants of every exchange, and of the link's packets.
fn check(run: &Run, patience: Option<Nanos>) {
    let link = &run.outcome.link;
    assert_eq!(link.arrived, link.sent + link.dropped + link.left);
    let mut open = 0;
    for one in exchanges(run) {
        let times = [Some(one.wanted), one.arrived, one.released, one.ended];
        let known: Vec<Nanos> = times.iter().flatten().copied().collect();
        assert!(known.is_sorted(), "{one:?}");
        // A user may cancel at any stage, but stages occur in order.
        assert!(times.windows(2).all(|pair| pair[0].is_some() || pair[1].is_none()), "{one:?}");
        assert!(one.cancelled.is_none() || one.ended.is_none(), "{one:?}");
        assert!(patience.is_none_or(|patience| one.took().is_none_or(|took| took <= patience)), "{one:?}");
        assert!(one.cancelled.is_none_or(|at| Some(at - one.wanted) == patience), "{one:?}");
        open += u64::from(one.ended.is_none() && one.cancelled.is_none());
    }
    assert!(exchanges(run).is_sorted_by_key(|one| one.wanted));
    assert_eq!(access(run).open, open);
}

/// What a user receives for a response: 330 bytes of header precede the body.
fn whole(exchange: &Exchange) -> u64 {
    330 + exchange.bytes
}

#[test]
fn every_byte_of_every_answer_comes_once() {
    let network = bed("load = 0.9");
    for gateway in GATEWAYS {
        let run = run_access(&network, gateway);
        check(&run, None);
        let all = exchanges(&run);
        assert!(all.len() > 50 && all.iter().all(|one| one.ended.is_some()), "{gateway}: {}", access(&run).open);
        for class in [0, 1] {
            let due: u64 = all.iter().filter(|one| one.traffic == class).map(whole).sum();
            assert_eq!(received(&run, class), due, "{gateway}");
        }
        // The same from the link's side: servers respond from port 80, and connections are reused.
        let answers = delivered(&run.capture).into_iter().filter(|((_, port, ..), _)| *port == 80);
        let (connections, bytes) = answers.fold((0, 0), |(n, bytes), (_, of)| (n + 1, bytes + of));
        assert_eq!(bytes, all.iter().map(whole).sum::<u64>(), "{gateway}");
        assert_eq!(connections, access(&run).dialled, "{gateway}");
        assert!(connections <= all.len() as u64);
    }
}

#[test]
fn what_is_in_flight_when_it_stops_is_open() {
    let mut network = bed("each = 4");
    network.stop_at = Some(Nanos::from_secs(10));
    for gateway in GATEWAYS {
        let run = run_access(&network, gateway);
        check(&run, None);
        // All users always have four outstanding.
        assert_eq!((access(&run).open, run.outcome.ended), (16, Nanos::from_secs(10)), "{gateway}");
        let had: u64 = exchanges(&run).iter().filter(|one| one.ended.is_some()).map(whole).sum();
        let most = exchanges(&run).iter().filter(|one| one.released.is_some()).map(whole).sum();
        assert!((had..=most).contains(&(received(&run, 0) + received(&run, 1))), "{gateway}");
    }
}

/// All results of a run.
fn said(run: &Run) -> (String, &[u8]) {
    (format!("{:?} {:?}", access(run), run.outcome.link), &run.capture)
}

#[test]
fn equal_seeds_give_equal_runs_and_others_others() {
    let network = bed("each = 3, think = \"1s\", patience = \"8s\"");
    for gateway in GATEWAYS {
        let [first, again] = [(); 2].map(|()| run_access(&network, gateway));
        assert!(said(&first) == said(&again), "{gateway}");
        let other = run_access(&Network { seed: 2, ..network.clone() }, gateway);
        assert!(said(&first).0 != said(&other).0 && first.capture != other.capture, "{gateway}");
    }
}

/// Who wants how much from which server, and when.
fn wishes(run: &Run) -> Vec<(usize, usize, usize, u64, Nanos)> {
    exchanges(run).iter().map(|one| (one.traffic, one.user, one.server, one.bytes, one.wanted)).collect()
}

#[test]
fn open_arrivals_are_the_same_under_every_gateway() {
    for how in ["load = 1.2", "rate = \"3/s\", patience = \"2s\""] {
        let network = bed(how);
        let expected = wishes(&run_access(&network, "none"));
        assert!(expected.len() > 100, "{}", expected.len());
        for gateway in &GATEWAYS[1..] {
            assert_eq!(wishes(&run_access(&network, gateway)), expected, "{gateway}");
        }
        let other = wishes(&run_access(&Network { seed: 2, ..network }, "none"));
        assert!(other != expected);
    }
}

/// When users send the next request depends on when they got a response; what they request does not.
#[test]
fn who_waits_for_answers_asks_for_the_same_under_every_gateway() {
    let network = bed("each = 3, think = \"500ms\"");
    let all = GATEWAYS.map(|gateway| run_access(&network, gateway));
    for user in 0..4 {
        let own = |run: &Run| -> Vec<(u64, usize)> {
            let own = exchanges(run).iter().filter(|one| one.user == user);
            own.map(|one| (one.bytes, one.server)).collect()
        };
        let lists: Vec<_> = all.iter().map(own).collect();
        let longest = lists.iter().max_by_key(|list| list.len()).unwrap();
        assert!(longest.len() > 20, "{}", longest.len());
        for (list, gateway) in lists.iter().zip(GATEWAYS) {
            assert!(longest.starts_with(list), "{gateway}: user {user}");
        }
    }
}

/// The mean number per second from every user; a load is what all of them demand of the link.
#[test]
fn open_arrivals_come_as_often_as_is_said() {
    let long = |how: &str| {
        let text = asking(how).replace("stop = \"20s\"", "stop = \"2000s\"").replace("\"150s\"", "\"2000s\"");
        // Small, so that the run is short.
        let text = text.replace(LOGNORMAL, "1000");
        run_access(&parse(&text).unwrap(), "none").outcome.access.unwrap().exchanges.len() as f64
    };
    // Over 2,000 s of four users; 5 % is over five standard deviations.
    let often = long("rate = \"2/s\"");
    assert!((often / 16_000.0 - 1.0).abs() < 0.05, "{often}");
    // A header of 330, a body of 1,000 and a packet's 40 bytes of headers.
    let loaded = long("load = 0.1");
    let expected = 0.1 * 250_000.0 / 1370.0 * 2000.0;
    assert!((loaded / expected - 1.0).abs() < 0.05, "{loaded} for {expected}");
}

#[test]
fn who_waits_for_answers_asks_again_with_the_last_byte_and_not_before() {
    for (patience, how) in [(None, "each = 3"), (Some(Nanos::from_secs(3)), "each = 3, patience = \"3s\"")] {
        let network = bed(how);
        for gateway in GATEWAYS {
            let run = run_access(&network, gateway);
            check(&run, patience);
            let cancelled = exchanges(&run).iter().filter(|one| one.cancelled.is_some()).count();
            assert_eq!(cancelled > 0, patience.is_some(), "{gateway}: {cancelled} gave up");
            for user in 0..4 {
                let own: Vec<&Exchange> = exchanges(&run).iter().filter(|one| one.user == user).collect();
                // Three begin within a second, each further one when one is over: a response that arrived twice, or after the
                // user cancelled, would cause an extra request.
                let mut wanted: Vec<Nanos> = own.iter().map(|one| one.wanted).collect();
                for at in own.iter().filter_map(|one| over(one)).filter(|&at| at < Nanos::from_secs(20)) {
                    let next = wanted.iter().position(|&wanted| wanted == at);
                    wanted.remove(next.unwrap_or_else(|| panic!("{gateway}: user {user} asks nothing at {at}")));
                }
                assert_eq!(wanted.len(), 3, "{gateway}: user {user}: {wanted:?}");
                assert!(wanted.iter().all(|&at| at < Nanos::from_secs(1)), "{gateway}: user {user}: {wanted:?}");
            }
        }
    }
}

/// When TCP payload left the provider for the gateway, and how much, by the server's address.
fn payloads(capture: &[u8]) -> Vec<(Nanos, [u8; 4], u64)> {
    let payload = |(at, bytes): (u64, &[u8])| {
        let packet = SlicedPacket::from_ip(bytes).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Tcp(tcp))) = (packet.net, packet.transport) else {
            return None;
        };
        let length = tcp.payload().len() as u64;
        (length > 0).then(|| (Nanos(at), ip.header().source(), length))
    };
    records(capture).into_iter().filter_map(payload).collect()
}

/// The address of a node.
fn address(network: &Network, name: &str) -> [u8; 4] {
    let place = network.nodes.iter().position(|node| node.name == name).unwrap();
    [10, 0, 0, place as u8 + 1]
}

#[test]
fn the_answer_that_nobody_waits_for_any_more_is_broken_off() {
    // Class a: one user, one response of 10 MB from a separate server, which would take 40 s. Class b keeps the run going.
    let text = asking("each = 1").replacen("\"20s\"", "\"1500ms\"", 1).replacen(LOGNORMAL, "\"10MB\"", 1);
    let text = text.replacen("from = [\"near1\", \"near2\", \"far\"]", "from = \"near1\"", 1);
    let text = text.replacen("[\"near1\", \"near2\", \"far\"]", "[\"near2\", \"far\"]", 1);
    let text = text.replace("[\"a1\", \"a2\"]", "\"a1\"").replacen("each = 1", "each = 1, patience = \"5s\"", 1);
    let network = parse(&text).unwrap();
    let server = address(&network, "near1");
    for gateway in GATEWAYS {
        let run = run_access(&network, gateway);
        let [large] = exchanges(&run).iter().filter(|one| one.traffic == 0).collect::<Vec<_>>()[..] else {
            panic!("one request of class a")
        };
        assert!(large.cancelled.is_some() && large.ended.is_none(), "{gateway}: {large:?}");
        assert!(exchanges(&run).iter().filter(|one| one.traffic == 1).all(|one| one.ended.is_some()), "{gateway}");
        let last = payloads(&run.capture).into_iter().filter(|(_, from, _)| *from == server).map(|(at, ..)| at).max();
        let (from, to) = (large.wanted, large.wanted + Nanos::from_secs(5));
        // Until the server learns of it, 25 packets and 11 ms away, and what it sent by then has left the buffer. If a class
        // has a fixed rate, the window has been closed for long.
        let late = to + Nanos::from_millis(350);
        assert!(last.unwrap() > from && last.unwrap() < late, "{gateway}: {last:?} for {to}");
        assert!(run.outcome.ended > to + Nanos::from_secs(10), "{gateway}: the run goes on");
    }
}

#[test]
fn nobody_asks_in_a_silence() {
    let (from, to) = (Nanos::from_secs(5), Nanos::from_secs(8));
    let within = |one: &&Exchange| (from..to).contains(&one.wanted);
    for gateway in GATEWAYS {
        // A user who waits for responses sends the next requests when the silence is over, one per response that arrived
        // meanwhile.
        let run = run_access(&bed("each = 2, silent = [[\"5s\", \"8s\"]]"), gateway);
        check(&run, None);
        assert_eq!(exchanges(&run).iter().filter(within).count(), 0, "{gateway}");
        let kept = exchanges(&run).iter().filter(|one| one.ended.is_some_and(|at| (from..=to).contains(&at))).count();
        assert!(kept > 0);
        assert_eq!(exchanges(&run).iter().filter(|one| one.wanted == to).count(), kept, "{gateway}");
    }
    // A user who does not wait skips requests during the silence.
    let times = |run: &Run| exchanges(run).iter().map(|one| (one.user, one.wanted)).collect::<Vec<_>>();
    let always = run_access(&bed("rate = \"3/s\""), "none");
    let silent = run_access(&bed("rate = \"3/s\", silent = [[\"5s\", \"8s\"]]"), "none");
    let mut expected = times(&always);
    expected.retain(|(_, wanted)| !(from..to).contains(wanted));
    assert!(expected.len() < exchanges(&always).len());
    assert_eq!(times(&silent), expected);
}

/// If the users' own links have capacity to spare, nothing is ever queued there, so the scheduler there does not matter.
#[test]
fn a_policy_at_the_users_side_changes_nothing_but_what_waits_there() {
    let network = bed("each = 4");
    let none = run_access(&network, "none");
    for policy in ["drr", "drr-sff", "las", "wf2q+"] {
        let run = run_access(&network, policy);
        assert!(exchanges(&run) == exchanges(&none) && run.capture == none.capture, "{policy}");
    }
}

#[test]
fn a_shaper_lets_its_part_through() {
    let network = bed("each = 6");
    let rate = |gateway: &str| {
        let run = run_access(&network, gateway);
        (0..2).map(|class| access(&run).classes[class].mean_bps(5, 20)).sum::<f64>()
    };
    // Of 1500 bytes 40 are headers.
    let (half, most) = (rate("ingress:rate=0.5"), 1e6 * 1460.0 / 1500.0);
    // Data behind a hole is read in a later second than it arrived.
    assert!((0.85 * most..=1.02 * most).contains(&half), "{half} of {most}");
    assert!(rate("ingress") > 1.5 * half);
}

/// Share of each class from second 20 to 60, during which all users always have requests.
fn share(network: &Network, gateway: &str) -> f64 {
    let run = run_access(network, gateway);
    let rates = [0, 1].map(|class| access(&run).classes[class].mean_bps(20, 60));
    rates[0] / rates[1]
}

#[test]
fn who_schedules_requests_keeps_the_weights_and_who_does_not_does_not() {
    let network = parse(&asking("each = 6").replace("\"20s\"", "\"60s\"")).unwrap();
    for gateway in ["msf-rs", "grants", "delay-pools"] {
        let share = share(&network, gateway);
        assert!((share - 3.0).abs() < 0.3, "{gateway}: {share}");
    }
    for gateway in ["none", "drr"] {
        let share = share(&network, gateway);
        assert!((0.5..1.5).contains(&share), "{gateway}: {share}");
    }
}

/// MSF-RS's mean measurement over seconds 20 to 60.
fn measured(run: &Run) -> f64 {
    let notes = access(run).notes.iter().filter(|(at, _)| (20..60).contains(&(at.0 / 1_000_000_000)));
    let values = notes.map(|(_, figures)| figures.iter().find(|(name, _)| *name == "utilisation").unwrap().1);
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half of the link is unrequested UDP.
fn crossed(to: &str) -> Network {
    let text = asking("each = 4").replace("\"20s\"", "\"60s\"");
    let udp = "udp = { bytes = 1000, rate = \"1Mbps\" }";
    parse(&format!("{text}[[traffic]]\nname = \"crossing\"\nfrom = \"near1\"\nto = \"{to}\"\nstop = \"60s\"\n{udp}\n"))
        .unwrap()
}

#[test]
fn the_gateway_sees_what_nobody_asked_for_if_it_comes_to_it() {
    let [seen, passed_by] = ["g", "lan"].map(|to| run_access(&crossed(to), "msf-rs:growth=1,window=8"));
    for run in [&seen, &passed_by] {
        check(run, None);
        let [stream] = &run.outcome.streams[..] else { panic!("one stream") };
        assert!(stream.received_bytes.iter().sum::<u64>() > 5_000_000);
        assert!(stream.received_bytes.iter().sum::<u64>() <= 1000 * (stream.packets - stream.dropped));
    }
    // Probes that the gateway knows of count as use of the link; other traffic does not.
    let goodput = 1460.0 / 1500.0;
    let (with, without) = (measured(&seen), measured(&passed_by));
    assert!(with > 0.9 / goodput && (0.3..0.65).contains(&without), "{with} and {without}");
}

#[test]
fn probes_are_sent_as_often_as_is_said_and_come_back() {
    let to_echo = |run: &Run| {
        let is_probe = |bytes: &[u8]| match SlicedPacket::from_ip(bytes).unwrap().transport {
            Some(TransportSlice::Udp(udp)) => udp.source_port() == 7,
            _ => false,
        };
        records(&run.capture).into_iter().filter(|(_, bytes)| is_probe(bytes)).count()
    };
    // Below 5 % of the link nothing waits for long.
    for (period, probe) in [(100, ""), (40, "probe = \"40ms\""), (0, "probe = 0")] {
        let text = exchanged(&asking("load = 0.05"), "gateway = \"g\"", &format!("gateway = \"g\"\n{probe}"));
        let run = run_access(&parse(&text).unwrap(), "grants");
        let (probes, lost) = (to_echo(&run), access(&run).lost_probes);
        let expected = (run.outcome.ended.0 / 1_000_000).checked_div(period).unwrap_or(0);
        assert!(probes as u64 + 1 >= expected && probes as u64 <= expected, "{probes} of {expected}");
        assert_eq!(lost, 0);
        let told = access(&run).notes.last().unwrap().1.iter().any(|(name, _)| *name == "far_delay_ms");
        assert_eq!(told, period > 0);
    }
}

/// With a window narrowed by the gateway, nothing arrives that was not elicited.
///
/// One response over a link of 20 Mbit/s to a gateway that assumes C = 125,000 bytes a second. `grants` elicits a quantum and
/// a window at the release, and then what tokens permit: at most 1.15·C a second and 20 ms of C. Without narrowing, a buffer
/// of 55 kB would arrive at once.
#[test]
fn nothing_comes_that_was_not_elicited() {
    const QUANTUM: f64 = 2896.0;
    const WINDOW: f64 = 8688.0;
    const C: f64 = 125_000.0;
    let text = asking("each = 1").replace("\"a1\", \"a2\"", "\"a1\"").replace("rate = \"2Mbps\"", "rate = \"20Mbps\"");
    let text = exchanged(&text, "gateway = \"g\"", "gateway = \"g\"\ncapacity = \"1Mbps\"");
    let text = text.replacen(LOGNORMAL, "\"2MB\"", 1).replace("\"20s\"", "\"1100ms\"");
    let (alone, _) = text.rsplit_once("[[traffic]]").unwrap();
    let network = parse(alone).unwrap();
    let run = run_access(&network, "grants:learn=off,delay=20ms");
    check(&run, None);
    let [one] = exchanges(&run) else { panic!("one request") };
    let released = one.released.unwrap();
    assert_eq!(run.outcome.link.dropped, 0, "so nothing is sent twice");
    let (mut come, mut at_early) = (0.0, 0.0);
    for (at, _, bytes) in payloads(&run.capture) {
        come += bytes as f64;
        let since = (at - released).as_secs_f64();
        let elicited = QUANTUM + WINDOW + 1.15 * C * (since + 0.02);
        assert!(come <= elicited, "after {since} s: {come} of {elicited}");
        if since < 0.15 {
            at_early = come;
        }
    }
    assert_eq!(come, 330.0 + 2e6);
    assert!(at_early > QUANTUM + WINDOW, "{at_early}");
    // The far queue is empty, so that the pace is the highest permitted.
    let pace = come / (one.ended.unwrap() - released).as_secs_f64() / C;
    assert!((1.1..1.17).contains(&pace), "{pace}");
}

#[test]
fn transfers_go_on_when_users_have_what_they_wanted() {
    let text = asking("each = 1").replace("\"20s\"", "\"2s\"");
    let transfers = "transfers = { count = 4, size = \"100kB\", rate = \"0.2/s\" }";
    let text = format!("{text}[[traffic]]\nname = \"others\"\nfrom = \"far\"\nto = \"lan\"\n{transfers}\n");
    let run = run_access(&parse(&text).unwrap(), "none");
    check(&run, None);
    let ends: Vec<_> = run.outcome.transfers.iter().map(|transfer| transfer.ended).collect();
    assert!(ends.len() == 4 && ends.iter().all(Option::is_some), "{ends:?}");
    let users = exchanges(&run).iter().filter_map(|one| one.ended).max();
    assert!(ends.iter().flatten().max() > users.as_ref(), "some begin after the last answer");
    // A stop far in the future is not waited for.
    assert!(run.outcome.ended < Nanos::from_secs(149), "{}", run.outcome.ended);
}

#[test]
fn networks_with_and_without_a_gateway_are_not_taken_for_each_other() {
    let network = bed("each = 1");
    let error = simulate_network(&network, &"fifo".parse().unwrap(), &mut (), NetworkOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "users send requests through a gateway here: set its policy");
    let refused = |network: &Network, gateway: &str| {
        let gateway: Contender = gateway.parse().unwrap();
        simulate_access(network, &gateway, &mut (), NetworkOptions::default()).unwrap_err().to_string()
    };
    let mut without = network.clone();
    without.access = None;
    without.traffic.truncate(1);
    without.traffic[0].kind = Kind::LongLived(1);
    assert_eq!(refused(&without, "none"), "no users send requests through a gateway here: add [access]");
    // A server that no link leads to, or none from.
    let far = network.nodes.iter().position(|node| node.name == "far").unwrap();
    let (mut there, mut back) = (network.clone(), network.clone());
    there.links.retain(|link| link.to != far);
    back.links.retain(|link| link.from != far);
    assert_eq!(refused(&there, "none"), "traffic 'a': there is no path from 'g' to 'far': add a link");
    assert_eq!(refused(&back, "none"), "traffic 'a': there is no path from 'far' to 'g': add a link");
    // The provider answers probes.
    let (mut one_way, watched) = (network.clone(), network.links[network.watched].clone());
    one_way.links.retain(|link| (link.from, link.to) != (watched.to, watched.from));
    assert_eq!(refused(&one_way, "none"), "there is no path from 'g' to 'p': add a link");
}

#[test]
fn what_a_gateway_does_is_one_string() {
    for text in
        ["none", "msf-rs:target=0.9", "grants", "delay-pools", "drr:quantum=9000", "ingress", "ingress:rate=0.9"]
    {
        assert_eq!(text.parse::<Contender>().unwrap().to_string(), text);
    }
    assert_eq!("ingress:rate=0.95".parse::<Contender>().unwrap(), Contender::Ingress { part: 0.95 });
    let kinds: BTreeMap<&str, bool> =
        ["none", "las"].map(|text| (text, matches!(text.parse::<Contender>().unwrap(), Contender::Requests(_)))).into();
    assert_eq!(kinds, BTreeMap::from([("las", false), ("none", true)]));
    for (text, said) in [
        ("ingress:rate=x", "'ingress:rate=x': a shaper is 'ingress' or 'ingress:rate=0.95'"),
        ("ingress:rate=0", "a shaper is"),
        ("ingress:rate=nan", "a shaper is"),
        ("ingress:rate=11", "a shaper is"),
        ("ingress:part=1", "a shaper is"),
        ("ingress:", "a shaper is"),
        ("grants:delays=3", "delays"),
        ("drr:quantum=0", "quantum"),
        ("fastest", "unknown policy 'fastest': available are "),
        ("", "unknown policy ''"),
    ] {
        let error = text.parse::<Contender>().unwrap_err().to_string();
        assert!(error.contains(said), "{text}: {error}");
    }
    let error = "fastest".parse::<Contender>().unwrap_err().to_string();
    for name in ["fifo", "drr-sff", "none", "msf-rs", "grants", "delay-pools", "ingress"] {
        assert!(error.contains(name), "no {name} in {error}");
    }
}

#[test]
fn what_a_request_carries_is_with_the_server_before_it_answers() {
    let how = "rate = \"0.5/s\", upload = \"30kB\"";
    for uplink in ["", "uplink = \"512kbps\""] {
        let text = asking(how).replace("rate = \"2Mbps\"", "rate = \"2Mbps\"\nrate_back = \"512kbps\"");
        let text = exchanged(&text, "gateway = \"g\"", &format!("gateway = \"g\"\n{uplink}"));
        let run = run_access(&parse(&text).unwrap(), "grants");
        check(&run, None);
        let answered: Vec<&Exchange> = exchanges(&run).iter().filter(|one| one.ended.is_some()).collect();
        assert!(answered.len() > 20 && answered.len() == exchanges(&run).len(), "{}", answered.len());
        for one in answered {
            assert_eq!(one.upload, 30_000);
            let up = (one.ended.unwrap() - one.released.unwrap()).as_secs_f64();
            assert!(up > 30_000.0 * 8.0 / 512e3, "{one:?}");
        }
    }
}

#[test]
fn the_direction_back_has_a_rate_and_a_buffer_of_its_own() {
    let of = |back: &str| {
        let text = asking("rate = \"1/s\", upload = \"60kB\"");
        let text = text.replace("rate = \"2Mbps\"", &format!("rate = \"2Mbps\"\n{back}"));
        let run = run_access(&parse(&text).unwrap(), "none");
        let took: Vec<f64> = exchanges(&run).iter().map(|one| one.took().map_or(999.0, Nanos::as_secs_f64)).collect();
        took.iter().sum::<f64>() / took.len() as f64
    };
    // 4 users demand 1.92 Mbit/s of uplink.
    let (wide, narrow) = (of("rate_back = \"20Mbps\""), of("rate_back = \"1Mbps\"\nbuffer_packets_back = 1000"));
    assert!(narrow > 4.0 * wide, "{narrow} s after {wide} s");
}

#[test]
fn probes_are_of_no_user_s_class() {
    for gateway in ["grants", "ingress"] {
        let run = run_access(&bed("each = 1"), gateway);
        // Echoes end at port 7, and none of the users' packets do.
        let (echoes, others): (Vec<_>, Vec<_>) =
            run.watch.appeared.iter().partition(|(label, ..)| label.ends_with(":7"));
        let is_own = |(_, class, weight): &&(String, String, Weight)| class == "probes" && *weight == Weight::ONE;
        assert!(!echoes.is_empty() && echoes.iter().all(is_own), "{gateway}: {echoes:?}");
        assert!(!others.iter().any(|(_, class, _)| class == "probes"), "{gateway}");
    }
}
