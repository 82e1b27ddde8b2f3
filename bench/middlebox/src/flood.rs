//! Losses of flows that send little beside one that sends more than the box can take.

use std::{
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, datagram};

use crate::{
    Args,
    cores::{SOURCE_CORE, stay_on},
    overload::POLICIES,
    source::{Injector, arrived},
    subject::{Failed, Subject, lab},
    table::Table,
};

/// Flows beside the flood, each of which sends a packet per interval.
const OTHERS: u16 = 20;
const EVERY: Duration = Duration::from_millis(1);
const BYTES: usize = 60;
/// How long to wait for packets after the last one was sent.
const PATIENCE: Duration = Duration::from_millis(200);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let mut boxes = POLICIES.map(|policy| Subject::fast(policy, "sleep", &args.function)).to_vec();
    boxes.push(Subject::fast("drfq", "sleep", &args.function).by_af_xdp());
    let mut subjects = vec![Subject::bridge()];
    subjects.extend(Subject::beside(boxes, args.beside.as_ref()));
    let mut measured = vec![(Vec::new(), Vec::new()); subjects.len()];
    for _ in 0..args.rounds {
        for (subject, (lost, kpps)) in subjects.iter().zip(&mut measured) {
            let running = subject.start(&lab)?;
            let source = Injector::start(&lab, 1, BYTES)?;
            let (begun, before) = (Instant::now(), arrived(&lab)?.0);
            let time = Duration::from_secs_f64(args.seconds);
            lost.push(thread::scope(|scope| {
                let others = scope.spawn(|| lost_of_others(&lab, time).map_err(|wrong| wrong.to_string()));
                others.join().map_err(|_| "the others ended")?
            })?);
            kpps.push((arrived(&lab)?.0 - before) as f64 / begun.elapsed().as_secs_f64() / 1e3);
            drop((source, running));
        }
    }
    for (subject, (lost, kpps)) in subjects.iter().zip(&measured) {
        table.push("a flood of 60 B, lost of others", &subject.label, lost, "%");
        table.push("a flood of 60 B, all that arrives", &subject.label, kpps, "kpps");
    }
    Ok(())
}

/// Percentage lost of the packets of the other flows.
fn lost_of_others(lab: &Lab, time: Duration) -> Result<f64, Failed> {
    stay_on(SOURCE_CORE)?;
    let (source, mut target) = (lab.raw(Place::Inside)?, lab.raw(Place::Outside)?);
    let (mut sent, mut heard) = (0, 0);
    let begun = Instant::now();
    while begun.elapsed() < time + PATIENCE {
        // Meanwhile the flood has its core to itself.
        thread::sleep(EVERY);
        if begun.elapsed() < time {
            // The flood's packets have the number 0, and its flow is the first.
            let frames: Vec<_> =
                (1..=OTHERS).map(|flow| datagram::frame(Place::Inside, flow, sent + u64::from(flow), BYTES)).collect();
            sent += source.send(frames.iter().map(Vec::as_slice))? as u64;
        }
        while let Some(frame) = target.receive() {
            heard += u64::from(datagram::number(frame).is_some_and(|number| number > 0));
        }
    }
    Ok(100.0 * (sent as f64 - heard as f64) / sent as f64)
}
