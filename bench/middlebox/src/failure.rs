//! How long traffic is interrupted when the box is killed, or stopped for a second.

use std::time::Duration;

use rustix::process::Signal;

use crate::{
    Args,
    numbered::{Traffic, Turn},
    subject::{Failed, Subject, lab},
    table::Table,
};

const FLOWS: u16 = 7;
/// Packets per second in each direction.
const RATES: [f64; 2] = [10e3, 150e3];
/// Time until it fails, duration of the stop, and how long the traffic is observed afterwards.
const AFTER: Duration = Duration::from_millis(300);
const STOPPED: Duration = Duration::from_secs(1);
const LONGER: Duration = Duration::from_millis(500);

pub fn measure(args: &Args, table: &mut Table) -> Result<(), Failed> {
    let lab = lab()?;
    let by_packet_sockets = Subject::fast("drfq", "sleep", &args.function);
    let subjects = [by_packet_sockets.by_af_xdp(), by_packet_sockets];
    for per_s in RATES {
        for (what, signal) in [("killed", Signal::KILL), ("stopped for a second", Signal::STOP)] {
            let mut seen = subjects.each_ref().map(|_| Seen::default());
            for _ in 0..args.rounds {
                for (subject, seen) in subjects.iter().zip(&mut seen) {
                    let running = subject.start(&lab)?;
                    let is_stopped = signal == Signal::STOP;
                    let stopped = if is_stopped { STOPPED } else { Duration::ZERO };
                    let traffic = Traffic { flows: FLOWS, per_s, bytes: 200 };
                    let mut signals = [(AFTER, Some(signal)), (AFTER + stopped, is_stopped.then_some(Signal::CONT))];
                    let outcome = traffic.run(&lab, |elapsed| {
                        for (_, signal) in signals.iter_mut().filter(|(at, _)| elapsed >= *at) {
                            signal.take().map_or(Ok(()), |signal| running.signal(signal))?;
                        }
                        Ok(match elapsed {
                            _ if elapsed < AFTER => Turn::Send,
                            _ if elapsed < AFTER + stopped + LONGER => Turn::Listen,
                            _ => Turn::End,
                        })
                    })?;
                    for record in &outcome.ways {
                        seen.silent_ms.push(record.silence.as_secs_f64() * 1e3);
                        seen.lost.push(record.lost() as f64);
                        seen.odd.push((record.duplicated() + record.reordered) as f64);
                    }
                    seen.source_ms.push(outcome.source_away.as_secs_f64() * 1e3);
                }
            }
            for (subject, seen) in subjects.iter().zip(&seen) {
                let what = |more: &str| format!("{what} at {:.0} kpps each way, {more}", per_s / 1e3);
                table.push(what("silent for"), &subject.label, &seen.silent_ms, "ms");
                table.push(what("the source itself away for"), &subject.label, &seen.source_ms, "ms");
                table.push(what("lost"), &subject.label, &seen.lost, "packets");
                table.push(what("twice or out of order"), &subject.label, &seen.odd, "packets");
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Seen {
    silent_ms: Vec<f64>,
    source_ms: Vec<f64>,
    lost: Vec<f64>,
    odd: Vec<f64>,
}
