//! What is recorded: groups of cases, and a line of TOML for each run.
//!
//! A line names everything that the run depends on, so that a simulator can repeat it without knowing this file.

use std::io::{self, Write};

use crate::{
    link::Path,
    run::{Case, Flow, Got, Mishaps, Outcome, run},
};

/// No queue is marked.
const NEVER: usize = 1_000_000;
/// What the token bucket may hold: a packet and a little.
const BUCKET_BYTES: u64 = 1550;
/// Tenths of a second that count as the start.
const EARLY: usize = 50;

/// A group's name, and what records it.
pub type Group = (&'static str, fn(&mut dyn Write) -> io::Result<()>);

/// Groups, in the order of the file.
pub const GROUPS: &[Group] = &[
    ("rows", rows),
    ("bucket", bucket),
    ("short", short),
    ("sizes", sizes),
    ("paths", paths),
    ("events", events),
    ("bbr", bbr),
    ("rows_installed", rows_installed),
    ("crowd", crowd),
];

fn path(buffer_packets: usize) -> Path {
    Path { bits_per_s: 10_000_000, delay_us: 20_000, buffer_packets, mark_above: NEVER, bucket_bytes: 0 }
}

/// Unlimited flows, which begin one after the other.
fn long(flows: u64, stagger: u64) -> Vec<Flow> {
    let begins = |at| at * (stagger * 7300 + 1300);
    (0..flows).map(|at| Flow { begins_us: begins(at), segments: None, pauses_us: 0 }).collect()
}

/// How often such a run is repeated: one flow has none that it could begin after.
const fn staggers(flows: u64) -> u64 {
    if flows == 1 { 1 } else { 5 }
}

fn plain(congestion: &'static str, path: Path, flows: Vec<Flow>, seconds: u64) -> Case {
    Case {
        congestion,
        ecn: false,
        send_buffer_bytes: None,
        receive_buffer_bytes: ample(&path),
        path,
        flows,
        mishaps: Mishaps::default(),
        seconds,
    }
}

/// A receive buffer that never holds up the sender, of one size, so that a simulator need not model its growth. Windows grow
/// from 64 KiB to 256 KiB, or to four bandwidth-delay products.
fn ample(path: &Path) -> Option<u64> {
    let window = (path.bits_per_s * path.delay_us / 1_000_000).max(256 << 10);
    // The kernel's overhead: a full segment takes 2,304 bytes.
    Some(window * 256 / 162)
}

/// The case with receivers' buffers as they are or as installed: growing with what arrives.
fn receiver(case: Case, is_installed: bool) -> Case {
    Case { receive_buffer_bytes: case.receive_buffer_bytes.filter(|_| !is_installed), ..case }
}

fn head(case: &Case) -> String {
    let Path { bits_per_s, delay_us, buffer_packets, .. } = case.path;
    format!(
        "congestion = \"{}\", bits_per_s = {bits_per_s}, delay_us = {delay_us}, buffer_packets = {buffer_packets}, \
         receive_buffer_bytes = {}",
        case.congestion,
        case.receive_buffer_bytes.unwrap_or(0)
    )
}

fn counts(outcome: &Outcome) -> String {
    let count = |name: &str| outcome.counters.get(name).copied().unwrap_or(0);
    let (timeouts, probes) = (count("TCPTimeouts"), count("TCPLossProbes"));
    format!("timeouts = {timeouts}, probes = {probes}")
}

/// A line for a run of unlimited flows.
fn goodput(out: &mut dyn Write, case: &Case, stagger: u64) -> io::Result<()> {
    let outcome = run(case)?;
    let each = |of: &dyn Fn(&Got) -> u64| outcome.flows.iter().map(of).collect::<Vec<_>>();
    let sum = |got: &Got, from: usize, to: usize| -> u64 { got.tenths.iter().take(to).skip(from).sum() };
    let end = case.seconds as usize * 10;
    writeln!(
        out,
        "  {{ {}, bucket_bytes = {}, flows = {}, stagger = {stagger}, early_bytes = {:?}, late_bytes = {:?}, drops = {:?}, \
         retransmissions = {:?}, window_bytes = {:?}, {} }},",
        head(case),
        case.path.bucket_bytes,
        case.flows.len(),
        each(&|got| sum(got, 0, EARLY)),
        each(&|got| sum(got, EARLY, end)),
        each(&|got| got.drops),
        each(&|got| got.retransmissions),
        each(&|got| got.window_bytes),
        counts(&outcome),
    )
}

fn sixteen(out: &mut dyn Write, bucket_bytes: u64, is_installed: bool) -> io::Result<()> {
    for buffer in [33, 8] {
        for congestion in ["reno", "cubic"] {
            for flows in [1, 2, 4, 8] {
                for stagger in 0..staggers(flows) {
                    let path = Path { bucket_bytes, ..path(buffer) };
                    let case = plain(congestion, path, long(flows, stagger), 20);
                    goodput(out, &receiver(case, is_installed), stagger)?;
                }
            }
        }
    }
    Ok(())
}

fn rows(out: &mut dyn Write) -> io::Result<()> {
    sixteen(out, 0, false)
}

fn rows_installed(out: &mut dyn Write) -> io::Result<()> {
    sixteen(out, 0, true)
}

fn bucket(out: &mut dyn Write) -> io::Result<()> {
    sixteen(out, BUCKET_BYTES, false)
}

/// `transfers` of some segments beside long flows from second 5 on, over five delays that differ by less than a packet's time.
fn beside(
    out: &mut dyn Write,
    (congestion, buffer): (&'static str, usize),
    flows: u64,
    (segments, transfers, gap_ms): (u64, u64, u64),
) -> io::Result<()> {
    for nudge in 0..5 {
        let path = Path { delay_us: 20_000 + 260 * nudge, ..path(buffer) };
        let mut all = long(flows, 0);
        for at in 0..transfers {
            let begins_us = 5_000_000 + at * gap_ms * 1000;
            all.push(Flow { begins_us, segments: Some(segments), pauses_us: 0 });
        }
        let case = plain(congestion, path, all, 15 + transfers * gap_ms / 1000);
        let outcome = run(&case)?;
        let (bulk, shorts) = outcome.flows.split_at(flows as usize);
        let took: Vec<_> = shorts.iter().map(|got| got.took_us.unwrap_or(0)).collect();
        let window = |flows: &[Got]| flows.iter().map(|got| got.window_bytes).max().unwrap_or(0);
        writeln!(
            out,
            "  {{ {}, flows = {flows}, segments = {segments}, transfers = {transfers}, gap_ms = {gap_ms}, \
             long_window_bytes = {}, window_bytes = {}, took_us = {took:?}, {} }},",
            head(&case),
            window(bulk),
            window(shorts),
            counts(&outcome),
        )?;
    }
    Ok(())
}

/// A thousand transfers of each row beside four flows: what is lost decides how long a transfer takes, so that fewer say little.
fn short(out: &mut dyn Write) -> io::Result<()> {
    for buffer in [33, 8] {
        for congestion in ["reno", "cubic"] {
            for (flows, transfers, gap_ms) in [(1, 40, 500), (1, 40, 1000), (4, 200, 1000)] {
                beside(out, (congestion, buffer), flows, (20, transfers, gap_ms))?;
            }
        }
    }
    Ok(())
}

fn sizes(out: &mut dyn Write) -> io::Result<()> {
    for buffer in [33, 8] {
        for flows in [0, 1] {
            for segments in [1, 5, 20, 100] {
                beside(out, ("cubic", buffer), flows, (segments, 10, 2000))?;
            }
        }
    }
    Ok(())
}

fn paths(out: &mut dyn Write) -> io::Result<()> {
    for bits_per_s in [2_000_000, 3_000_000, 50_000_000] {
        for round_trip_us in [10_000, 40_000, 100_000] {
            let product = bits_per_s * round_trip_us / 1_000_000 / 8 / 1500;
            let mut buffers = [product / 2, product].map(|packets| (packets as usize).max(8)).to_vec();
            buffers.dedup();
            for buffer_packets in buffers {
                for congestion in ["cubic", "reno"] {
                    // The fastest take long to simulate.
                    let staggers = if bits_per_s < 10_000_000 { 3 } else { 1 };
                    for (flows, staggers) in [(1, 1), (4, staggers)] {
                        for stagger in 0..staggers {
                            let path = Path { bits_per_s, delay_us: round_trip_us / 2, ..path(buffer_packets) };
                            goodput(out, &plain(congestion, path, long(flows, stagger), 20), stagger)?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

/// One transfer of 100 segments, and what happens to it.
fn events(out: &mut dyn Write) -> io::Result<()> {
    let lost = |lost: &[(u32, u32)]| Mishaps { lost: lost.to_vec(), ..Mishaps::default() };
    let late = |late: &[u32]| Mishaps { late: late.to_vec(), ..Mishaps::default() };
    let mishaps = [
        ("nothing", Mishaps::default()),
        ("SYN lost", Mishaps { syns: 1, ..Mishaps::default() }),
        ("SYN lost twice", Mishaps { syns: 2, ..Mishaps::default() }),
        ("SYN-ACK lost", Mishaps { syn_acks: 1, ..Mishaps::default() }),
        ("last segment lost", lost(&[(100, 1)])),
        ("10th segment lost", lost(&[(10, 1)])),
        ("and sent again, lost again", lost(&[(10, 2)])),
        ("three of a window lost", lost(&[(40, 1), (43, 1), (46, 1)])),
        ("one three places late", late(&[40])),
        ("every 20th three places late", late(&[20, 40, 60, 80])),
        ("receiver pauses", Mishaps::default()),
        ("marks above five packets", Mishaps::default()),
    ];
    for congestion in ["cubic", "reno"] {
        for (name, mishaps) in &mishaps {
            let pauses_us = if *name == "receiver pauses" { 2_000_000 } else { 0 };
            let marks = name.starts_with("marks");
            let path = Path { mark_above: if marks { 5 } else { NEVER }, ..path(1000) };
            let flow = Flow { begins_us: 0, segments: Some(100), pauses_us };
            let case = Case { ecn: marks, mishaps: mishaps.clone(), ..plain(congestion, path, vec![flow], 20) };
            // A buffer that the transfer does not fit into shuts the window.
            let receive_buffer_bytes = if pauses_us > 0 { Some(128 << 10) } else { case.receive_buffer_bytes };
            let case = Case { receive_buffer_bytes, ..case };
            let outcome = run(&case)?;
            let pairs: Vec<_> = mishaps.lost.iter().map(|&(segment, times)| [segment, times]).collect();
            writeln!(
                out,
                "  {{ name = \"{name}\", {}, mark_above = {}, segments = 100, lost_syns = {}, lost_syn_acks = {}, \
                 lost = {pairs:?}, late = {:?}, pauses_us = {pauses_us}, window_bytes = {}, \
                 took_us = {}, retransmissions = {}, {} }},",
                head(&case),
                case.path.mark_above,
                mishaps.syns,
                mishaps.syn_acks,
                mishaps.late,
                outcome.flows[0].window_bytes,
                outcome.flows[0].took_us.unwrap_or(0),
                outcome.flows[0].retransmissions,
                counts(&outcome),
            )?;
        }
    }
    Ok(())
}

/// Many unlimited flows that begin within a tenth of a second, over a link that has a packet and a third in flight or queued
/// for each. All are of one host, so their timers keep step: who gets nothing?
fn crowd(out: &mut dyn Write) -> io::Result<()> {
    for (flows, bits_per_s, buffer_packets, seconds, staggers) in
        [(500, 100_000_000, 333, 30, 3), (2000, 400_000_000, 1333, 60, 1)]
    {
        for stagger in 0..staggers {
            let path = Path { bits_per_s, ..path(buffer_packets) };
            // Multiples of a prime, so that no order is left in their beginnings.
            let begins = |at: u64| at * (51_341 + 2 * stagger) % 100_000;
            let all = (0..flows).map(|at| Flow { begins_us: begins(at), segments: None, pauses_us: 0 }).collect();
            // No flow has more than a few packets in flight, and the kernel keeps what all of them write.
            let case = Case { send_buffer_bytes: Some(32 << 10), ..plain("cubic", path, all, seconds) };
            let outcome = run(&case)?;
            let bytes: Vec<u64> = outcome.flows.iter().map(|got| got.tenths.iter().sum()).collect();
            let sum = |of: &dyn Fn(&Got) -> u64| outcome.flows.iter().map(of).sum::<u64>();
            writeln!(
                out,
                "  {{ {}, flows = {flows}, stagger = {stagger}, seconds = {seconds}, bytes = {}, without_a_byte = {}, \
                 drops = {}, retransmissions = {}, {} }},",
                head(&case),
                bytes.iter().sum::<u64>(),
                bytes.iter().filter(|&&bytes| bytes == 0).count(),
                sum(&|got| got.drops),
                sum(&|got| got.retransmissions),
                counts(&outcome),
            )?;
        }
    }
    Ok(())
}

fn bbr(out: &mut dyn Write) -> io::Result<()> {
    for buffer in [33, 8] {
        for flows in [1, 2, 4] {
            for stagger in 0..staggers(flows) {
                goodput(out, &plain("bbr", path(buffer), long(flows, stagger), 20), stagger)?;
            }
        }
    }
    Ok(())
}
