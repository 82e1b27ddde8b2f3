//! Memory of a box after a long time of constant change: flows, classes, policies, programs.
//!
//! Each round sends a packet of each of 2,000 flows, mostly new ones, writes other programs into the folder, of which one traps,
//! one does not terminate on some packets and one is not a valid program, and reloads the box with another configuration.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    config::Config,
    live::{
        Spawned, Status,
        lab::{Lab, Place, datagram},
    },
};

use dovetail_stats::median_of_runs;

use crate::{
    Args,
    memory::resident_mb,
    subject::{Failed, lab},
    table::Table,
};

/// Maximum ratio of the median over the last tenth of the time to that over the second: pages come and go.
const MAX_GROWTH: f64 = 1.05;
/// Packets per round, each of a different flow.
const FLOWS: u16 = 2_000;

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    for workers in [1, 2] {
        churn(workers, Duration::from_secs_f64(args.seconds), table)?;
    }
    Ok(())
}

fn churn(workers: usize, time: Duration, table: &mut Table) -> Result<(), Failed> {
    let (lab, folder) = (lab()?, tempfile::tempdir()?);
    write_programs(folder.path(), 0)?;
    let running = Spawned::start(config(&lab, folder.path(), workers, 0)?, |_| {})?;
    let source = lab.raw(Place::Inside)?;
    let (begun, mut round, mut sent) = (Instant::now(), 0_usize, 0_u64);
    let mut held = Vec::new();
    let mut counts = Counts::default();
    while begun.elapsed() < time {
        for at in 0..FLOWS {
            let flow = at.wrapping_add((round as u16).wrapping_mul(FLOWS));
            let frame = datagram::frame(Place::Inside, flow, 0, 60 + usize::from(at % 1400));
            sent += source.send(std::iter::once(&*frame))? as u64;
            if at % 100 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        }
        round += 1;
        counts.see(&running.control().status());
        write_programs(folder.path(), round)?;
        // Returns once the new configuration is in force.
        running.control().reload(config(&lab, folder.path(), workers, round)?)?;
        held.push(resident_mb(std::process::id())?);
    }
    let lapses = running.control().status().oddities.lapses;
    running.stop()?;
    let tenths: Vec<_> = held.chunks(held.len().div_ceil(10).max(1)).collect();
    let [_, early, .., late] = tenths[..] else { return Err("too short for ten rounds".into()) };
    let median = |held: &[f64]| median_of_runs(held.iter().copied()).unwrap_or_default();
    let of = format!("{workers} worker{}", if workers == 1 { "" } else { "s" });
    let minutes = time.as_secs_f64() / 60.0;
    table.push(format!("churn of {minutes:.1} min, {round} changes: memory in the second tenth"), &of, early, "MB");
    table.push("memory in the last tenth", &of, late, "MB");
    table.push("packets sent, of flows that come and go", &of, &[sent as f64], "");
    table.push("packets that programs failed on", &of, &[counts.failed as f64], "");
    table.push("times that the bridge took over", &of, &[lapses as f64], "");
    if counts.failed == 0 {
        return Err("no program ever failed: that was not what this is to show".into());
    }
    let (early, late) = (median(early), median(late));
    if late > MAX_GROWTH * early {
        return Err(format!("{of}: memory grew from {early:.1} MB to {late:.1} MB").into());
    }
    Ok(())
}

/// Counters are removed with their classes: their highest values are added up.
#[derive(Default)]
struct Counts {
    failed: u64,
    last: u64,
}

impl Counts {
    fn see(&mut self, status: &Status) {
        let now = status.classes.iter().map(|(_, class)| class.programs.failed()).sum();
        self.failed += if now >= self.last { now - self.last } else { now };
        self.last = now;
    }
}

/// Successive configurations, which classify the flows in different ways.
fn config(lab: &Lab, folder: &Path, workers: usize, round: usize) -> Result<Config, Failed> {
    let policies = ["drfq", "tradeoff:alpha=0.9", "mr3", "fifo", "atfq", "las"];
    let programs = ["steady", "changing", "traps", "endless", "none"];
    let functions = ["monitoring", "ipsec", "redundancy", "forwarding"];
    let policy = policies[round % policies.len()];
    let mut text = lab.spec().box_section();
    text += &format!("policy = \"{policy}\"\n[cpu]\nworkers = {workers}\n[link]\nrate = \"1Gbps\"\n");
    text += "[queues]\nflows = 4096\ntimeout = \"1s\"\n";
    text += &format!("[programs]\nfolder = \"{}\"\nmemory = \"1MiB\"\n", folder.display());
    for at in 0..2 + round % 4 {
        // Some of the flows sent until the next configuration.
        let first = (round as u16).wrapping_mul(FLOWS).wrapping_add(10_000 + 300 * at as u16);
        let ports = (0..300).map(|port| first.wrapping_add(port).max(1));
        let ports: Vec<_> = ports.map(|port| port.to_string()).collect();
        let (function, program) = (functions[(round + at) % functions.len()], programs[(round + at) % programs.len()]);
        // Names persist from one configuration to the next, until all of them change at once.
        let name = format!("class-{}-{at}", round / 20);
        text += &format!(
            "[[class]]\nname = \"{name}\"\nports = [{}]\nfunctions = [\"{function}\"]\nprogram = \"{program}\"\n\
             effect = \"discard\"\n",
            ports.join(", ")
        );
    }
    Ok(Config::parse(&text)?)
}

fn write_programs(folder: &Path, round: usize) -> Result<(), Failed> {
    // Datagrams to port 4500 from one of 256 ports, read in reverse order; the frames used for measuring it pass.
    let sometimes = |what: &str| {
        format!(
            "(if (i32.eq (i32.and (i32.load offset=34 (local.get $frame)) (i32.const 0xffffff00)) (i32.const 0x94114d00)) (then {what}))"
        )
    };
    let changing = format!("(drop (i32.const {round})) {}", sometimes(""));
    let programs = [
        ("steady", String::new()),
        ("changing", changing),
        ("traps", format!("(drop (i32.const {})) {}", round / 5, sometimes("unreachable"))),
        ("endless", format!("(drop (i32.const {})) {}", round / 3, sometimes("(loop (br 0))"))),
    ];
    for (name, body) in &programs {
        fs::write(folder.join(name).with_extension("wasm"), program(body)?)?;
    }
    let broken = folder.join("broken.wasm");
    if round.is_multiple_of(2) {
        fs::write(broken, b"half of it")?
    } else {
        fs::remove_file(broken)?
    }
    Ok(())
}

/// A program that runs this code and then forwards frames unchanged.
pub fn program(body: &str) -> Result<Vec<u8>, Failed> {
    let text = format!(
        r#"(module
            (memory (export "memory") 3)
            (func (export "dv_abi") (result i32) (i32.const 1))
            (func (export "dv_buffer") (param i32) (result i32) (i32.const 1024))
            (func (export "dv_process") (param $frame i32) (param $length i32) (param $most i32) (result i64)
                {body} (i64.const 0)))"#
    );
    Ok(wat::parse_str(text)?)
}
