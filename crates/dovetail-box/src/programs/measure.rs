//! Measures the cost of a program before it is trusted with a share.
//!
//! Synthetic frames (UDP over IPv4, random content) of several lengths are processed by an instance in random order, so
//! that a machine that slows down meanwhile does not appear as a cost that grows with length. Each is timed by two readings
//! of the caller's clock; the cost of two readings with nothing in between is measured first, and its median subtracted.
//! The cost is the least-squares line through the medians of the lengths, which a few interrupts do not affect. The timing
//! covers all of [`NetworkFunction::process`], including copying into the program's memory and back, since a packet takes
//! that too.

use std::fmt;

use dovetail_sched::{
    Nanos,
    cost::{self, Cost, LeastSquares},
};
use dovetail_stats::Quantile;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

use super::{
    error::{Flaw, Why},
    program::Program,
};
use crate::functions::{
    NetworkFunction, Processing, Reason, Verdict,
    checksum::{finish, sum},
    frame::{ETHERNET, IPV4, UDP},
};

/// Frame lengths used for measuring, in bytes.
pub const LENGTHS: &[usize] = &[64, 128, 256, 512, 1024, 1514];

/// Number of timed frames of each length; their median is the middle one.
const TIMED: usize = 101;
/// Number of untimed frames of each length before that: caches and branch predictors settle.
const WARM_UP: usize = 20;
/// Headers of a synthetic frame.
const HEADERS: usize = ETHERNET + IPV4 + UDP;
/// Number of flows that the frames belong to.
const FLOWS: u64 = 256;
/// A cost counts as growing with length if this fraction of the longest frame's cost does.
const DECISIVE: f64 = 0.5;

/// Measurement of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Its length in bytes.
    pub bytes: u32,
    /// Processing time, without the clock's own cost.
    pub took: Nanos,
    /// Its length afterwards; `None` if it was dropped.
    pub bytes_out: Option<u32>,
    /// Fuel that it took.
    pub fuel: u64,
}

/// Result of measuring a program.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The form that schedulers and admission control take: its cost line, whether that grows with length, and the factor
    /// by which frames grow.
    pub program: cost::Program,
    /// Every frame, in the order in which they were measured.
    pub samples: Vec<Sample>,
}

impl Measured {
    /// The most fuel that a frame took.
    #[must_use]
    pub fn most_fuel(&self) -> u64 {
        self.samples.iter().map(|sample| sample.fuel).max().unwrap_or(0)
    }
}

/// The costs in words.
impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.program.cost {
            Some(cost) => {
                write!(f, "{:.3} ns per byte + {:.0} ns per packet", cost.per_byte_ns(), cost.per_packet_ns())?
            }
            None => f.write_str("unknown time")?,
        }
        write!(f, ", up to {} fuel per packet", self.most_fuel())
    }
}

/// Measures a program with frames of these lengths, each clamped between the headers' 42 bytes and the program's maximum
/// frame length. `clock` is read before and after each frame.
///
/// # Errors
/// [`Flaw::Unmeasurable`] if the program fails on a frame, or is quarantined.
pub fn measure(program: &mut Program, lengths: &[usize], clock: &mut dyn FnMut() -> Nanos) -> Result<Measured, Flaw> {
    let longest = program.limits().frame_bytes;
    let lengths: Vec<usize> = lengths.iter().map(|&length| length.min(longest).max(HEADERS)).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut frame = Vec::new();
    for _ in 0..WARM_UP {
        for &length in &lengths {
            fill(&mut frame, length, &mut random);
            handle(program, &mut frame)?;
        }
    }
    let clock_cost = median((0..TIMED).map(|_| elapsed(clock, || ()).1.0));
    let mut samples = Vec::with_capacity(lengths.len() * TIMED);
    for length in order(&lengths, &mut random) {
        fill(&mut frame, length, &mut random);
        let (verdict, took) = elapsed(clock, || handle(program, &mut frame));
        let bytes_out = verdict?.then_some(frame.len() as u32);
        let took = Nanos(took.0.saturating_sub(clock_cost));
        samples.push(Sample { bytes: length as u32, took, bytes_out, fuel: program.fuel() });
    }
    Ok(Measured { program: facts(program.name(), &samples), samples })
}

/// Whether the frame is forwarded.
fn handle(program: &mut Program, frame: &mut Vec<u8>) -> Result<bool, Flaw> {
    let bytes = frame.len();
    match program.process(frame) {
        Verdict::Forward | Verdict::Untouched if !program.is_quarantined() => Ok(true),
        Verdict::Drop(Reason::Refused) => Ok(false),
        _ => {
            let why = program.last_failure().unwrap_or(Why::Unknown);
            Err(Flaw::Unmeasurable { bytes, failure: why.failure(), why: why.to_string() })
        }
    }
}

fn elapsed<T>(clock: &mut dyn FnMut() -> Nanos, what: impl FnOnce() -> T) -> (T, Nanos) {
    let begun = clock();
    let result = what();
    (result, Nanos(clock().0.saturating_sub(begun.0)))
}

/// A frame of this length: UDP over IPv4 with a valid header checksum and random content.
fn fill(frame: &mut Vec<u8>, length: usize, random: &mut Xoshiro256PlusPlus) {
    let [a, b] = ((random.next_u64() % FLOWS) as u16).to_be_bytes();
    let short = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    let ([ip_high, ip_low], [udp_high, udp_low]) = (short(length - ETHERNET), short(length - ETHERNET - IPV4));
    frame.clear();
    frame.extend_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00]);
    frame.extend_from_slice(&[0x45, 0, ip_high, ip_low, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 1, a, b, 10, 2, b, a]);
    let checksum = finish(sum(&frame[ETHERNET..], 0));
    frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend_from_slice(&[0x10, b, 0x01, 0xbb, udp_high, udp_low, 0, 0]);
    frame.resize(length, 0);
    random.fill_bytes(&mut frame[HEADERS..]);
}

/// Every length equally often, shuffled (Fisher and Yates).
fn order(lengths: &[usize], random: &mut Xoshiro256PlusPlus) -> Vec<usize> {
    let mut order = lengths.repeat(TIMED);
    for at in (1..order.len()).rev() {
        order.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
    }
    order
}

fn median(nanos: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = nanos.collect();
    sorted.sort_unstable();
    dovetail_stats::quantile(&sorted, Quantile::MEDIAN).unwrap_or(0)
}

/// Derives the cost from the samples.
fn facts(name: &str, samples: &[Sample]) -> cost::Program {
    let mut lengths: Vec<u32> = samples.iter().map(|sample| sample.bytes).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut fit = LeastSquares::new(lengths.len());
    for &bytes in &lengths {
        let of_length = samples.iter().filter(|sample| sample.bytes == bytes);
        // A clock that saw no time pass does not make a program free.
        fit.observe(bytes, median(of_length.map(|sample| sample.took.0)).max(1));
    }
    let line = fit.plausible_line().and_then(|(per_byte, per_packet)| Cost::new(per_byte, per_packet).ok());
    let processing = match (line, &lengths[..]) {
        (Some(line), &[first, .., last])
            if 1.0 - line.mean_ns(first.into()) / line.mean_ns(last.into()) <= DECISIVE =>
        {
            Processing::Header
        }
        _ => Processing::Payload,
    };
    let passed = || samples.iter().filter_map(|sample| Some((sample.bytes, sample.bytes_out?)));
    let (before, after) = passed().fold((0u64, 0u64), |(before, after), (bytes, bytes_out)| {
        (before + u64::from(bytes), after + u64::from(bytes_out))
    });
    let expansion = if before == 0 { 1.0 } else { after as f64 / before as f64 };
    cost::Program { processing, cost: line, expansion, ..cost::Program::new(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(cost: impl Fn(u32) -> u64) -> Vec<Sample> {
        let lengths = [64u32, 512, 1514].repeat(9);
        let sample = |bytes| Sample { bytes, took: Nanos(cost(bytes)), bytes_out: Some(bytes + 4), fuel: 1 };
        lengths.into_iter().map(sample).collect()
    }

    #[test]
    fn the_line_is_that_of_the_medians() {
        let mut samples = samples(|bytes| 300 + 2 * u64::from(bytes));
        // Interrupts.
        samples[0].took = Nanos(1_000_000);
        samples[5].took = Nanos(1_000_000);
        let facts = facts("sum", &samples);
        let line = facts.cost.unwrap();
        assert!((line.per_byte_ns() - 2.0).abs() < 1e-9 && (line.per_packet_ns() - 300.0).abs() < 1e-6, "{line}");
        assert_eq!((facts.name.as_str(), facts.processing), ("sum", Processing::Payload));
        assert!((facts.expansion - (2090.0 + 12.0) / 2090.0).abs() < 1e-12);
    }

    #[test]
    fn what_hardly_grows_with_length_is_header_processing() {
        assert_eq!(facts("mark", &samples(|_| 20)).processing, Processing::Header);
        assert_eq!(facts("mark", &samples(|bytes| 100 + u64::from(bytes) / 100)).processing, Processing::Header);
        // A single length is not conclusive.
        let one: Vec<Sample> = samples(|_| 20).into_iter().filter(|sample| sample.bytes == 64).collect();
        assert_eq!(facts("mark", &one).processing, Processing::Payload);
    }

    #[test]
    fn nothing_is_free_and_dropped_frames_have_no_length() {
        let mut samples = samples(|_| 0);
        assert_eq!(facts("fast", &samples).cost, Some(Cost::new(0.0, 1.0).unwrap()));
        for sample in &mut samples {
            sample.bytes_out = None;
        }
        assert!((facts("fast", &samples).expansion - 1.0).abs() < 1e-12);
        assert_eq!(facts("none", &[]).cost, None);
    }

    #[test]
    fn synthetic_frames_are_packets() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut frame = Vec::new();
        for length in [42, 64, 1514, 65_549] {
            fill(&mut frame, length, &mut random);
            let ip = crate::functions::frame::Ip::find(&frame).unwrap();
            assert_eq!((frame.len(), ip.end), (length, length));
            assert_eq!(finish(sum(&frame[ip.at..ip.body], 0)), 0);
        }
    }
}
