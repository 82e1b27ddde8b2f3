//! What the scheduler of a simulated gateway is told, and when: the same as in the real gateway, where each of these is known.

use dovetail_sched::{Nanos, request::RequestSetup};

use super::witness::{Number, Said, witnessed};

/// One user and one server, 42 ms away.
const BED: &str = r#"name = "bed"
seed = 1
[network]
stop = "60s"
[access]
gateway = "g"
[[link]]
between = ["p", "g"]
rate = "2Mbps"
delay = "1ms"
buffer_packets = 25
watched = true
[[link]]
between = ["g", "user"]
rate = "1Gbps"
[[link]]
between = ["server", "p"]
rate = "100Mbps"
delay = "20ms"
[[traffic]]
name = "users"
from = "server"
to = "user"
stop = "20s"
requests = { each = 2, size = { lognormal = { mu = 9.357, sigma = 1.318, min = 1, max = "500kB" } } }
"#;

/// The testbed with these keys of `[access]`.
fn with(keys: &str) -> String {
    BED.replace("gateway = \"g\"\n", &format!("gateway = \"g\"\n{keys}\n"))
}

/// What was said of each request, in order.
fn by_request(lines: &[(Nanos, Number, Said)]) -> Vec<Vec<(Nanos, Said)>> {
    let mut requests = Vec::new();
    for &(at, number, said) in lines {
        requests.resize(requests.len().max(number + 1), Vec::new());
        requests[number].push((at, said));
    }
    assert!(requests.len() > 20, "{}", requests.len());
    requests
}

/// Bytes received before the length is told, and in the same instant with which it is told.
fn before_length(of: &[(Nanos, Said)]) -> Option<(u64, u64)> {
    let told = of.iter().position(|(_, said)| matches!(said, Said::Length(_)))?;
    let received = |lines: &[(Nanos, Said)]| {
        lines.iter().map(|(_, said)| if let Said::Received(bytes) = said { *bytes } else { 0 }).sum()
    };
    let with = of[..told].iter().position(|(at, _)| *at == of[told].0).unwrap_or(told);
    Some((received(&of[..with]), received(&of[..told])))
}

#[test]
fn a_length_is_told_with_the_end_of_the_header_that_states_it() {
    for header in [330, 5_000] {
        let (lines, outcome) = witnessed(&with(&format!("header = {header}")), "grants");
        let requests = by_request(&lines);
        for (one, exchange) in requests.iter().zip(&outcome.exchanges) {
            let (before, with) = before_length(one).expect("it is told");
            assert!(before < header && header <= with, "{header}: {before} before, {with} with it");
            let told = one.iter().filter_map(|(_, said)| if let Said::Length(all) = said { Some(*all) } else { None });
            assert_eq!(told.collect::<Vec<_>>(), [header + exchange.bytes]);
        }
    }
}

#[test]
fn what_arrives_is_told_before_it_is_read() {
    let (lines, outcome) = witnessed(BED, "grants");
    let mut longest = 0;
    for (one, exchange) in by_request(&lines).iter().zip(&outcome.exchanges) {
        let (mut received, mut arrived) = (0, 0);
        for &(_, said) in one {
            match said {
                Said::Received(bytes) => received += bytes,
                Said::Unread(bytes) => {
                    assert!(received + bytes > arrived, "{bytes} unread are nothing new");
                    longest = longest.max(bytes);
                    arrived = received + bytes;
                }
                Said::Ready => assert!(arrived > received, "it waits though nothing has arrived"),
                _ => {}
            }
            arrived = arrived.max(received);
        }
        assert!(arrived <= 330 + exchange.bytes, "{arrived} of {}", exchange.bytes);
    }
    assert!(longest > 8_000, "{longest}: the rest of a window arrives");
}

/// How the gateway's connection to the one server goes from one request to the next, if there is one request at a time: the
/// window that it offers.
#[derive(Default)]
struct Line {
    offered: u64,
    dialled: u64,
    grew: bool,
}

impl Line {
    /// Follows a request, which is told the window that its connection offers, before anything of its response is read.
    fn follow(&mut self, one: &[(Nanos, Said)], first: u64) {
        let mut told = None;
        for &(_, said) in one {
            match said {
                Said::Released { window } if self.offered == 0 => {
                    self.dialled += 1;
                    self.offered = window;
                }
                Said::Offers(window) => {
                    assert_eq!((window, told), (self.offered, None));
                    self.grew |= window > first;
                    told = Some(window);
                }
                Said::MayRead { window } => self.offered = self.offered.max(window),
                Said::Received(_) => assert!(told.is_some(), "{one:?}"),
                Said::Ended if self.offered >= 3 * first => self.offered = 0,
                _ => {}
            }
        }
        assert!(told.is_some(), "{one:?}");
    }
}

#[test]
fn every_request_is_told_the_window_of_its_connection_which_is_closed_once_that_has_trebled() {
    for tells_length in [true, false] {
        let one_at_a_time = with(&format!("tells_length = {tells_length}")).replace("each = 2", "each = 1");
        // Windows grow towards what is in flight on a long way.
        let one_at_a_time = one_at_a_time.replace("delay = \"20ms\"", "delay = \"150ms\"");
        let (lines, outcome) = witnessed(&one_at_a_time, "grants");
        let requests = by_request(&lines);
        let first = requests[0]
            .iter()
            .find_map(|(_, said)| if let Said::Released { window } = said { Some(*window) } else { None });
        let mut line = Line::default();
        requests.iter().for_each(|one| line.follow(one, first.expect("it is released")));
        assert!(line.grew && line.dialled > 1, "{tells_length}");
        assert_eq!(line.dialled, outcome.dialled, "{tells_length}");
    }
}

/// When the scheduler was told the round trip of a request's connection, after its release, and what.
fn told_trip(one: &[(Nanos, Said)]) -> Option<(Nanos, Nanos)> {
    let released = one.iter().find(|(_, said)| matches!(said, Said::Released { .. }))?.0;
    one.iter().find_map(|&(at, said)| if let Said::RoundTrip(trip) = said { Some((at - released, trip)) } else { None })
}

#[test]
fn the_round_trip_to_a_server_is_told_if_it_is_far_away_as_soon_as_its_connection_is_there() {
    let at = |distance: &str, tls: u32| {
        let far =
            with("").replace("delay = \"20ms\"", &format!("delay = \"{distance}\"")).replace("each = 2", "each = 1");
        let far = far.replace(
            "[[link]]\nbetween = [\"p\"",
            &format!("[access.servers]\ntls_round_trips = {tls}\n[[link]]\nbetween = [\"p\""),
        );
        let far = far.replace("\"500kB\"", "\"5kB\"").replace("60s", "150s").replace("20s", "120s");
        by_request(&witnessed(&far, "grants").0)
    };
    for (tls, before_request) in [(0, 1), (1, 2)] {
        let requests = at("300ms", tls);
        for (number, one) in requests.iter().enumerate() {
            let (after, trip) = told_trip(one).expect("it is told");
            assert!((Nanos::from_millis(602)..Nanos::from_millis(610)).contains(&trip), "{trip}");
            let wait = if number == 0 { Nanos::from_millis(602 * before_request) } else { Nanos::ZERO };
            assert!((wait..wait + Nanos::from_millis(30)).contains(&after), "{number}: {after}");
            // What senders send at first fits into its window.
            assert!(one.iter().any(|(_, said)| matches!(said, Said::Offers(14_480..))), "{one:?}");
        }
    }
    let near = at("200ms", 0);
    assert!(near.iter().all(|one| told_trip(one).is_none()));
    assert!(near.iter().flatten().all(|(_, said)| !matches!(said, Said::Offers(14_480..))));
}

#[test]
fn the_distance_of_a_server_is_told_before_the_release_once_it_is_known() {
    let told = |idle: &str, tls: u32| {
        let servers =
            format!("[access.servers]\nidle = \"{idle}\"\ntls_round_trips = {tls}\n[[link]]\nbetween = [\"p\"");
        let one_at_a_time = with("").replace("each = 2", "each = 1").replace("[[link]]\nbetween = [\"p\"", &servers);
        let requests = by_request(&witnessed(&one_at_a_time.replace("\"500kB\"", "\"5kB\""), "grants").0);
        let distances = |one: &Vec<(Nanos, Said)>| -> Vec<_> {
            let before = |said: &Said| matches!(said, Said::Arrived | Said::Distance(_));
            let early = one.iter().take_while(|(_, said)| before(said)).count();
            let all = one.iter().enumerate().filter_map(|(at, &(_, said))| match said {
                Said::Distance(takes) => Some((at < early, takes)),
                _ => None,
            });
            all.collect()
        };
        assert!(requests.len() > 10);
        requests.iter().map(distances).collect::<Vec<_>>()
    };
    // The round trip, and the time that a handshake's packets take to be sent.
    let trips = |takes: Nanos| takes.0 as f64 / 42e6;
    for (idle, tls, on_arrival) in [("60s", 0, 1.0), ("60s", 1, 1.0), ("0s", 0, 2.0), ("0s", 1, 3.0), ("0s", 2, 4.0)] {
        for (number, distances) in told(idle, tls).iter().enumerate() {
            let [(true, first), later @ ..] = distances.as_slice() else { panic!("{distances:?}") };
            let expected = if number == 0 { 0.0 } else { on_arrival };
            assert!((trips(*first) - expected).abs() < 0.1 * on_arrival, "{idle} {tls} {number}: {first}");
            assert!(later.iter().all(|&(early, takes)| !early && (trips(takes) - 1.0).abs() < 0.1), "{distances:?}");
            assert!(!later.is_empty(), "its connection is established by then");
        }
    }
}

#[test]
fn a_server_whose_handshake_waited_in_the_uplinks_queue_is_not_far_once_a_shorter_round_trip_is_measured() {
    let upload = "[[link]]\nbetween = [\"g\", \"other\"]\nrate = \"1Gbps\"\n\
        [[traffic]]\nname = \"uploads\"\nfrom = \"server\"\nto = \"other\"\nstop = \"1s\"\n\
        requests = { each = 1, size = 1000, upload = \"150kB\" }\n";
    let busy =
        BED.replace("buffer_packets = 25", "buffer_packets = 25\nrate_back = \"512kbps\"\nbuffer_packets_back = 40");
    let busy = busy.replace("each = 2", "each = 1").replace("\"500kB\"", "\"5kB\"");
    let busy = busy.replace("stop = \"20s\"", "start = \"1s\"\nstop = \"20s\"") + upload;
    let (lines, outcome) = witnessed(&busy, "grants");
    let trips: Vec<_> = by_request(&lines).iter().map(|one| told_trip(one).map(|(_, trip)| trip)).collect();
    let longest = trips.iter().flatten().max().expect("the handshake waits behind the upload");
    assert!(*longest >= RequestSetup::FARTHEST, "{longest}");
    let last = trips.iter().rposition(Option::is_some).expect("one is told");
    assert!(trips.len() > last + 20, "{trips:?}");
    assert_eq!(outcome.dialled, 2, "its connection is used again");
}

#[test]
fn a_request_takes_an_idle_connection_along_when_it_arrives() {
    let crowd = with("").replace("each = 2", "rate = \"20/s\", patience = \"3s\"");
    let (lines, outcome) = witnessed(&crowd, "msf-rs");
    let (mut idle, mut dialled, mut has) = (0_u64, 0, Vec::new());
    for &(_, number, said) in &lines {
        match said {
            Said::Arrived => {
                has.push(idle > 0);
                idle -= u64::from(idle > 0);
            }
            Said::Released { .. } => dialled += u64::from(!has[number]),
            Said::Ended => idle += 1,
            // Whoever stops to wait takes the connection along.
            _ => {}
        }
    }
    let cancelled = lines.iter().filter(|(.., said)| *said == Said::Cancelled).count();
    assert!(cancelled > 10, "{cancelled}");
    assert_eq!(outcome.dialled, dialled);
}

#[test]
fn of_idle_connections_to_one_server_64_are_kept() {
    // Responses take longer than a crowd's requests do to be sent, so each request has its own connection.
    let crowd = |name: &str, [start, stop]: [&str; 2]| {
        format!(
            "[[node]]\nname = \"{name}\"\ncount = 100\n[[link]]\nbetween = [\"g\", \"{name}\"]\nrate = \"1Gbps\"\n\
             [[traffic]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"{name}\"\nstart = \"{start}\"\nstop = \"{stop}\"\n\
             requests = {{ each = 1, size = 100 }}\n"
        )
    };
    let own = BED.find("[[link]]\nbetween = [\"g\"").unwrap()..BED.find("[[link]]\nbetween = [\"server\"").unwrap();
    let far = BED.replace(&BED[own], "").replace("delay = \"20ms\"", "delay = \"3s\"");
    let (bed, _) = far.split_once("[[traffic]]").unwrap();
    let text = format!("{bed}{}{}", crowd("early", ["0s", "1s"]), crowd("late", ["30s", "31s"]));
    let (_, outcome) = witnessed(&text, "none");
    assert_eq!(outcome.exchanges.len(), 200);
    assert_eq!(outcome.dialled, 100 + (100 - 64));
}
