//! Measures one function on one core, timing every packet.
//!
//! Sizes come in random order, so that a machine that slows down during the measurement does not look like a cost that grows
//! with size. Every packet is between two readings of the clock; the median cost of two readings with nothing between is
//! measured before, and subtracted. Nothing is discarded: a packet hit by an interrupt is kept.

use std::{hint::black_box, thread, time::Instant};

use dovetail_box::functions::{self, Entry, Verdict};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use super::traffic::Traffic;
use crate::{
    error::{Error, Misuse},
    progress::Meter,
};

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Bytes of the function's input frame.
    pub bytes: u32,
    /// Duration of the function, after subtracting the clock's own cost.
    pub nanos: u64,
    /// Bytes of the function's output frame.
    pub bytes_out: u32,
}

/// A function's packets in the order in which they were measured, and the conditions.
#[derive(Debug, Clone)]
pub struct Measured {
    /// One per packet.
    pub samples: Vec<Sample>,
    /// Cost of two readings of the clock; already subtracted.
    pub clock_nanos: u64,
    /// The core, if the system allowed pinning to one.
    pub core: Result<usize, String>,
}

/// Times `packets` packets of each of `sizes` through a function on `core`, or else on the last core that this process may
/// use. Sizes are those of Ethernet frames; for `jpeg` those of raw pictures, in frames that are 42 bytes longer. The same
/// seed gives the same packets in the same order. `bar` advances by one step per packet.
///
/// # Errors
/// [`Error`] for an unknown function, or a size that it has no packets of.
pub fn measure(
    function: &str,
    sizes: &[usize],
    packets: usize,
    seed: u64,
    core: Option<usize>,
    bar: &dyn Meter,
) -> Result<Measured, Error> {
    let entry = find(function)?;
    let mut traffic = Traffic::new(entry.name, seed);
    for &size in sizes {
        traffic.check(size)?;
    }
    // A separate thread, so that the caller is not pinned to that core.
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let core = pin(core);
            let clock_nanos = clock_cost();
            let samples = run(entry, &mut traffic, &order(sizes, packets, seed), sizes, seed, clock_nanos, bar)?;
            Ok(Measured { samples, clock_nanos, core })
        });
        worker.join().unwrap_or_else(|_| {
            Err(Error::Measurement { function: function.to_owned(), why: "the measurement was interrupted".to_owned() })
        })
    })
}

/// A function by its name.
pub(crate) fn find(function: &str) -> Result<&'static Entry, Error> {
    functions::find(function).ok_or_else(|| {
        let known: Vec<_> = functions::REGISTRY.iter().map(|entry| entry.name).collect();
        Misuse::NoFunction { name: function.to_owned(), known: known.join(", ") }.into()
    })
}

/// Untimed packets of each size at the start, for caches, tables and branch predictors to settle.
const WARM_UP: usize = 200;

/// Updating the progress bar takes time, and happens between packets.
const BAR_STEP: usize = 256;

fn run(
    entry: &Entry,
    traffic: &mut Traffic,
    order: &[usize],
    sizes: &[usize],
    seed: u64,
    clock_nanos: u64,
    bar: &dyn Meter,
) -> Result<Vec<Sample>, Error> {
    let mut function = entry.example(seed);
    let mut frame = Vec::with_capacity(1 << 17);
    for _ in 0..WARM_UP {
        for &size in sizes {
            traffic.fill(&mut frame, size);
            function.process(black_box(&mut frame));
        }
    }
    let mut samples = Vec::with_capacity(order.len());
    for (at, &size) in order.iter().enumerate() {
        traffic.fill(&mut frame, size);
        let bytes = frame.len() as u32;
        let begun = Instant::now();
        let verdict = function.process(black_box(&mut frame));
        let took = begun.elapsed();
        if verdict != Verdict::Forward {
            let why = format!("a packet of {bytes} bytes was answered {verdict:?}");
            return Err(Error::Measurement { function: entry.name.to_owned(), why });
        }
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).saturating_sub(clock_nanos);
        samples.push(Sample { bytes, nanos, bytes_out: frame.len() as u32 });
        if (at + 1).is_multiple_of(BAR_STEP) {
            bar.inc(BAR_STEP as u64);
        }
    }
    Ok(samples)
}

/// Every size `packets` times, shuffled (Fisher and Yates).
fn order(sizes: &[usize], packets: usize, seed: u64) -> Vec<usize> {
    let mut order = sizes.repeat(packets);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for at in (1..order.len()).rev() {
        order.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
    }
    order
}

/// The median cost of two readings of the clock with nothing between.
fn clock_cost() -> u64 {
    const READINGS: usize = 20_001;
    let mut costs: Vec<u128> = (0..READINGS).map(|_| Instant::now().elapsed().as_nanos()).collect();
    costs.sort_unstable();
    let median = dovetail_stats::quantile(&costs, dovetail_stats::Quantile::MEDIAN);
    median.map_or(0, |nanos| u64::try_from(nanos).unwrap_or(0))
}

/// Pins this thread to one core, or returns why it cannot.
#[cfg(target_os = "linux")]
fn pin(core: Option<usize>) -> Result<usize, String> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None).map_err(|error| error.to_string())?;
    let core = match core {
        Some(core) => core,
        None => (0..CpuSet::MAX_CPU).rfind(|&core| allowed.is_set(core)).ok_or("no core is allowed")?,
    };
    if core >= CpuSet::MAX_CPU || !allowed.is_set(core) {
        let cores: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).map(|n| n.to_string()).collect();
        return Err(format!("this process may use cores {}, not {core}", cores.join(", ")));
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).map_err(|error| error.to_string())?;
    Ok(core)
}

#[cfg(not(target_os = "linux"))]
fn pin(_core: Option<usize>) -> Result<usize, String> {
    Err("there is no known way on this system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_clock_takes_is_not_the_function_s() {
        let total = |clock_nanos| {
            let (entry, bar) = (find("ipsec").unwrap(), crate::progress::Silent);
            let (mut traffic, sizes) = (Traffic::new("ipsec", 1), [64, 1514]);
            let samples =
                run(entry, &mut traffic, &order(&sizes, 50, 1), &sizes, 1, clock_nanos, &bar).expect("it is measured");
            assert_eq!(samples.len(), 100);
            samples.iter().map(|sample| sample.nanos).sum::<u64>()
        };
        assert!(total(0) > 0);
        assert_eq!(total(u64::MAX), 0);
    }

    #[test]
    fn every_size_comes_as_often_as_the_others() {
        let mut order = order(&[64, 128, 256], 100, 5);
        assert!(order.windows(2).any(|pair| pair[0] == pair[1]) && order.windows(2).any(|pair| pair[0] > pair[1]));
        order.sort_unstable();
        assert_eq!(order, [[64; 100], [128; 100], [256; 100]].concat());
    }
}
