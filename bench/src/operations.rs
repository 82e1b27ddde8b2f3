//! Times of one dequeue and one enqueue in the steady state, see [`dovetail_bench_counts::operation`].
//!
//! All subjects take turns, round after round, so that a slow moment of the machine affects all of them; each first runs
//! long enough to have its own data back in the caches.

use std::time::Duration;

use dovetail_bench_counts::{
    operation::{Operation, Setting},
    subject::Subject,
};
use dovetail_sched::PolicySpec;

use crate::{clock::Stopwatch, peers::firq::Firq};

/// Number of measurements per subject.
pub const ROUNDS: usize = 9;
// A measurement ends after this many steps, or, for slow subjects, this much time.
const STEPS: u32 = 100_000;
const MAX_DURATION: Duration = Duration::from_millis(60);
// Steps between clock readings.
const CHUNK: u32 = 5_000;

/// A subject's name and its nanoseconds per step, in order of the rounds.
pub struct Measured {
    pub subject: String,
    pub nanos: Vec<f64>,
}

/// Measures `policies` and the peer with `flows` flows. Subjects that fail are reported with the reason.
pub fn run(policies: &[PolicySpec], setting: Setting, flows: u32, mut failed: impl FnMut(String)) -> Vec<Measured> {
    let mut subjects: Vec<(String, Box<dyn Subject>)> = Vec::new();
    let mut add = |subject: &str, made: Result<Box<dyn Subject>, String>| match made {
        Ok(made) => subjects.push((subject.into(), made)),
        Err(reason) => failed(format!("{subject}: {reason}")),
    };
    for policy in policies {
        let made = Operation::filled(policy, setting, flows).map_err(|error| error.to_string());
        add(policy.as_str(), made.map(|policy| Box::new(policy) as _));
        if policy.as_str() == "drr" && setting == Setting::Mixed {
            add(Firq::NAME, Ok(Box::new(Firq::filled(flows))));
        }
    }
    take_turns(subjects, flows, failed)
}

/// Measures subjects that have been filled with `flows` flows.
pub fn take_turns(
    subjects: Vec<(String, Box<dyn Subject>)>,
    flows: u32,
    mut failed: impl FnMut(String),
) -> Vec<Measured> {
    let new = |(subject, made)| (Measured { subject, nanos: Vec::new() }, made);
    let mut subjects: Vec<(Measured, Box<dyn Subject>)> = subjects.into_iter().map(new).collect();
    // The first round changes the order of service from that of filling to that of the steady state.
    for round in 0..=ROUNDS {
        subjects.retain_mut(|(measured, subject)| {
            let warm_up = if round == 0 { 4 * flows } else { flows };
            match measure(subject.as_mut(), warm_up, flows) {
                Ok(nanos) if round > 0 => measured.nanos.push(nanos),
                Ok(_) => {}
                Err(reason) => {
                    failed(format!("{}, {flows} flows: {reason}", measured.subject));
                    return false;
                }
            }
            true
        });
    }
    subjects.into_iter().map(|(measured, _)| measured).collect()
}

/// Nanoseconds per step.
fn measure(subject: &mut dyn Subject, warm_up: u32, flows: u32) -> Result<f64, String> {
    step(subject, warm_up)?;
    let (done, elapsed) = step(subject, STEPS.max(flows))?;
    if !subject.is_as_filled(flows) {
        return Err("lost or gained packets".into());
    }
    Ok(elapsed.as_nanos() as f64 / f64::from(done))
}

/// Runs for `steps` steps or the maximum time, whichever ends first; returns the number of steps and the time.
fn step(subject: &mut dyn Subject, steps: u32) -> Result<(u32, Duration), String> {
    let mut done = 0;
    let start = Stopwatch::start();
    loop {
        for _ in 0..CHUNK {
            subject.step()?;
        }
        done += CHUNK;
        let elapsed = start.elapsed();
        if done >= steps || elapsed > MAX_DURATION {
            return Ok((done, elapsed));
        }
    }
}
