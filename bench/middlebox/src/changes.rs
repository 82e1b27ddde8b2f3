//! Losses while a box is started, changed in every possible way, and stopped.

use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use dovetail_box::{
    config::Config,
    live::{Spawned, lab::Lab},
};

use crate::{
    Args,
    cores::BOX_CORE,
    numbered::{Traffic, Turn},
    subject::{Failed, lab},
    table::Table,
};

/// Packets per second in each direction.
const TRAFFIC: Traffic = Traffic { flows: 7, per_s: 10e3, bytes: 200 };
/// Number of rounds of changes in quick succession while a box runs, and the pause after each.
const ROUNDS: usize = 4;
const BETWEEN: Duration = Duration::from_millis(50);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let folder = tempfile::tempdir()?;
    let [mut sent, mut changes, mut lapses] = [(); 3].map(|()| Vec::new());
    let [mut lost, mut twice, mut late] = [(); 3].map(|()| Vec::new());
    for _ in 0..args.rounds {
        let is_over = AtomicBool::new(false);
        let ((of_round, lapsed), outcome) = thread::scope(|scope| {
            let conducts = scope.spawn(|| {
                let told = conduct(&lab, folder.path()).map_err(|wrong| wrong.to_string());
                is_over.store(true, Ordering::Relaxed);
                told
            });
            let sends = scope.spawn(|| {
                let turn = |_| Ok(if is_over.load(Ordering::Relaxed) { Turn::End } else { Turn::Send });
                TRAFFIC.run(&lab, turn).map_err(|wrong| wrong.to_string())
            });
            let outcome = sends.join().map_err(|_| "the source ended")??;
            Ok::<_, Failed>((conducts.join().map_err(|_| "who changes the box ended")??, outcome))
        })?;
        changes.push(of_round as f64);
        lapses.push(lapsed as f64);
        for record in &outcome.ways {
            sent.push(record.sent as f64);
            lost.push(record.lost() as f64);
            twice.push(record.duplicated() as f64);
            late.push(record.reordered as f64);
        }
    }
    let what = "start, changes, stop at 10 kpps each way:";
    let rows = [
        ("sent each way", sent, "packets"),
        ("reloads, retunes, programs replaced", changes, ""),
        ("lost", lost, "packets"),
        ("twice", twice, "packets"),
        ("out of order", late, "packets"),
        ("times that the bridge took over", lapses, ""),
    ];
    rows.into_iter().for_each(|(row, measured, unit)| table.push(format!("{what} {row}"), "drfq", &measured, unit));
    Ok(())
}

/// Starts a box, changes it, and stops it; returns the number of changes, and how often the bridge took over.
fn conduct(lab: &Lab, folder: &Path) -> Result<(u64, u64), Failed> {
    let mut changes = 0;
    thread::sleep(BETWEEN);
    write_program(folder, 0)?;
    let running = Spawned::start(config(lab, folder, 0)?, |_| {})?;
    for round in 1..=ROUNDS {
        for part in 0..3 {
            thread::sleep(BETWEEN);
            match part {
                0 => running.control().reload(config(lab, folder, round)?)?,
                1 => running.control().retune("tradeoff:alpha=0.8").or_else(|_| running.control().retune("drfq"))?,
                _ => {
                    write_program(folder, round)?;
                    running.control().reload(config(lab, folder, round)?)?;
                }
            }
            changes += 1;
        }
    }
    thread::sleep(BETWEEN);
    let control = running.control().clone();
    running.stop()?;
    thread::sleep(BETWEEN);
    Ok((changes, control.status().oddities.lapses))
}

/// Successive configurations: policy, rate, classes and their functions differ.
fn config(lab: &Lab, folder: &Path, round: usize) -> Result<Config, Failed> {
    let policy = ["drfq", "tradeoff:alpha=0.9"][round % 2];
    let function = ["monitoring", "ipsec", "redundancy"][round % 3];
    let ports = ["10000, 10001, 10002", "10003, 10004"][round / 2 % 2];
    let rate = 500 + 100 * (round % 3);
    let text = format!(
        "policy = \"{policy}\"\n[cpu]\ncore = {BOX_CORE}\n[link]\nrate = \"{rate}Mbps\"\n\
         [programs]\nfolder = \"{}\"\n\
         [[class]]\nname = \"worked-on\"\nports = [{ports}]\nfunctions = [\"{function}\"]\neffect = \"discard\"\n\
         [[class]]\nname = \"programmed\"\nports = [4500]\nprogram = \"changing\"\n",
        folder.display()
    );
    Ok(Config::parse(&(lab.spec().box_section() + &text))?)
}

fn write_program(folder: &Path, round: usize) -> Result<(), Failed> {
    let program = crate::churn::program(&format!("(drop (i32.const {round}))"))?;
    Ok(std::fs::write(folder.join("changing.wasm"), program)?)
}
