//! How long a packet takes from one host's interface to the other's, one at a time.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, datagram};
use dovetail_stats::{Quantile, quantile};

use crate::{
    Args,
    subject::{Failed, SOURCE_CORE, Subject, lab, stay_on},
    table::Table,
};

const EVERY: Duration = Duration::from_micros(200);
const LOST: Duration = Duration::from_millis(20);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let mut subjects = vec![Subject::bridge()];
    for wait in ["spin", "spin-then-sleep", "sleep"] {
        let subject = Subject { label: format!("drfq, {wait}"), ..Subject::fast("drfq", wait, &args.function) };
        let other = subject.by_af_xdp();
        subjects.push(subject);
        subjects.extend(other);
    }
    let mut medians = vec![Vec::new(); subjects.len()];
    let mut late = vec![Vec::new(); subjects.len()];
    for _ in 0..args.rounds {
        for ((subject, medians), late) in subjects.iter().zip(&mut medians).zip(&mut late) {
            let running = subject.start(&lab)?;
            let time = Duration::from_secs_f64(args.seconds);
            let micros = thread::scope(|scope| {
                let each = scope.spawn(|| each_packet(&lab, time).map_err(|wrong| wrong.to_string()));
                each.join().map_err(|_| "the source ended")?
            })?;
            drop(running);
            medians.push(quantile(&micros, Quantile::MEDIAN).ok_or("no packet arrived")?);
            late.push(quantile(&micros, Quantile::P99).ok_or("no packet arrived")?);
        }
    }
    for ((subject, medians), late) in subjects.iter().zip(&medians).zip(&late) {
        table.push("latency, 5 kpps, p50", &subject.label, medians, "µs");
        table.push("latency, 5 kpps, p99", &subject.label, late, "µs");
    }
    Ok(())
}

/// Microseconds of each packet, in ascending order.
fn each_packet(lab: &Lab, time: Duration) -> Result<Vec<f64>, Failed> {
    stay_on(SOURCE_CORE)?;
    let (source, mut target) = (lab.raw(Place::Inside)?, lab.raw(Place::Outside)?);
    let (begun, mut next, mut number) = (Instant::now(), Instant::now(), 0);
    let mut micros = Vec::new();
    while begun.elapsed() < time {
        while Instant::now() < next {
            hint::spin_loop();
        }
        next += EVERY;
        number += 1;
        let frame = datagram::frame(Place::Inside, 0, number, 60);
        let sent = Instant::now();
        source.send(std::iter::once(&*frame))?;
        while sent.elapsed() < LOST {
            if target.receive().is_some_and(|frame| datagram::number(frame) == Some(number)) {
                micros.push(sent.elapsed().as_secs_f64() * 1e6);
                break;
            }
        }
        next = next.max(Instant::now());
    }
    micros.sort_by(f64::total_cmp);
    Ok(micros)
}
