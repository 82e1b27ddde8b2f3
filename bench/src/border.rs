//! The cost of a call through C over a direct one; [`dovetail_bench_counts::border`] describes both.
//!
//! Each pair is measured in a process of its own, as the placement of tables and code in memory makes more of a difference
//! than the calls do; within it the two take turns, and the difference is taken round by round. A pair counts by its medians.
//!
//! Also measures how much more two threads do than one in the same time, each with a scheduler of its own. How well the
//! machine runs two threads at once is measured from Rust, in the same rounds: so that a core that is half of another, or
//! busy with other things, is not blamed on the handles.

use std::{
    env,
    process::Command,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use dovetail_bench_counts::border::{POLICIES, Way};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    goals,
    operations::take_turns,
    row::{Goal, Row, Unit},
    spread::Spread,
};

const FLOWS: [u32; 3] = [10, 1_000, 100_000];
/// Number of pairs.
const PAIRS: usize = 11;

/// For every policy and number of flows: the two ways, and the excess of the second.
pub fn rows(mut failed: impl FnMut(String)) -> Vec<Row> {
    let mut rows = Vec::new();
    for policy in POLICIES {
        for flows in FLOWS {
            eprintln!("{policy} through C, {flows} flows");
            let pairs: Result<Vec<[f64; 3]>, String> =
                (0..PAIRS).map(|pair| pair_in_a_process(policy, flows, pair)).collect();
            match pairs {
                Ok(pairs) => rows.extend(rows_of(policy, flows, &pairs)),
                Err(error) => failed(format!("{policy} through C, {flows} flows: {error}")),
            }
        }
    }
    rows
}

fn rows_of(policy: &str, flows: u32, pairs: &[[f64; 3]]) -> Vec<Row> {
    let benchmarks = ["a packet, from Rust", "a packet, from C", "what C takes more"];
    let row = |(at, benchmark): (usize, &str)| {
        let nanos: Vec<f64> = pairs.iter().map(|pair| pair[at]).collect();
        let goal = (at == 2).then_some(goals::THROUGH_C);
        row(benchmark, policy, flows, Spread::of(&nanos), Unit::Nanos, goal)
    };
    benchmarks.into_iter().enumerate().filter_map(row).collect()
}

/// Runs [`pair`] in a separate process.
fn pair_in_a_process(policy: &str, flows: u32, pair: usize) -> Result<[f64; 3], String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let arguments = ["--pair", policy, &flows.to_string(), &pair.to_string()];
    let output = Command::new(program).args(arguments).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = || format!("said {text}");
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    figures.map_err(|_| wrong())?.try_into().map_err(|_| wrong())
}

/// The medians of one pair: a packet from Rust, from C, and the excess of C. Which of the two is created and measured first
/// alternates from pair to pair.
pub fn pair(policy: &str, flows: u32, pair: usize) -> Result<[f64; 3], String> {
    let ways = (0..Way::ALL.len()).map(|turn| Way::ALL[(pair + turn) % Way::ALL.len()]);
    let subjects = ways.map(|way| Ok((way.to_string(), way.filled(policy, flows)?)));
    let mut failures = Vec::new();
    let measured = take_turns(subjects.collect::<Result<_, String>>()?, flows, |what| failures.push(what));
    if let Some(failure) = failures.pop() {
        return Err(failure);
    }
    let nanos = |way: Way| measured.iter().find(|of| of.subject == way.to_string()).map(|of| of.nanos.as_slice());
    let (rust, c) = nanos(Way::Rust).zip(nanos(Way::C)).ok_or("only one way was measured")?;
    let more: Vec<f64> = c.iter().zip(rust).map(|(c, rust)| c - rust).collect();
    let median = |nanos: &[f64]| Spread::of(nanos).map(|spread| spread.median).ok_or("nothing was measured");
    Ok([median(rust)?, median(c)?, median(&more)?])
}

/// Throughput of two threads relative to one, with a scheduler each, both ways; on any cores, whatever the rest is pinned to.
pub fn two_threads(mut failed: impl FnMut(String)) -> Vec<Row> {
    const FLOWS: u32 = 1_000;
    const ROUNDS: usize = 15;
    let subject = POLICIES[0];
    eprintln!("{subject} in two threads");
    // By way, then by whether there are two threads.
    let mut rates = [const { [const { Vec::new() }; 2] }; Way::ALL.len()];
    // The first round of each is a warm-up.
    for round in 0..=ROUNDS {
        for threads in [1, 2] {
            for (way, rates) in Way::ALL.into_iter().zip(&mut rates) {
                match rate_of(way, threads, subject, FLOWS) {
                    Ok(rate) if round > 0 => rates[threads - 1].push(rate),
                    Ok(_) => {}
                    Err(error) => {
                        failed(format!("{subject} in {threads} threads from {way}: {error}"));
                        return Vec::new();
                    }
                }
            }
        }
    }
    let mut rows = Vec::new();
    let mut add = |benchmark: &str, spread, unit, goal| rows.extend(row(benchmark, subject, FLOWS, spread, unit, goal));
    let mut all_times: Vec<Vec<f64>> = Vec::new();
    for (way, [one, two]) in Way::ALL.into_iter().zip(&rates) {
        let times: Vec<f64> = two.iter().zip(one).map(|(two, one)| two / one).collect();
        let (what, goal) = if way == Way::C { ("handle", Some(goals::TWO_THREADS)) } else { ("scheduler", None) };
        add(&format!("from {way}, one thread"), Spread::of(one), Unit::PacketsPerSecond, None);
        let both = format!("from {way}, two threads with a {what} each");
        add(&both, Spread::of(two), Unit::PacketsPerSecond, None);
        add(&format!("two threads over one, from {way}"), Spread::of(&times), Unit::Times, goal);
        all_times.push(times);
    }
    if let [rust, c] = &all_times[..] {
        add(
            "two threads over one, C's over Rust's",
            Spread::of_ratios(c, rust),
            Unit::Ratio,
            Some(goals::AS_RUST_DOES),
        );
    }
    rows
}

fn row(
    benchmark: &str,
    subject: &str,
    flows: u32,
    spread: Option<Spread>,
    unit: Unit,
    goal: Option<Goal>,
) -> Option<Row> {
    Some(Row { benchmark: benchmark.into(), subject: subject.into(), flows, spread: spread?, unit, goal })
}

/// Packets per second of all threads together.
fn rate_of(way: Way, threads: usize, policy: &str, flows: u32) -> Result<f64, String> {
    const STEPS: u32 = 3_000_000;
    let together = Barrier::new(threads);
    let work = || -> Result<Duration, String> {
        on_any_core()?;
        let mut made = way.filled(policy, flows);
        if let Ok(subject) = &mut made {
            // Changes from the order of filling to that of the steady state.
            let _: Result<(), String> = (0..4 * flows).try_for_each(|_| subject.step());
        }
        together.wait();
        let mut subject = made?;
        let begun = Instant::now();
        for _ in 0..STEPS {
            subject.step()?;
        }
        Ok(begun.elapsed())
    };
    let took: Result<Vec<Duration>, String> = thread::scope(|scope| {
        // Collected first: all threads must start.
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?).collect()
    });
    let longest = took?.into_iter().max().unwrap_or_default();
    Ok(threads as f64 * f64::from(STEPS) / longest.as_secs_f64())
}

/// Lets this thread run on any core: `bench/run.sh` pins the others.
pub fn on_any_core() -> Result<(), String> {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|core| all.set(core));
    sched_setaffinity(None, &all).map_err(|error| format!("sched_setaffinity: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_three_medians() {
        for turn in 0..2 {
            let [rust, c, _] = pair("drr", 20, turn).unwrap();
            assert!(rust > 0.0 && c > 0.0);
        }
        assert!(pair("no such policy", 20, 0).is_err());
    }
}
