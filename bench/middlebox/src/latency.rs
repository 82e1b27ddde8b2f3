//! Latency of single packets from one host's interface to the other's.

use std::{
    hint,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, PORTS, Place, Raw, datagram};
use dovetail_stats::{Quantile, quantile};

use crate::{
    Args,
    off_bridge::OffBridge,
    subject::{BOX_CORE, Failed, SOURCE_CORE, Subject, lab, stay_on},
    table::Table,
};

const EVERY: Duration = Duration::from_micros(200);
const LOST: Duration = Duration::from_millis(20);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let mut subjects = vec![Subject::bridge()];
    for wait in ["spin", "spin-then-sleep", "sleep"] {
        let mut subject = Subject::fast("drfq", wait, &args.function);
        subject.label = format!("drfq, {wait}");
        let other = subject.by_af_xdp();
        let awake = (wait == "sleep").then(|| subject.awake());
        subjects.extend([subject, other].into_iter().chain(awake));
    }
    let mut medians = vec![Vec::new(); subjects.len() + 1];
    let mut late = vec![Vec::new(); subjects.len() + 1];
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
        let alone = Alone::start(&lab)?;
        one(subjects.len())?;
        drop(alone);
    }
    let labels = subjects.iter().map(|subject| subject.label.as_str()).chain([ALONE]);
    for ((label, medians), late) in labels.zip(&medians).zip(&late) {
        table.push("latency, 5 kpps, p50", label, medians, "µs");
        table.push("latency, 5 kpps, p99", label, late, "µs");
    }
    Ok(())
}

/// A thread that spins on two packet sockets and forwards between them, as a substitute for box and bridge: a lower bound
/// for a box.
struct Alone {
    ends: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
    _ports: OffBridge,
}

const ALONE: &str = "two sockets, no box";

impl Alone {
    fn start(lab: &Lab) -> Result<Self, Failed> {
        let ports = OffBridge::take(lab)?;
        let open = |port| lab.namespace(Place::Box).within(|| Raw::open(port));
        let (mut inside, outside) = (open(PORTS[0])?, open(PORTS[1])?);
        let ends = Arc::new(AtomicBool::new(false));
        let is_told = ends.clone();
        let thread = thread::spawn(move || {
            let _ = stay_on(BOX_CORE);
            while !is_told.load(Ordering::Relaxed) {
                match inside.receive() {
                    Some(frame) => drop(outside.send(std::iter::once(frame))),
                    None => hint::spin_loop(),
                }
            }
        });
        Ok(Self { ends, thread: Some(thread), _ports: ports })
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
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
