//! The network simulator's TCP compared with the kernel's, over a bottleneck with the same rate, delay and buffer.
//!
//! Requires root, network namespaces, veth, vxlan and the token bucket `tbf`; is skipped, with the reason, if one is missing.
//! `DOVETAIL_LONG=1` runs all rows of the table in docs/transport.md.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod kernel;

use std::{env, thread, time::Duration};

use dovetail_sched::{Limits, Nanos, PolicySpec, Weight, units::Rate};
use dovetail_sim::network::{
    Congestion, Kind, Link, Network, NetworkOptions, Node, Protocol, TcpConfig, Traffic, Transport, simulate_network,
};
use dovetail_skip::skipped;

use kernel::{Bottleneck, Path};

const MTU_BYTES: u32 = 1500;
const RATE_BPS: f64 = 10e6;
const DELAY: Duration = Duration::from_millis(20);
/// Segments carry this much of the MTU: no options.
const SEGMENT_BYTES: u32 = MTU_BYTES - 40;
/// A bandwidth-delay product.
const BUFFER_PACKETS: u32 = 33;
/// Documented tolerance between the simulator's goodput and the kernel's.
const CLOSE: f64 = 0.15;
/// The tolerance if the delay line kept time.
const CLOSE_IN_QUIET: f64 = 0.08;
/// The delay line kept time if it delayed no packet by more than this.
const QUIET: Duration = Duration::from_millis(10);
/// A delay line that pauses longer than this may lose packets: its sockets hold about this much of the link's traffic.
const LATEST: Duration = Duration::from_millis(100);
/// Slow start comes before.
const FROM_SECOND: usize = 5;

/// A row of the table.
#[derive(Debug, Clone, Copy)]
struct Case {
    congestion: Congestion,
    flows: usize,
    /// Including the one being sent.
    buffer_packets: u32,
    seconds: usize,
}

impl Case {
    fn name(&self) -> &'static str {
        match self.congestion {
            Congestion::Reno => "reno",
            _ => "cubic",
        }
    }
}

/// Rates of flows.
#[derive(Debug, Clone)]
struct Goodput {
    /// Total in the first seconds, in bits of TCP payload per second.
    early: f64,
    /// Each flow after that, likewise.
    flows: Vec<f64>,
    /// The fraction of all flows' later seconds in which a flow received less than a tenth of an equal share of the link.
    starved: f64,
}

impl Goodput {
    /// From the bytes that each flow received in each second.
    fn of(received: &[Vec<u64>], seconds: usize) -> Self {
        let bits = |flow: &[u64], from: usize, to: usize| -> Vec<f64> {
            (from..to).map(|second| flow.get(second).map_or(0.0, |&bytes| bytes as f64 * 8.0)).collect()
        };
        let mean = |bits: &[f64]| bits.iter().sum::<f64>() / bits.len() as f64;
        let late: Vec<_> = received.iter().map(|flow| bits(flow, FROM_SECOND, seconds)).collect();
        let tenth = 0.1 * RATE_BPS / late.len() as f64;
        let starved = late.iter().flatten().filter(|&&bits| bits < tenth).count();
        Self {
            early: received.iter().map(|flow| mean(&bits(flow, 0, FROM_SECOND))).sum(),
            starved: starved as f64 / late.iter().flatten().count() as f64,
            flows: late.iter().map(|flow| mean(flow)).collect(),
        }
    }
    fn total(&self) -> f64 {
        self.flows.iter().sum()
    }
    /// Jain's index of fairness.
    fn jain(&self) -> f64 {
        let squares: f64 = self.flows.iter().map(|flow| flow * flow).sum();
        self.total().powi(2) / (self.flows.len() as f64 * squares)
    }
    /// Utilisation of the link by goodput and its headers.
    fn used(&self) -> f64 {
        self.total() * f64::from(MTU_BYTES) / f64::from(SEGMENT_BYTES) / RATE_BPS
    }
}

fn simulated(case: &Case) -> Goodput {
    let fifo: PolicySpec = "fifo".parse().unwrap();
    let link = |from, to, bps, delay_ms, packets| Link {
        from,
        to,
        rate: Rate::from_bps(bps).unwrap(),
        changes: [].into(),
        delay: Nanos::from_millis(delay_ms),
        policy: fifo.clone(),
        limits: Limits { packets, flows: 1024, ..Limits::UNLIMITED },
        mark_packets: None,
    };
    let delay_ms = DELAY.as_millis() as u64;
    let network = Network {
        access: None,
        name: "path".into(),
        description: String::new(),
        source: String::new(),
        seed: 1,
        stop_at: Some(Nanos::from_secs(case.seconds as u64)),
        nodes: ["sender", "router", "receiver"].map(|name| Node { name: name.into() }).into(),
        links: vec![
            // The token bucket queues a packet until it has been sent; here it is on the transmitter.
            link(1, 2, RATE_BPS, delay_ms, Some(case.buffer_packets - 1)),
            link(0, 1, 1e9, 0, None),
            link(2, 1, 1e9, delay_ms, None),
            link(1, 0, 1e9, 0, None),
        ],
        watched: 0,
        transport: Transport {
            protocol: Protocol::Tcp,
            tcp: TcpConfig { congestion: case.congestion, ..TcpConfig::linux() },
            mtu_bytes: MTU_BYTES,
            jitter: Nanos::ZERO,
        },
        traffic: vec![Traffic {
            name: "flows".into(),
            weight: Weight::ONE,
            class: None,
            from: vec![0],
            to: vec![2],
            start: Nanos::ZERO,
            stop: Nanos::MAX,
            kind: Kind::LongLived(case.flows as u32),
        }],
    };
    let outcome = simulate_network(&network, &fifo, &mut (), NetworkOptions::default()).unwrap();
    let received: Vec<_> = outcome.streams.into_iter().map(|stream| stream.received_bytes).collect();
    Goodput::of(&received, case.seconds)
}

/// A path through the kernel for the case; the window is the simulator's, 256 KiB of twice as much memory.
fn path(case: &Case, sack: bool) -> Result<Path, String> {
    let bottleneck = Bottleneck { bps: RATE_BPS, mtu_bytes: MTU_BYTES, packets: case.buffer_packets, delay: DELAY };
    let sack = if sack { "1" } else { "0" };
    let settings =
        [("tcp_timestamps", "0"), ("tcp_sack", sack), ("tcp_rmem", "4096 524288 524288"), ("tcp_no_metrics_save", "1")];
    Path::new(&bottleneck, &settings)
}

/// Runs all cases through the kernel, a few at a time; returns also the longest that the delay line delayed a packet beyond
/// its time. An error tells why there is no path.
fn measured(cases: &[Case], sack: bool) -> Result<(Vec<Goodput>, Duration), String> {
    const AT_ONCE: usize = 4;
    let (mut all, mut latest) = (Vec::new(), Duration::ZERO);
    for some in cases.chunks(AT_ONCE) {
        let paths: Vec<Path> = some.iter().map(|case| path(case, sack)).collect::<Result<_, _>>()?;
        let received: Vec<_> = thread::scope(|scope| {
            let runs: Vec<_> = some
                .iter()
                .zip(&paths)
                .map(|(case, path)| scope.spawn(|| path.send(case.name(), case.flows, case.seconds)))
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        latest = paths.iter().map(Path::latest).fold(latest, Duration::max);
        for (received, case) in received.into_iter().zip(some) {
            let received = received.unwrap_or_else(|error| panic!("{case:?}: {error}"));
            all.push(Goodput::of(&received, case.seconds));
        }
    }
    Ok((all, latest))
}

/// A cell with a ratio, marked if it is far from 1.
fn ratio(simulator: f64, kernel: f64) -> String {
    let ratio = simulator / kernel;
    format!("{ratio:.2}{}", if (ratio - 1.0).abs() > CLOSE { " *" } else { "" })
}

/// Two tables: goodput in Mbit/s after the start, and how it begins and stalls.
fn print_tables(cases: &[Case], kernel: &[Goodput], without_sack: Option<&[Goodput]>) {
    let mega = |bps: f64| format!("{:.2}", bps / 1e6);
    let row = |case: &Case, cells: &[String]| {
        println!("| {} | {} | {} | {} |", case.name(), case.flows, case.buffer_packets, cells.join(" | "));
    };
    let simulated: Vec<_> = cases.iter().map(simulated).collect();
    println!("| TCP | flows | buffer | kernel | without SACK | simulator | ratio | Jain: kernel | simulator |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (at, case) in cases.iter().enumerate() {
        let (kernel, simulated) = (&kernel[at], &simulated[at]);
        let plain = without_sack.map_or("".into(), |all| mega(all[at].total()));
        let [first, second] = [kernel, simulated].map(|goodput| format!("{:.3}", goodput.jain()));
        let ratio = ratio(simulated.total(), kernel.total());
        row(case, &[mega(kernel.total()), plain, mega(simulated.total()), ratio, first, second]);
    }
    println!("\n| TCP | flows | buffer | first 5 s: kernel | simulator | ratio | starved: kernel | simulator |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for (at, case) in cases.iter().enumerate() {
        let (kernel, simulated) = (&kernel[at], &simulated[at]);
        let [first, second] = [kernel, simulated].map(|goodput| format!("{:.0} %", goodput.starved * 100.0));
        let ratio = ratio(simulated.early, kernel.early);
        row(case, &[mega(kernel.early), mega(simulated.early), ratio, first, second]);
    }
}

/// One path, alone.
fn alone() -> Case {
    Case { congestion: Congestion::Reno, flows: 1, buffer_packets: BUFFER_PACKETS, seconds: 0 }
}

#[test]
fn the_path_has_its_delay() {
    let path = match path(&alone(), true) {
        Ok(path) => path,
        Err(why) => return skipped(why),
    };
    let took = path.round_trip().unwrap();
    assert!(took >= 2 * DELAY && took < 2 * DELAY + Duration::from_millis(10), "{took:?}");
}

#[test]
fn goodput_is_the_kernels() {
    let long = env::var_os("DOVETAIL_LONG").is_some();
    let (flows, buffers, seconds): (&[usize], &[u32], _) =
        if long { (&[1, 2, 4, 8], &[BUFFER_PACKETS, 8], 20) } else { (&[1, 8], &[BUFFER_PACKETS], 15) };
    let mut cases = Vec::new();
    for &buffer_packets in buffers {
        for congestion in [Congestion::Reno, Congestion::Cubic] {
            cases.extend(flows.iter().map(|&flows| Case { congestion, flows, buffer_packets, seconds }));
        }
    }
    let (kernel, latest) = match measured(&cases, true) {
        Ok(measured) => measured,
        Err(why) => return skipped(why),
    };
    let without_sack = long.then(|| measured(&cases, false).unwrap().0);
    print_tables(&cases, &kernel, without_sack.as_deref());
    println!("\nThe delay line held packets for {latest:?} too long at most.");
    if latest > LATEST {
        return skipped("the processors are too busy to measure");
    }
    let close = if latest < QUIET { CLOSE_IN_QUIET } else { CLOSE };
    for (case, kernel) in cases.iter().zip(&kernel) {
        let simulated = simulated(case);
        assert!(kernel.used() > 0.75 && simulated.used() > 0.75, "{case:?}: {kernel:?} {simulated:?}");
        let ratio = simulated.total() / kernel.total();
        assert!((ratio - 1.0).abs() < close, "{case:?}: {ratio}, within {close}");
    }
}
