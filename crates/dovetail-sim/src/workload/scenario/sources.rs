//! Sources of packets: listed flows and transfers, resolved.

use dovetail_sched::{Nanos, Weight};

use super::size::Size;
use crate::workload::random::Random;

/// Time from a packet to the next, depending on its size. One of the two terms is 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    pub(super) per_packet_ns: f64,
    pub(super) per_byte_ns: f64,
}

impl Gap {
    #[inline]
    pub(super) fn of(self, bytes: f64) -> f64 {
        self.per_packet_ns + self.per_byte_ns * bytes
    }

    fn scaled(self, by: f64) -> Self {
        Self { per_packet_ns: self.per_packet_ns * by, per_byte_ns: self.per_byte_ns * by }
    }
}

/// When packets of a source arrive.
#[derive(Debug, Clone, Copy)]
pub(super) enum Process {
    /// A new packet arrives whenever one leaves its queue.
    Backlogged,
    /// Equally spaced, from a random phase on.
    Constant(Gap),
    /// Independent of each other; the mean gap in nanoseconds.
    Poisson(f64),
    /// Equally spaced while on; times on and off are exponential with these means. A packet that is due while the source is
    /// off is delayed by the rest of its gap after the source is on again.
    OnOff { gap: Gap, on_ns: f64, off_ns: f64 },
}

/// Limit of the mean number of periods of an on-off source between two packets: each takes time to compute.
const MAX_PERIODS: f64 = 1000.0;

impl Process {
    /// The mean rate, for sources with a rate of their own.
    pub(super) fn packets_per_ns(&self, size: &Size) -> Option<f64> {
        match *self {
            Self::Backlogged => None,
            Self::Constant(gap) => Some(1.0 / gap.of(size.mean())),
            Self::Poisson(gap_ns) => Some(1.0 / gap_ns),
            Self::OnOff { gap, on_ns, off_ns } => Some(on_ns / (on_ns + off_ns) / gap.of(size.mean())),
        }
    }

    /// The same process with gaps multiplied by `by`.
    ///
    /// # Errors
    /// A text, when packets are too frequent for the resolution of time, or an on-off source's periods are too short.
    pub(super) fn scaled(&self, by: f64, size: &Size) -> Result<Self, String> {
        let mean_ns = match *self {
            Self::Backlogged => return Ok(Self::Backlogged),
            Self::Poisson(gap_ns) => gap_ns * by,
            Self::Constant(gap) | Self::OnOff { gap, .. } => gap.scaled(by).of(size.mean()),
        };
        if mean_ns.is_nan() || mean_ns < 1.0 {
            return Err("more than one arrival a nanosecond: lower the rate, or the load".into());
        }
        Ok(match *self {
            Self::Backlogged => Self::Backlogged,
            Self::Constant(gap) => Self::Constant(gap.scaled(by)),
            Self::Poisson(gap_ns) => Self::Poisson(gap_ns * by),
            Self::OnOff { gap, on_ns, off_ns } => {
                let gap = gap.scaled(by);
                if gap.of(size.max()) > MAX_PERIODS * on_ns {
                    let what = "on-off: a packet takes over 1000 times on; lengthen on or raise the rate";
                    return Err(what.into());
                }
                Self::OnOff { gap, on_ns, off_ns }
            }
        })
    }

    /// Time from `start` to the first packet, and the rest of the first on period.
    pub(super) fn first_gap(&self, size: &Size, random: &mut Random) -> (f64, f64) {
        match *self {
            Self::Backlogged => (0.0, 0.0),
            Self::Constant(gap) => (random.unit() * gap.of(size.mean()), 0.0),
            Self::Poisson(gap_ns) => (gap_ns * random.exponential(), 0.0),
            Self::OnOff { gap, on_ns, off_ns } => {
                // In the steady state the source is on with this probability, and the rest of a period is distributed like a
                // new one.
                let on = random.unit() < on_ns / (on_ns + off_ns);
                let off = if on { 0.0 } else { off_ns * random.exponential() };
                let mut on_left = on_ns * random.exponential();
                let phase = random.unit() * gap.of(size.mean());
                (off + cross(phase, &mut on_left, on_ns, off_ns, random), on_left)
            }
        }
    }

    /// Time from a packet of `bytes` to the next.
    #[inline(always)]
    pub(super) fn gap(&self, bytes: f64, on_left: &mut f64, random: &mut Random) -> f64 {
        match *self {
            Self::Backlogged => f64::INFINITY,
            Self::Constant(gap) => gap.of(bytes),
            Self::Poisson(gap_ns) => gap_ns * random.exponential(),
            Self::OnOff { gap, on_ns, off_ns } => cross(gap.of(bytes), on_left, on_ns, off_ns, random),
        }
    }
}

/// Time until `need` nanoseconds of on time have passed.
fn cross(mut need: f64, on_left: &mut f64, on_ns: f64, off_ns: f64, random: &mut Random) -> f64 {
    let mut passed = 0.0;
    while need > *on_left {
        need -= *on_left;
        passed += *on_left + off_ns * random.exponential();
        *on_left = on_ns * random.exponential();
    }
    *on_left -= need;
    passed + need
}

/// Flows listed individually.
#[derive(Debug, Clone)]
pub(super) struct FlowSpec {
    pub(super) name: String,
    pub(super) count: u32,
    /// `None`: drawn by the classes' shares.
    pub(super) class: Option<u16>,
    pub(super) weight: Weight,
    /// By resource, if they have separate weights.
    pub(super) resource_weights: Option<Vec<Weight>>,
    pub(super) size: Size,
    pub(super) process: Process,
    pub(super) start: Nanos,
    pub(super) stop: Nanos,
    pub(super) packets: u64,
    pub(super) changes: Vec<(Nanos, u16)>,
}

impl FlowSpec {
    /// The classes that the flow goes through, each with its part of `duration`.
    pub(super) fn parts(&self, duration: Option<Nanos>) -> Vec<(Option<u16>, f64)> {
        let Some(duration) = duration.filter(|&duration| duration > Nanos::ZERO) else {
            return vec![(self.class, 1.0)];
        };
        let end = self.stop.min(duration);
        let mut parts = Vec::new();
        let (mut class, mut from) = (self.class, self.start);
        for &(at, next) in &self.changes {
            let to = at.max(self.start).min(end);
            parts.push((class, (to - from).as_f64() / duration.as_f64()));
            (class, from) = (Some(next), to);
        }
        parts.push((class, (end - from).as_f64() / duration.as_f64()));
        parts
    }
}

/// Flows that begin and end.
#[derive(Debug, Clone)]
pub(super) struct TransferSpec {
    pub(super) name: String,
    pub(super) class: Option<u16>,
    pub(super) weight: Weight,
    pub(super) size: Size,
    pub(super) process: Process,
    pub(super) mtu: u32,
    pub(super) nanos_per_byte: f64,
    pub(super) start: Nanos,
    pub(super) stop: Nanos,
    pub(super) flows: u32,
    /// Whether `flows` is a default: reaching it is then reported.
    pub(super) capped: bool,
}

impl TransferSpec {
    /// The part of `duration` during which transfers start.
    pub(super) fn part(&self, duration: Option<Nanos>) -> f64 {
        let Some(duration) = duration.filter(|&duration| duration > Nanos::ZERO) else { return 1.0 };
        (self.stop.min(duration) - self.start).as_f64() / duration.as_f64()
    }

    /// The mean number of packets of a transfer: `E[ceil(X/mtu)] = E[X]/mtu + E[ceil(X/mtu) - X/mtu]`, of which the
    /// first part is exact and the second, which is under 1 however heavy the tail, is the mean over 2^14 samples.
    pub(super) fn mean_packets(&self) -> f64 {
        const SAMPLES: u32 = 1 << 14;
        let mtu = f64::from(self.mtu);
        if let Size::Fixed(bytes) = self.size {
            return bytes.div_ceil(u64::from(self.mtu)) as f64;
        }
        let mut random = Random::new(0, 0);
        let mut rest = 0.0;
        for _ in 0..SAMPLES {
            let packets = self.size.sample(&mut random) as f64 / mtu;
            rest += libm::ceil(packets) - packets;
        }
        self.size.mean() / mtu + rest / f64::from(SAMPLES)
    }
}
