//! Scenarios: the format, and the resulting packets.
#![allow(clippy::unwrap_used)]

use std::io::Cursor;

use dovetail_sched::{Demand, FlowId, Nanos, Weight, units::parse_rate};
use dovetail_sim::workload::{Arrival, Scenario, Survey, Synthetic, Workload, survey};

/// A CPU that takes 10 µs per packet, and a link at 1 ns per bit.
const PIPELINE: &str = r#"
[[resource]]
name = "cpu"
[[resource]]
name = "link"
rate = "1Gbps"
[[class]]
name = "plain"
cost = { cpu = "10us" }
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    let mut open = |name: &str| match name {
        "sizes.csv" => Ok(Box::new(Cursor::new("# a table\n1 0\n1 0.5\n3 1.0\n")) as Box<_>),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    Scenario::parse(text, "test.toml", &mut open).map_err(|error| error.to_string())
}

fn with(head: &str, rest: &str) -> Scenario {
    parse(&format!("name = \"test\"\n{head}\n{PIPELINE}\n{rest}")).unwrap()
}

fn workload(head: &str, rest: &str) -> Synthetic {
    with(head, rest).workload().unwrap()
}

fn drain(workload: &mut Synthetic) -> Vec<Arrival> {
    let arrivals: Vec<_> = std::iter::from_fn(|| workload.next().unwrap()).collect();
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at), "time runs back");
    arrivals
}

fn totals(workload: &mut Synthetic) -> Survey {
    survey(workload).unwrap()
}

fn shipped(name: &str) -> Scenario {
    let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    Scenario::parse(&text, &path, &mut |_| Err(std::io::ErrorKind::NotFound.into())).unwrap()
}

/// Gaps between arrivals, in nanoseconds.
fn gaps(arrivals: &[Arrival]) -> Vec<f64> {
    arrivals.windows(2).map(|pair| (pair[1].at - pair[0].at).as_f64()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64
}

#[test]
fn constant_sources_keep_their_distance() {
    let text = "[[flow]]\nname = \"f\"\nsize = 1000\narrivals = { constant = \"100000/s\" }\n";
    let arrivals = drain(&mut workload("duration = \"1s\"", text));
    assert!((99_999..=100_000).contains(&arrivals.len()), "{}", arrivals.len());
    assert!(gaps(&arrivals).iter().all(|gap| (gap - 10_000.0).abs() <= 1.0));
    assert!(arrivals[0].at < Nanos(10_000));
    assert_eq!(arrivals[0].demand, Demand::new(&[Nanos(10_000), Nanos(8_000)]).unwrap());
    // At a bit rate, a packet takes the time of its own bits: 1,000 bytes at 8 Mbit/s are a millisecond.
    let text =
        "[[flow]]\nname = \"f\"\nsize = { uniform = { min = 500, max = 1500 } }\narrivals = { constant = \"8Mbps\" }\n";
    let arrivals = drain(&mut workload("duration = \"10s\"", text));
    for (packet, gap) in arrivals.iter().zip(gaps(&arrivals)) {
        assert!((gap - f64::from(packet.bytes) * 1000.0).abs() <= 1.0);
    }
    let bits: f64 = arrivals.iter().map(|packet| f64::from(packet.bytes) * 8.0).sum();
    assert!((bits / 80e6 - 1.0).abs() < 1e-3, "{bits}");
}

#[test]
fn poisson_gaps_are_exponential() {
    let text = "[[flow]]\nname = \"f\"\nsize = 1000\narrivals = { poisson = \"100000/s\" }\n";
    let arrivals = drain(&mut workload("duration = \"4s\"", text));
    let gaps = gaps(&arrivals);
    // Mean and deviation are 10 µs; at 400,000 samples four standard errors are 0.63 %, and of the deviation 0.9 %.
    assert!((mean(&gaps) / 1e4 - 1.0).abs() < 0.0064, "{}", mean(&gaps));
    assert!((variance(&gaps).sqrt() / 1e4 - 1.0).abs() < 0.012, "{}", variance(&gaps).sqrt());
    for unit in [0.1f64, 0.5, 0.9, 0.99] {
        let quantile = -(1.0 - unit).ln() * 1e4;
        let share = gaps.iter().filter(|&&gap| gap <= quantile).count() as f64 / gaps.len() as f64;
        assert!((share - unit).abs() < 0.0032, "{share} of the gaps are under the {unit} quantile");
    }
    // Counts in windows have a variance equal to their mean: an index of dispersion of 1.
    let mut counts = vec![0.0; 4000];
    for arrival in &arrivals {
        counts[(arrival.at.0 / 1_000_000) as usize] += 1.0;
    }
    // Four standard errors at 4,000 windows are 4·sqrt(2/4000) = 9 %.
    assert!((variance(&counts) / mean(&counts) - 1.0).abs() < 0.09, "{}", variance(&counts) / mean(&counts));
}

#[test]
fn on_off_sources_keep_their_mean_and_burst() {
    let flow = |on: &str, off: &str| {
        format!(
            "[[flow]]\nname = \"f\"\nsize = 1000\narrivals = {{ on-off = {{ rate = \"80Mbps\", on = \"{on}\", off = \"{off}\" }} }}\n"
        )
    };
    for (on, off, share) in [("5ms", "15ms", 0.25), ("10ms", "2500us", 0.8), ("50us", "50us", 0.5), ("1ms", "0", 1.0)] {
        let arrivals = drain(&mut workload("duration = \"100s\"", &flow(on, off)));
        // 10,000 packets a second while on, over 100 s.
        let expected = 1e6 * share;
        assert!((arrivals.len() as f64 / expected - 1.0).abs() < 0.05, "{on}/{off}: {}", arrivals.len());
        // Within a burst, packets are 100 µs apart, and never less.
        let gaps = gaps(&arrivals);
        assert!(gaps.iter().all(|&gap| gap >= 99_999.0));
        let together = gaps.iter().filter(|&&gap| gap <= 100_001.0).count() as f64 / gaps.len() as f64;
        // A gap contains no change with probability exp(-gap/on).
        let mean_on = dovetail_sched::units::parse_time(on).unwrap().as_f64();
        let expected = if off == "0" { 1.0 } else { (-1e5 / mean_on).exp() };
        assert!((together - expected).abs() < 0.01, "{on}/{off}: {together}, not {expected}");
        // Times off are exponential: their deviation is their mean. Four standard errors at 5,000 of them are 8 %.
        if on == "5ms" {
            let times: Vec<_> = gaps.iter().filter(|&&gap| gap > 100_001.0).map(|gap| gap - 1e5).collect();
            assert!((mean(&times) / 15e6 - 1.0).abs() < 0.08, "{}", mean(&times));
            assert!((variance(&times).sqrt() / 15e6 - 1.0).abs() < 0.1, "{}", variance(&times).sqrt());
        }
    }
}

#[test]
fn a_seed_fixes_everything() {
    let mut scenario = shipped("middlebox");
    let run = |scenario: &Scenario| drain(&mut scenario.workload().unwrap());
    let first = run(&scenario);
    assert!(first.len() > 10_000);
    assert_eq!(first, run(&scenario));
    scenario.seed += 1;
    assert_ne!(first, run(&scenario));
}

/// The numbers themselves: they must be the same on every machine and with every version.
#[test]
fn the_first_numbers_of_seed_7() {
    let sizes = [
        "{ uniform = { min = 1, max = 1000000 } }",
        "{ pareto = { shape = 1.2, min = 1, max = 1000000 } }",
        "{ lognormal = { mu = 6.0, sigma = 2.0, min = 1, max = 1000000 } }",
        "{ cdf = { points = [[1, 0], [1000000, 1]] } }",
    ];
    let mut found = Vec::new();
    for size in sizes {
        let flow = format!("[[flow]]\nname = \"f\"\nsize = {size}\narrivals = {{ poisson = \"1000/s\" }}\n");
        let mut workload = workload("seed = 7\npackets = 3", &flow);
        found.push(drain(&mut workload).iter().map(|one| (one.at.0, one.bytes)).collect::<Vec<_>>());
    }
    assert_eq!(found, FIRST_NUMBERS);
}

const FIRST_NUMBERS: [[(u64, u32); 3]; 4] = [
    [(1_816_820, 939_886), (2_788_871, 376_353), (3_467_852, 716_417)],
    [(1_816_820, 10), (2_788_871, 1), (3_467_852, 3)],
    [(1_816_820, 13), (2_288_990, 248), (2_487_590, 288)],
    [(1_816_820, 939_885), (2_788_871, 376_354), (3_467_852, 716_417)],
];

#[test]
fn backlogged_flows_start_full_and_are_refilled() {
    let text = r#"
[[flow]]
name = "early"
count = 2
class = "plain"
weight = 2.5
size = 100
arrivals = "backlogged"
[[flow]]
name = "late"
class = "plain"
size = 200
arrivals = "backlogged"
start = "1ms"
stop = "2ms"
packets = 6
"#;
    let mut made = workload("duration = \"3ms\"\nbacklog = 4", text);
    assert_eq!(made.backlog(), 4);
    let arrivals = drain(&mut made);
    let seen: Vec<_> = arrivals.iter().map(|one| (one.at.0, one.flow.0, one.bytes)).collect();
    let early =
        [(0, 0, 100), (0, 0, 100), (0, 0, 100), (0, 0, 100), (0, 1, 100), (0, 1, 100), (0, 1, 100), (0, 1, 100)];
    assert_eq!(seen[..8], early);
    assert_eq!(seen[8..], [(1_000_000, 2, 200); 4]);
    assert_eq!((made.label(FlowId(1)), made.label(FlowId(2))), ("early-2".into(), "late".into()));
    assert_eq!((made.weight(FlowId(1)), made.weight(FlowId(2))), (Weight::new(2.5).unwrap(), Weight::ONE));
    assert_eq!(made.class(FlowId(0)), Some("plain"));
    let refilled = made.refill(FlowId(2), Nanos(1_500_000)).unwrap();
    assert_eq!((refilled.at, refilled.flow, refilled.bytes), (Nanos(1_500_000), FlowId(2), 200));
    assert!(made.refill(FlowId(2), Nanos(2_000_000)).is_none(), "it has stopped");
    assert!(made.refill(FlowId(2), Nanos(1_600_000)).is_some());
    assert!(made.refill(FlowId(2), Nanos(1_700_000)).is_none(), "it has had its six packets");
    assert!(made.refill(FlowId(0), Nanos(2_999_999)).is_some());
    assert!(made.refill(FlowId(0), Nanos(3_000_000)).is_none(), "the scenario is over");
    assert!(made.refill(FlowId(9), Nanos(0)).is_none());
    // A queue that holds less than the backlog would drop the rest.
    assert_eq!(workload("packets = 9\nbacklog = 50\nqueue_packets = 20", text).backlog(), 20);
    // The limit on packets counts both kinds.
    let mut made = workload("packets = 10\nbacklog = 4", text);
    assert_eq!((made.packets_hint(), drain(&mut made).len()), (Some(10), 10));
    assert!(made.refill(FlowId(0), Nanos(5)).is_none());
}

#[test]
fn changes_take_effect_at_their_time() {
    let text = r#"
[[class]]
name = "dear"
cost = { cpu = "1ms", link = "3us" }
[[flow]]
name = "open"
class = "plain"
size = 1000
arrivals = { constant = "1000/s" }
change = [{ at = "10ms", class = "dear" }, { at = "20ms", class = "plain" }]
[[flow]]
name = "full"
class = "plain"
size = 1000
arrivals = "backlogged"
change = [{ at = "10ms", class = "dear" }]
"#;
    let mut made = workload("duration = \"30ms\"\nbacklog = 1", text);
    for arrival in drain(&mut made).iter().filter(|arrival| arrival.flow == FlowId(0)) {
        let dear = (Nanos::from_millis(10)..Nanos::from_millis(20)).contains(&arrival.at);
        let expected = if dear { [Nanos(1_000_000), Nanos(3_000)] } else { [Nanos(10_000), Nanos(8_000)] };
        assert_eq!(arrival.demand.times(), expected, "at {:?}", arrival.at);
    }
    let mut cpu = |at| made.refill(FlowId(1), Nanos(at)).map(|arrival| arrival.demand.times()[0]);
    assert_eq!((cpu(9_999_999), cpu(10_000_000)), (Some(Nanos(10_000)), Some(Nanos(1_000_000))));
    assert_eq!(made.class(FlowId(1)), Some("dear"));
}

#[test]
fn transfers_are_flows_cut_into_packets() {
    let text = r#"
[[flow]]
name = "listed"
class = "plain"
size = 1
arrivals = "backlogged"
packets = 1
[[transfers]]
name = "t"
class = "plain"
weight = 3.0
size = 3100
mtu = 1500
pace = "12Mbps"
arrivals = { constant = "100/s" }
flows = 5
"#;
    let mut made = workload("duration = \"1s\"", text);
    assert_eq!(made.packets_hint(), Some(16));
    let arrivals = drain(&mut made);
    assert_eq!(arrivals.len(), 1 + 5 * 3);
    for flow in 1..=5 {
        let own: Vec<_> = arrivals.iter().filter(|arrival| arrival.flow == FlowId(flow)).collect();
        let sizes: Vec<_> = own.iter().map(|arrival| arrival.bytes).collect();
        assert_eq!(sizes, [1500, 1500, 100]);
        // 1,500 bytes at 12 Mbit/s take a millisecond.
        assert!(
            (own[1].at - own[0].at).0.abs_diff(1_000_000) <= 1 && (own[2].at - own[1].at).0.abs_diff(1_000_000) <= 1
        );
        assert_eq!(made.label(FlowId(flow)), format!("t-{flow}"));
        assert_eq!(made.weight(FlowId(flow)), Weight::new(3.0).unwrap());
    }
    assert!(made.notices().is_empty(), "five were asked for");
}

#[test]
fn a_million_flows_of_one_packet() {
    let mut made = shipped("one-packet-flows").workload().unwrap();
    let totals = totals(&mut made);
    assert_eq!((totals.packets, totals.flows), (1_000_000, 1_000_000));
    let load = totals.loads().into_iter().fold(0.0, f64::max);
    assert!((load - 0.9).abs() < 0.005, "{load}");
}

#[test]
fn a_default_limit_on_flows_is_told() {
    let text = "[[transfers]]\nname = \"t\"\nclass = \"plain\"\nsize = 1\narrivals = { constant = \"100000000/s\" }\n";
    let mut made = workload("", text);
    assert_eq!(totals(&mut made).flows, 1_000_000);
    assert!(made.notices()[0].what.contains("'t' ended at the default limit of 1000000 flows"), "{:?}", made.notices());
}

#[test]
fn load_is_what_arrives() {
    // For each kind of source, the analytic load against the sum over its packets.
    let kinds = [
        "size = { uniform = { min = 64, max = 1500 } }\narrivals = { poisson = \"10Mbps\" }",
        "size = { pareto = { shape = 1.3, min = 64, max = 9000 } }\narrivals = { constant = \"1Mbps\" }",
        "size = { lognormal = { mu = 6.0, sigma = 1.0, min = 64, max = 9000 } }\narrivals = { poisson = \"7/s\" }",
        "size = { cdf = { file = \"sizes.csv\", unit = \"500B\" } }\narrivals = { on-off = { rate = \"1000/s\", on = \"4ms\", off = \"8ms\" } }",
    ];
    for kind in kinds {
        for (load, extra) in [(0.5, ""), (0.9, "start = \"5s\"\nstop = \"15s\"\n")] {
            let flow = format!("[[flow]]\nname = \"f\"\ncount = 20\nclass = \"plain\"\n{kind}\n{extra}");
            let scenario = with(&format!("duration = \"20s\"\nload = {load}"), &flow);
            let totals = totals(&mut scenario.workload().unwrap());
            let busiest = totals.demand.iter().copied().fold(Nanos::ZERO, Nanos::max).as_secs_f64() / 20.0;
            assert!((busiest / load - 1.0).abs() < 0.02, "{kind} {extra}: {busiest}, not {load}");
            let hint = scenario.workload().unwrap().packets_hint().unwrap() as f64;
            assert!((hint / totals.packets as f64 - 1.0).abs() < 0.02, "{kind}: {hint}, not {}", totals.packets);
        }
    }
    // Transfers: packets cost CPU by number, and the last of a transfer is a small one.
    let transfers = r#"
[[transfers]]
name = "t"
size = { pareto = { shape = 1.5, min = 100, max = 1000000 } }
arrivals = { poisson = "500/s" }
pace = "1Gbps"
flows = 5_000_000
"#;
    let scenario = with("duration = \"20s\"\nload = 0.7", transfers);
    let made = totals(&mut scenario.workload().unwrap());
    let busiest = made.demand.iter().copied().fold(Nanos::ZERO, Nanos::max).as_secs_f64() / 20.0;
    assert!((busiest / 0.7 - 1.0).abs() < 0.05, "{busiest}");
    // Random classes and a change in time.
    let mixed = r#"
[[class]]
name = "dear"
cost = { cpu = "90us" }
share = 3.0
[[flow]]
name = "f"
count = 400
size = 100
arrivals = { poisson = "20/s" }
[[flow]]
name = "g"
class = "plain"
size = 100
arrivals = { poisson = "2000/s" }
change = [{ at = "5s", class = "dear" }]
"#;
    let scenario = with("duration = \"20s\"\nload = 0.7", mixed);
    let made = totals(&mut scenario.workload().unwrap());
    let busiest = made.demand[0].as_secs_f64() / 20.0;
    // A quarter of the flows get the cheap class, approximately: 400 flows leave an uncertainty of 4 %.
    assert!((busiest / 0.7 - 1.0).abs() < 0.05, "{busiest}");
}

#[test]
fn rates_can_be_changed_before_the_run() {
    let mut scenario = shipped("atfq-fig9");
    scenario.classes.set_rate("link", parse_rate("800Mbps").unwrap()).unwrap();
    let arrival = scenario.workload().unwrap().next().unwrap().unwrap();
    assert_eq!(arrival.demand.times(), [Nanos(87_500), Nanos(2_000)], "200 bytes of IPsec");
}

#[test]
fn shipped_scenarios_are_what_they_say() {
    let mut made = shipped("middlebox").workload().unwrap();
    let totals_of_all = totals(&mut made);
    assert_eq!(totals_of_all.flows, 22);
    let load = totals_of_all.demand.iter().copied().fold(Nanos::ZERO, Nanos::max).as_secs_f64() / 2.0;
    assert!((load / 1.2 - 1.0).abs() < 0.03, "{load}");

    let fig1 = shipped("atfq-fig1");
    let mut made = fig1.workload().unwrap();
    let units: Vec<_> = [0, 1].map(|flow| made.refill(FlowId(flow), Nanos(0)).unwrap().demand.times().to_vec()).into();
    let unit = Nanos::from_micros(10);
    let times = |cpu: u64, link: u64| vec![Nanos(unit.0 * cpu), Nanos(unit.0 * link)];
    assert_eq!(units, [times(4, 4), times(2, 1)]);

    let fig5 = shipped("atfq-fig5");
    let mut made = fig5.workload().unwrap();
    let arrivals = drain(&mut made);
    let late = FlowId(3);
    assert_eq!(made.label(late), "BF");
    assert!(arrivals.iter().all(|one| (one.at == Nanos::from_secs(2)) == (one.flow == late)));
    for (flow, cpu_ns, link_ns) in [(0, 99_500, 20_000), (1, 12_740, 16_000), (2, 15_162, 12_000), (3, 6_772, 4_000)] {
        let mut at = |seconds| made.refill(FlowId(flow), Nanos::from_secs(seconds)).unwrap().demand.times().to_vec();
        assert_eq!(at(3), [Nanos(cpu_ns), Nanos(link_ns)], "flow {flow}");
        assert_eq!(at(4), [Nanos(link_ns), Nanos(cpu_ns)], "flow {flow}, swapped");
    }

    let fig9 = shipped("atfq-fig9");
    assert_eq!((fig9.packets, fig9.pipeline.as_deref()), (Some(1_000_000), Some("no-wait")));
    let mut made = fig9.workload().unwrap();
    // Flow 3 is the third of five IPsec flows, with packets of 600 bytes; flow 18 the third of redundancy elimination.
    for (flow, cpu_ns) in [(3, 93_500), (8, 12_580), (13, 7_916), (18, 15_162)] {
        let arrival = made.refill(FlowId(flow - 1), Nanos(0)).unwrap();
        assert_eq!((arrival.bytes, arrival.demand.times()), (600, &[Nanos(cpu_ns), Nanos(12_000)][..]));
    }

    let mut speed = shipped("speed");
    speed.duration = Some(Nanos::from_secs(1));
    let totals_of_all = totals(&mut speed.workload().unwrap());
    let load = totals_of_all.demand.iter().copied().fold(Nanos::ZERO, Nanos::max).as_secs_f64();
    assert!(totals_of_all.flows == 1000 && (load / 0.95 - 1.0).abs() < 0.01, "{load}");

    let mut web = shipped("websearch");
    // Heavy tails converge slowly: many transfers for a mean.
    web.duration = Some(Nanos::from_secs(100));
    let made = totals(&mut web.workload().unwrap());
    let bytes = made.bytes as f64 / made.flows as f64;
    assert!((bytes / 1.49e6 - 1.0).abs() < 0.08, "{bytes}");
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let pipeline = PIPELINE.replace("rate = \"1Gbps\"", "rate = \"RATE\"");
    let text = |head: &str, rest: &str| format!("name = \"test\"\n{head}\n{PIPELINE}\n{rest}");
    let flow = |lines: &str| format!("[[flow]]\nname = \"f\"\n{lines}\n");
    let good = "size = 1\narrivals = \"backlogged\"";
    let class_of = |line: &str| text(&format!("[[class]]\nname = \"other\"\n{line}"), &flow(good));
    let cases: Vec<(String, &str)> = vec![
        ("name = ".into(), "test.toml, line 1: "),
        ("name = \"x\"\ncolour = 3".into(), "line 2: unknown field `colour`, expected one of `name`"),
        (
            class_of("cost = { cpu = \"ten\" }"),
            "\"ten\": not a time for each byte, each packet or both; a cost such as \"15ns*bytes + 84.5us\"",
        ),
        (
            class_of("ports = [\"9-8\"]"),
            "\"9-8\": neither a port nor a range that ascends; a port such as 443, or a range such as \"8000-8099\"",
        ),
        (
            class_of("prefixes = [\"::/129\"]"),
            "\"::/129\": the address is wrong, or the length behind it; an address prefix such as \"10.0.0.0/8\"",
        ),
        (text("", &flow("size = 1\narrivals = \"now\"")), "line 16: \"now\" is neither \"backlogged\" nor"),
        (text("", &flow("size = 1\narrivals = { bursty = 3 }")), "unknown field `bursty`, expected"),
        (text("", &flow("size = 1\narrivals = { poisson = \"3 a day\" }")), "line 16: \"3 a day\": "),
        (
            text("", &flow("size = { uniform = { min = 9, max = 8 } }\narrivals = \"backlogged\"")),
            "line 13: flow 'f': size: min (9) is over max (8)",
        ),
        (
            text("", &flow("size = { uniform = { min = 9, max = 8 }, fixed = 3 }\narrivals = \"backlogged\"")),
            "is one kind too many",
        ),
        (text("", &flow("size = 0\narrivals = \"backlogged\"")), "sizes are from 1 to 1000000000 bytes"),
        (
            text("", &flow("size = { cdf = { file = \"gone.csv\" } }\narrivals = \"backlogged\"")),
            "flow 'f': gone.csv: cannot be read",
        ),
        (
            text("", &flow("size = { cdf = { points = [[1, 0], [2, 0.5]] } }\narrivals = \"backlogged\"")),
            "the last share is 0.5",
        ),
        (text("", &flow(&format!("class = \"none\"\n{good}"))), "there is no class 'none', only plain"),
        (text("", &flow(&format!("weight = -1.0\n{good}"))), "weight is from 0.000001"),
        (text("", &flow(&format!("count = 2000000\n{good}"))), "over 1000000 flows: use [[transfers]]"),
        (
            text("", &flow(&format!("start = \"5\"\n{good}"))),
            "\"5\": there is no unit behind the number: use one of ns us ms s min",
        ),
        (
            text(
                "",
                &flow(&format!(
                    "change = [{{ at = \"1s\", class = \"plain\" }}, {{ at = \"1s\", class = \"plain\" }}]\n{good}"
                )),
            ),
            "changes are in order of time",
        ),
        (text("", &[flow(good), flow(good)].concat()), "line 17: flow 'f': another has the same name"),
        (
            text("", &[flow(&format!("count = 2\n{good}")), flow(good).replace("\"f\"", "\"f-2\"")].concat()),
            "line 18: flow 'f-2': number 2 of 'f' has the same name",
        ),
        (text("", &flow(&format!("start = \"2s\"\nstop = \"2s\"\n{good}"))), "line 13: flow 'f': stop is after start"),
        (
            text("", "[[transfers]]\nname = \"t\"\nsize = 1\narrivals = \"backlogged\""),
            "transfers arrive constant or poisson",
        ),
        (text("", "[flow]\nname = \"f\""), "line 13: flow: write [[flow]], with two brackets"),
        (
            text("", "[[class]]\nname = \"p\"\n[[class.noise]]\nspread = 0.4"),
            "line 15: class.noise: write [class.noise], with",
        ),
        (
            text("", "[[class]]\nname = \"p\"\n[[class.cost]]\ncpu = \"1us\""),
            "line 15: class.cost: write [class.cost], with",
        ),
        (
            text("", "[resource]\nname = \"gpu\""),
            "line 13: there is a [resource] before: for several, write [[resource]]",
        ),
        (text("", "[[class]]\nname = \"p\"\ncost = { gpu = \"1us\" }"), "line 13: class 'p' has no cost for 'cpu'"),
        (text("", "[[class]]\nname = \"plain\"\ncost = { cpu = \"1us\" }"), "line 13: there are two classes 'plain'"),
        (text("", "[[class]]\nname = \"p\"\ncost = { cpu = \"1us per byte\" }"), "line 15: \"1us per byte\": "),
        (text("", "[[resource]]\nname = \"cpu\""), "there are two resources 'cpu'"),
        (text("pipeline = \"buffer=x\"", ""), "line 2: pipeline 'buffer=x': it is no-wait, unbounded or buffer=K"),
        (text("backlog = 0", ""), "line 2: backlog is at least 1"),
        (text("seed = 1\nqueue_packets = 0", ""), "line 3: queue_packets is at least 1"),
        (text("packets = 0", ""), "line 2: packets is at least 1"),
        (text("packets = 5\nload = -1.0", ""), "line 3: load is a number from 0.000001 to 1000000, not -1"),
        (text("duration = 0", ""), "line 2: duration is longer than nothing"),
        (text("", "").replace("\"test\"", "\"t\\u001b[31m\""), "line 1: name: there is a control character, \\u{1b}"),
        (text("", &flow(good).replace("\"f\"", "\"\\u001b\"")), "flow '\\u{1b}': a name is 1 to 64 bytes long"),
        (text("seed = -1", ""), "line 2"),
        (format!("name = \"t\"\n{pipeline}"), "line 7: \"RATE\": "),
        ("name = \"x\"\nresource = []".into(), "1 to 8 resources, not 0"),
    ];
    for (text, expected) in cases {
        let error = parse(&text).expect_err(&text);
        assert!(
            error.starts_with("test.toml") && error.contains(expected),
            "{error}\n— where this was expected: {expected}"
        );
    }
}

#[test]
fn what_cannot_run_says_why() {
    let error = |head: &str, rest: &str| with(head, rest).workload().unwrap_err().to_string();
    let flow =
        |arrivals: &str| format!("[[flow]]\nname = \"f\"\nclass = \"plain\"\nsize = 100\narrivals = {arrivals}\n");
    assert!(
        error("", "").contains("has no packets: it needs a [[flow]], a [[transfers]], or a capture (trace) beside it")
    );
    assert!(error("", &flow("\"backlogged\"")).contains("flow 'f' has no end"));
    assert!(
        error("packets = 5\nload = 0.5", &flow("\"backlogged\"")).contains("backlogged flows take all that is left")
    );
    let fast = flow("{ constant = \"1000000000/s\" }");
    assert!(error("packets = 5\nload = 900000.0", &fast).contains("more than one arrival a nanosecond"));
    let slow = flow("{ on-off = { rate = \"1/s\", on = \"1us\", off = \"1s\" } }");
    assert!(error("packets = 5", &slow).contains("over 1000 times on"));
    let shareless = "[[class]]\nname = \"b\"\ncost = { cpu = \"1us\" }\nshare = 0.0\n[[flow]]\nname = \"f\"\nsize = 1\narrivals = \"backlogged\"\n";
    let text =
        format!("name = \"t\"\npackets = 3\n{}{shareless}", PIPELINE.replace("\"10us\" }", "\"10us\" }\nshare = 0.0"));
    assert!(parse(&text).unwrap().workload().unwrap_err().to_string().contains("no class has a share"));
}

#[test]
fn weights_counts_and_metadata() {
    let text = "description = \"d\"\nsource = \"s\"\nqueue_packets = 7\npipeline = \"buffer=3\"\npackets = 1_000";
    let scenario = with(text, "[[flow]]\nname = \"f\"\ncount = 3\nsize = 1\narrivals = { poisson = \"1/s\" }\n");
    assert_eq!((scenario.description.as_str(), scenario.source.as_str()), ("d", "s"));
    assert_eq!((scenario.queue_packets, scenario.pipeline.as_deref()), (Some(7), Some("buffer=3")));
    assert_eq!((scenario.backlog, scenario.duration, scenario.load), (256, None, None));
    let mut made = scenario.workload().unwrap();
    assert_eq!(made.resources(), ["cpu", "link"]);
    assert_eq!(totals(&mut made).packets, 1000);
    assert_eq!(["f-1", "f-2", "f-3"], [0, 1, 2].map(|flow| made.label(FlowId(flow))));
}

#[test]
fn the_example_of_the_reference_runs() {
    let page = include_str!("../../../../docs/scenarios.md");
    let example = page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let mut made = parse(example).unwrap().workload().unwrap();
    let totals = totals(&mut made);
    assert!(totals.flows > 1500, "{totals:?}");
}
