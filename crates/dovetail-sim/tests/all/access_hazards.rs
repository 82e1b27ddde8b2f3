//! `grants` in situations in which a gateway in front of a real link failed: far servers, one connection each, users with
//! many outstanding requests, uploads alongside downloads, small buffers and windows, and a new user among many.

#![allow(clippy::unwrap_used)]

use dovetail_sched::Nanos;
use dovetail_sim::network::{AccessOutcome, Contender, Network, NetworkOptions, NetworkOutcome, simulate_access};

/// A link with a rate and a queue, the round trip to servers, and users' requests.
struct Bed<'a> {
    down: &'a str,
    buffer_packets: u32,
    /// Further settings of the link, such as `rate_back`.
    link: &'a str,
    round_trip_ms: u64,
    window: &'a str,
    stop_s: u64,
    access: &'a str,
    /// Name, weight, number of users, requests.
    classes: &'a [(&'a str, f64, usize, &'a str)],
}

const BED: Bed<'_> = Bed {
    down: "2Mbps",
    buffer_packets: 25,
    link: "",
    round_trip_ms: 20,
    window: "256kB",
    stop_s: 60,
    access: "tells_length = false",
    classes: &[],
};

/// A response that does not end within a run.
const ENDLESS: &str = "each = 1, size = \"1GB\"";

impl Bed<'_> {
    fn network(&self, seed: u64) -> Network {
        let Bed { down, buffer_packets, link, round_trip_ms, window, stop_s, access, .. } = *self;
        let (mut nodes, mut traffic) = (Vec::new(), String::new());
        for &(name, weight, users, requests) in self.classes {
            // Users of another's class have its weight.
            let weight = if requests.contains("class") { String::new() } else { format!("weight = {weight:?}\n") };
            let own: Vec<String> = (0..users).map(|user| format!("\"{name}{user}\"")).collect();
            traffic += &format!(
                "[[traffic]]\nname = \"{name}\"\n{weight}from = \"server\"\nto = [{}]\nrequests = {{ {requests} }}\n",
                own.join(", ")
            );
            nodes.extend(own);
        }
        // A millisecond each way on the narrow link.
        let text = format!(
            "name = \"hazard\"\nseed = {seed}\n[network]\nstop = \"{stop_s}s\"\nwindow = \"{window}\"\n\
             [access]\ngateway = \"gateway\"\n{access}\n\
             [[link]]\nbetween = [\"provider\", \"gateway\"]\nrate = \"{down}\"\ndelay = \"1ms\"\nwatched = true\n\
             buffer_packets = {buffer_packets}\n{link}\n\
             [[link]]\nbetween = [\"gateway\", [{}]]\nrate = \"1Gbps\"\n\
             [[link]]\nbetween = [\"server\", \"provider\"]\nrate = \"1Gbps\"\ndelay = \"{}us\"\n{traffic}",
            nodes.join(", "),
            (round_trip_ms - 2) * 500,
        );
        Network::parse(&text, "hazard", &mut |_| unreachable!("it names no file")).unwrap()
    }

    fn run(&self, gateway: &str, seed: u64) -> Got {
        self.simulate(&self.network(seed), gateway)
    }

    /// No requests are sent from `stop` on.
    fn run_until(&self, gateway: &str, seed: u64, stop: Nanos) -> Got {
        let mut network = self.network(seed);
        network.traffic.iter_mut().for_each(|traffic| traffic.stop = stop);
        self.simulate(&network, gateway)
    }

    fn simulate(&self, network: &Network, gateway: &str) -> Got {
        let gateway: Contender = gateway.parse().unwrap();
        let outcome = simulate_access(network, &gateway, &mut (), NetworkOptions::default()).unwrap();
        Got { goodput_bps: 8.0 * network.goodput_bytes_per_s(), stop_s: self.stop_s as usize, outcome }
    }
}

/// Results of a run.
struct Got {
    goodput_bps: f64,
    stop_s: usize,
    outcome: NetworkOutcome,
}

impl Got {
    fn access(&self) -> &AccessOutcome {
        self.outcome.access.as_ref().unwrap()
    }

    /// Rate of a class from this second to the end, in bit/s.
    fn class(&self, class: usize, from: usize) -> f64 {
        self.access().classes[class].mean_bps(from, self.stop_s)
    }

    /// Total rate, as a fraction of what the link carries.
    fn filled(&self, from: usize) -> f64 {
        let sum: f64 = (0..self.access().classes.len()).map(|class| self.class(class, from)).sum();
        sum / self.goodput_bps
    }

    fn figure(&self, name: &str) -> Vec<f64> {
        let of =
            |figures: &[(&'static str, f64)]| figures.iter().find(|(known, _)| *known == name).map(|known| known.1);
        self.access().notes.iter().filter_map(|(_, figures)| of(figures)).collect()
    }

    /// The capacity estimated at the end, as a fraction of what the link carries.
    fn believed(&self) -> f64 {
        8.0 * self.figure("capacity").last().unwrap() / self.goodput_bps
    }
}

#[track_caller]
fn near(value: f64, expected: f64, part: f64) {
    assert!((value / expected - 1.0).abs() <= part, "{value} is not {expected} within {part}");
}

#[test]
fn one_response_from_far_away_fills_the_link() {
    for (down, buffer_packets) in [("2Mbps", 25), ("10Mbps", 100)] {
        let far = Bed { down, buffer_packets, round_trip_ms: 600, window: "2MiB", stop_s: 90, ..BED };
        let alone = Bed { classes: &[("far", 1.0, 1, ENDLESS)], ..far };
        // The ordinary gateway overfills the buffer in slow start, and this TCP takes long to recover.
        let (ordinary, grants) = (alone.run("none", 1), alone.run("grants", 1));
        assert!(grants.filled(0) >= 0.9 * ordinary.filled(0), "{} of {}", grants.filled(0), ordinary.filled(0));
        assert!(grants.filled(0) >= 0.85 && grants.filled(30) >= 0.98, "{down}: {}", grants.filled(0));
        near(grants.believed(), 1.0, 0.1);
        let eight = Bed { classes: &[("far", 1.0, 1, "each = 8, size = \"1GB\"")], ..far };
        let (ordinary, grants) = (eight.run("none", 1), eight.run("grants", 1));
        assert!(grants.filled(0) >= 0.9 * ordinary.filled(0), "{} of {}", grants.filled(0), ordinary.filled(0));
        // At 10 Mbit/s losses of slow start, which this TCP takes seconds to recover from, still show in the last half minute;
        // at 2 Mbit/s eight have 0.937 of the link.
        let (least, from) = if down == "2Mbps" { (0.93, 30) } else { (0.9, 60) };
        assert!(grants.filled(from) >= least, "{down}: eight fill {}", grants.filled(from));
    }
}

#[test]
fn downloads_of_unknown_length_fill_the_link_however_far_their_servers_are() {
    for (down, round_trip_ms) in [("2Mbps", 600), ("4Mbps", 400), ("4Mbps", 600), ("8Mbps", 600)] {
        let far = Bed { down, buffer_packets: 100, round_trip_ms, window: "4MiB", stop_s: 90, ..BED };
        let six = Bed { classes: &[("far", 1.0, 6, ENDLESS)], ..far };
        let filled = six.run("grants", 1).filled(30);
        assert!(filled >= 0.98, "{down}, {round_trip_ms} ms: {filled}");
    }
}

#[test]
fn a_quarter_of_the_configured_rate_is_known_within_seconds_also_while_responses_wait_unread() {
    for tells_length in [true, false] {
        let access = format!("capacity = \"4Mbps\"\ntells_length = {tells_length}");
        let slow = Bed { down: "1Mbps", buffer_packets: 200, round_trip_ms: 40, stop_s: 10, access: &access, ..BED };
        let got = Bed { classes: &[("six", 1.0, 6, ENDLESS)], ..slow }.run("grants", 1);
        let believed = got.figure("capacity");
        near(8.0 * believed[5], got.goodput_bps, 0.1);
        near(got.believed(), 1.0, 0.1);
    }
}

#[test]
fn weights_hold_with_one_connection_each_however_far_the_server_is() {
    for round_trip_ms in [16, 100, 300] {
        let classes = [("gold", 4.0, 1, ENDLESS), ("bronze", 1.0, 1, ENDLESS)];
        let bed = Bed { round_trip_ms, stop_s: 90, classes: &classes, ..BED };
        for seed in 1..=2 {
            let got = bed.run("grants", seed);
            // With a round trip of 300 ms a loss in slow start can cost seconds: 3.49 with seed 2 from second 30 on.
            let from = if round_trip_ms == 300 { 60 } else { 30 };
            near(got.class(0, from) / got.class(1, from), 4.0, 0.1);
            assert!(got.filled(30) >= 0.96, "{round_trip_ms} ms: {}", got.filled(30));
        }
    }
}

/// One user with many outstanding requests, and one with a single one, of the same class or of one with that weight: what the
/// latter receives as a fraction of what the former does, with `grants` and without scheduling. Between classes this is from
/// second 30 on, between users over two minutes: what the former is lent in the first seconds, when nothing is known about
/// lengths, counts as well as its repayment.
fn beside(outstanding: u32, weight: Option<f64>, size: &str, round_trip_ms: u64) -> (f64, f64) {
    let many = format!("each = {outstanding}, size = {size}");
    let class = if weight.is_none() { ", class = \"many\"" } else { "" };
    let one = format!("each = 1, size = {size}{class}");
    let classes = [("many", 1.0, 1, many.as_str()), ("one", weight.unwrap_or(1.0), 1, one.as_str())];
    let bed = Bed { round_trip_ms, stop_s: 120, classes: &classes, ..BED };
    let from = if weight.is_none() { 0 } else { 30 };
    let [grants, ordinary] = ["grants", "none"].map(|gateway| {
        let got = bed.run(gateway, 1);
        got.class(1, from) / got.class(0, from)
    });
    (grants, ordinary)
}

#[test]
fn who_has_one_request_outstanding_has_the_part_of_one_who_has_fifty() {
    let endless = "\"1GB\"";
    for outstanding in [8, 50] {
        near(beside(outstanding, None, endless, 20).0, 1.0, 0.1);
        near(beside(outstanding, Some(8.0), endless, 20).0, 8.0, 0.1);
    }
    near(beside(8, None, endless, 100).0, 1.0, 0.1);
    near(beside(8, Some(8.0), endless, 100).0, 8.0, 0.1);
    // With a round trip of 100 ms, fifty initial windows are many times the bandwidth-delay product. 0.43 of an equal part
    // was observed, and with weight 8 from 5.9 to 8.0.
    let (grants, ordinary) = beside(50, None, endless, 100);
    assert!(grants >= 0.35 && grants >= 10.0 * ordinary, "{grants}, without scheduling {ordinary}");
    // A user who requests 100 kB at a time waits a round trip for each, and begins in slow start: 0.25 of an equal part was
    // observed with 20 ms, 0.17 with 100 ms.
    let (grants, ordinary) = beside(50, None, "\"100kB\"", 20);
    assert!(grants >= 0.2 && grants >= 5.0 * ordinary, "{grants}, without scheduling {ordinary}");
}

#[test]
fn who_has_one_request_outstanding_has_the_part_of_one_who_has_two_hundred() {
    // Most of the two hundred are stalled, and their servers probe the closed windows, many at once: a far queue of 25
    // packets with the usual target length drops a tenth of all packets, and the single connection has 0.43 of its part.
    for round_trip_ms in [10, 20, 40, 100] {
        near(beside(200, None, "\"1GB\"", round_trip_ms).0, 1.0, 0.1);
    }
}

#[test]
fn uploads_do_not_make_the_downlink_seem_slower() {
    let downloads = ("down", 1.0, 3, "each = 4, size = \"100kB\"");
    let uploads = ("up", 1.0, 1, "each = 6, size = 1000, upload = \"200kB\"");
    let link = "rate_back = \"512kbps\"\nbuffer_packets_back = 64";
    let adsl = Bed { down: "4Mbps", buffer_packets: 50, link, round_trip_ms: 40, stop_s: 120, ..BED };
    let without = Bed { classes: &[downloads], ..adsl }.run("grants", 1);
    let both = [downloads, uploads];
    // No pacing: acknowledgements wait in the uplink's queue behind uploads, under any policy. The comparison is therefore
    // with the ordinary gateway.
    let unpaced = Bed { classes: &both, ..adsl };
    let (ordinary, grants) = (unpaced.run("none", 1), unpaced.run("grants", 1));
    let down = |got: &Got| got.class(0, 20);
    assert!(down(&grants) >= 0.85 * down(&ordinary), "{} of {}", down(&grants), down(&ordinary));
    grants.figure("capacity").iter().for_each(|capacity| near(8.0 * capacity, grants.goodput_bps, 0.15));
    // Paced, the downlink keeps its rate without uploads, just as with the kernel's TCP (`gateway_hazards.rs`). Here three
    // acknowledgements go up for four segments, for which less than the uplink's rate is configured.
    let access = "tells_length = false\nuplink = \"460kbps\"";
    let paced = Bed { access, ..unpaced }.run("grants", 1);
    println!("{} unpaced, {} paced, {} without uploads", down(&grants), down(&paced), down(&without));
    assert!(down(&paced) >= 0.95 * down(&without), "{} of {}", down(&paced), down(&without));
    assert!(down(&paced) >= 0.95 * down(&grants), "{} unpaced", down(&grants));
    // What arrives bounds the estimate, so that the far queue does not fill up.
    paced.figure("capacity").iter().for_each(|capacity| near(8.0 * capacity, paced.goodput_bps, 0.05));
    assert!(paced.class(1, 20) > 0.0, "uploads go on");
}

#[test]
fn an_uplink_that_carries_less_than_configured_is_learnt() {
    let classes = [
        ("gold", 4.0, 1, ENDLESS),
        ("bronze", 1.0, 1, ENDLESS),
        ("up", 1.0, 2, "each = 1, size = 1000, upload = \"500kB\""),
    ];
    let link = "rate_back = \"512kbps\"\nbuffer_packets_back = 64";
    let adsl =
        Bed { down: "4Mbps", buffer_packets: 50, link, round_trip_ms: 160, stop_s: 240, classes: &classes, ..BED };
    for seed in 1..4 {
        let with = |access: &str| Bed { access, ..adsl }.run("grants", seed);
        let filled = ["512kbps", "1Mbps", "2Mbps", "6Mbps"]
            .map(|rate| with(&format!("tells_length = false\nuplink = \"{rate}\"")).filled(60));
        let fixed = with("tells_length = false\nuplink = \"2Mbps\"\nuplink_learn = false").filled(60);
        println!("{filled:.3?}, {fixed:.3} if it is not learnt");
        assert!(filled.iter().all(|&filled| filled > 0.8 && filled > fixed + 0.15), "{filled:?} {fixed}");
    }
}

#[test]
fn a_downlink_that_carries_less_is_noticed_although_uploads_go_on() {
    let classes = [("down", 1.0, 3, ENDLESS), ("up", 1.0, 2, "each = 1, size = 1000, upload = \"2MB\"")];
    let link = "rate_back = \"512kbps\"\nbuffer_packets_back = 64";
    let slower = Bed { buffer_packets: 100, link, round_trip_ms: 40, stop_s: 120, classes: &classes, ..BED };
    let with = |access: &str| Bed { access, ..slower }.run("grants", 1);
    let access = "tells_length = false\ncapacity = \"3.8Mbps\"\nuplink = \"512kbps\"";
    let (learnt, fixed) = (with(access), with(&format!("{access}\nuplink_learn = false")));
    println!("{:.3} of the rate, {:.3} if uploads never pause", learnt.believed(), fixed.believed());
    near(learnt.believed(), 1.0, 0.1);
    assert!(fixed.believed() > 1.5, "{}", fixed.believed());
}

#[test]
fn every_response_ends_though_the_far_buffer_and_windows_are_small() {
    let asks = "each = 4, size = \"50kB\"";
    for (buffer_packets, window) in [(8, "256kB"), (10, "16kB"), (25, "16kB"), (8, "4kB")] {
        for round_trip_ms in [20, 200] {
            let classes = [("gold", 4.0, 2, asks), ("bronze", 1.0, 2, asks)];
            let bed = Bed { buffer_packets, window, round_trip_ms, stop_s: 600, classes: &classes, ..BED };
            let [ordinary, grants] = ["none", "grants"].map(|gateway| {
                let got = bed.run_until(gateway, 1, Nanos::from_secs(60));
                assert_eq!(got.access().open, 0, "{gateway}: {buffer_packets} packets, {window}, {round_trip_ms} ms");
                got.access().exchanges.iter().filter_map(|one| one.took()).max().unwrap().as_secs_f64()
            });
            // With eight packets of queue and a round trip of 200 ms: 2.2 was observed.
            assert!(
                grants <= 2.5 * ordinary,
                "{buffer_packets}, {window}, {round_trip_ms} ms: {grants} s, {ordinary} s"
            );
        }
    }
}

#[test]
fn a_link_that_is_not_learnt_is_filled_though_no_length_is_known() {
    // Most of what a turn is charged for is refunded, and a bucket of 15 ms has no room for that.
    for size in ["\"8kB\"", "\"60kB\"", "{ lognormal = { mu = 9.357, sigma = 1.318, min = 1, max = \"2MB\" } }"] {
        let asks = format!("each = 4, size = {size}");
        let classes = [("gold", 4.0, 12, asks.as_str()), ("bronze", 1.0, 12, asks.as_str())];
        let access = "tells_length = false";
        let bed =
            Bed { down: "20Mbps", buffer_packets: 25, access, round_trip_ms: 60, stop_s: 40, classes: &classes, ..BED };
        let filled = bed.run("grants:learn=off", 1).filled(10);
        assert!(filled > 0.9, "{size}: {filled}");
    }
}

#[test]
fn a_single_response_from_far_away_has_its_part_beside_many_from_near_and_the_other_way_round() {
    let classes = [("one", 1.0, 1, ENDLESS), ("many", 1.0, 1, "each = 50, size = \"1GB\"")];
    for access in ["tells_length = true", "tells_length = false"] {
        for [one_ms, round_trip_ms] in [[202, 12], [42, 202]] {
            let elsewhere = format!(
                "[[link]]\nbetween = [\"elsewhere\", \"provider\"]\nrate = \"100Mbps\"\ndelay = \"{}ms\"\n",
                (one_ms - 2) / 2
            );
            let mixed =
                Bed { link: &elsewhere, round_trip_ms, window: "6MiB", stop_s: 120, access, classes: &classes, ..BED };
            for seed in 1..=3 {
                let mut network = mixed.network(seed);
                let server = network.nodes.iter().position(|node| node.name == "elsewhere").unwrap();
                network.traffic[0].from = vec![server];
                let got = mixed.simulate(&network, "grants");
                near(got.class(0, 30) / got.class(1, 30), 1.0, 0.03);
            }
        }
    }
}

/// How long five new users among 200 waited for their first 20 kB, on average and at most, in seconds.
fn newcomers(gateway: &str, class: &str, access: &str, seed: u64) -> (f64, f64) {
    let new = format!("rate = \"0.2/s\", size = \"20kB\"{class}");
    let classes = [("bulk", 1.0, 200, ENDLESS), ("new", 1.0, 5, new.as_str())];
    let bed = Bed { down: "10Mbps", buffer_packets: 100, access, stop_s: 60, classes: &classes, ..BED };
    let mut network = bed.network(seed);
    network.traffic[1].start = Nanos::from_secs(20);
    network.traffic[1].stop = Nanos::from_secs(40);
    let got = bed.simulate(&network, gateway);
    let mut first = [None; 5];
    for one in got.access().exchanges.iter().filter(|one| one.traffic == 1) {
        first[one.user - 200].get_or_insert(one.took().unwrap_or(Nanos::from_secs(40)).as_secs_f64());
    }
    let first = first.map(|took| took.expect("everybody asked"));
    (first.iter().sum::<f64>() / 5.0, first.into_iter().fold(0.0, f64::max))
}

#[test]
fn a_newcomer_among_two_hundred_has_a_small_page_soon() {
    for seed in 1..=2 {
        let (ordinary, _) = newcomers("none", "", BED.access, seed);
        for access in ["tells_length = true", "tells_length = false"] {
            let (_, longest) = newcomers("grants", ", class = \"bulk\"", access, seed);
            assert!(longest < 1.0, "of the same class, {access}: {longest} s");
        }
        // Users of a small class have to wait for its part: a 201st of the link.
        let (told, _) = newcomers("grants", "", "tells_length = true", seed);
        assert!(told <= 1.3 * ordinary, "of another class: {told} s, without scheduling {ordinary} s");
        // An unknown length costs more: 7.1 s on average with seed 1, against 1.9 s with the ordinary gateway. The first of
        // them is released within 3 ms and has its page after 5 s, when queued requests are overdue.
        let (untold, _) = newcomers("grants", "", "tells_length = false", seed);
        assert!(untold <= 4.0 * ordinary, "length not told: {untold} s, without scheduling {ordinary} s");
    }
}
