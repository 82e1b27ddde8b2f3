//! Bandwidths, in integers.
//!
//! A bandwidth counts segments per unit of time. The unit is long enough to distinguish slow paths and short enough for fast
//! ones: 2^40 ns, about 18 minutes. One segment per second is 1,100 in this unit; one per nanosecond is 2^40.

use dovetail_sched::Nanos;

/// The unit of time, as a power of two in nanoseconds.
const SHIFT: u32 = 40;
/// Gains are in 256ths.
const GAIN_SHIFT: u32 = 8;

/// A factor, in 256ths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gain(pub(crate) u32);

impl Gain {
    pub(crate) const ONE: Self = Self(1 << GAIN_SHIFT);
}

/// Segments per 2^40 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Bandwidth(u64);

impl Bandwidth {
    /// The bandwidth that delivers `segments` in `time`.
    pub(crate) fn of(segments: u64, time: Nanos) -> Self {
        Self(saturate((u128::from(segments) << SHIFT) / u128::from(time.0.max(1))))
    }

    pub(crate) fn times(self, gain: Gain) -> Self {
        Self(saturate((u128::from(self.0) * u128::from(gain.0)) >> GAIN_SHIFT))
    }

    /// `percent` hundredths of it.
    pub(crate) fn percent(self, percent: u64) -> Self {
        Self(saturate(u128::from(self.0) * u128::from(percent) / 100))
    }

    pub(crate) const fn mean(self, other: Self) -> Self {
        Self(self.0.midpoint(other.0))
    }

    pub(crate) const fn distance(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// Whether it differs from another by at most `1/part` of that.
    pub(crate) const fn is_near(self, other: Self, part: u64) -> bool {
        self.0.abs_diff(other.0) <= other.0 / part
    }

    /// Whole segments delivered in `time`.
    pub(crate) fn segments_before(self, time: Nanos) -> u64 {
        saturate((u128::from(self.0) * u128::from(time.0)) >> SHIFT)
    }

    /// Segments delivered in `time`, rounded up.
    pub(crate) fn segments_in(self, time: Nanos) -> u64 {
        saturate((u128::from(self.0) * u128::from(time.0)).div_ceil(1 << SHIFT))
    }

    /// How long `bytes` take at `segment_bytes` per segment; `None` if nothing is ever delivered.
    pub(crate) fn time_for(self, bytes: u32, segment_bytes: u32) -> Option<Nanos> {
        let bytes_in_unit = u128::from(self.0) * u128::from(segment_bytes);
        (u128::from(bytes) << SHIFT).checked_div(bytes_in_unit).map(|time| Nanos(saturate(time)))
    }
}

fn saturate(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_megabits_are_a_full_segment_each_1168_microseconds() {
        // 1,460 bytes at 10 Mbit/s.
        let took = Nanos::from_micros(1168);
        let rate = Bandwidth::of(1, took);
        assert!(rate.time_for(1460, 1460).is_some_and(|time| time.0.abs_diff(took.0) <= 2));
        assert_eq!(rate.segments_in(Nanos::from_millis(40)), 35, "34.2, rounded up");
        assert_eq!(rate.times(Gain(512)).segments_in(Nanos::from_millis(40)), 69);
        assert_eq!(rate.percent(50).segments_in(Nanos::from_millis(40)), 18);
    }

    #[test]
    fn extremes_stay_in_range() {
        assert_eq!(Bandwidth::default().time_for(1, 1), None);
        let most = Bandwidth::of(u64::MAX, Nanos::ZERO);
        assert_eq!(most.times(Gain(739)), most);
        assert_eq!(most.segments_in(Nanos::MAX), u64::MAX);
        assert_eq!(most.time_for(u32::MAX, 1), Some(Nanos(255)));
    }
}
