//! Latency of single packets from one host's interface to the other's.

use std::{
    hint, thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, datagram};
use dovetail_stats::{Quantile, quantile};

use crate::{
    Args,
    cores::{SOURCE_CORE, stay_on},
    subject::{Failed, Subject, lab},
    table::Table,
};

const EVERY: Duration = Duration::from_micros(200);
const LOST: Duration = Duration::from_millis(20);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let mut subjects = vec![Subject::bridge(), Subject::alone()];
    for wait in ["spin", "spin-then-sleep", "sleep"] {
        let mut subject = Subject::fast("drfq", wait, &args.function);
        subject.label = format!("drfq, {wait}");
        let other = subject.by_af_xdp();
        let awake = (wait == "sleep").then(|| subject.awake());
        subjects.extend([subject, other].into_iter().chain(awake));
    }
    let mut medians = vec![Vec::new(); subjects.len()];
    let mut late = vec![Vec::new(); subjects.len()];
    let mut one = |at: usize| -> Result<(), Failed> {
        let time = Duration::from_secs_f64(args.seconds);
        let micros = thread::scope(|scope| {
            let each = scope.spawn(|| each_packet(&lab, time).map_err(|wrong| wrong.to_string()));
            each.join().map_err(|_| "the source ended")?
        })?;
        medians[at].push(quantile(&micros, Quantile::MEDIAN).ok_or("no packet arrived")?);
        late[at].push(quantile(&micros, Quantile::P99).ok_or("no packet arrived")?);
        Ok(())
    };
    for _ in 0..args.rounds {
        for (at, subject) in subjects.iter().enumerate() {
            let running = subject.start(&lab)?;
            one(at)?;
            drop(running);
        }
    }
    for ((subject, medians), late) in subjects.iter().zip(&medians).zip(&late) {
        table.push("latency, 5 kpps, p50", &subject.label, medians, "µs");
        table.push("latency, 5 kpps, p99", &subject.label, late, "µs");
    }
    Ok(())
}

/// Latency of each packet in microseconds, in ascending order.
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
