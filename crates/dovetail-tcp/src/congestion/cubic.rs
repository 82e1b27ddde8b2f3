//! CUBIC (RFC 9438).
//!
//! After a loss at a window of `w_max` segments, which is reduced to `beta w_max`, the window follows
//!
//! ```text
//! w(t) = c (t - k)^3 + w_max,     k = cbrt((w_max - w(0)) / c)
//! ```
//!
//! with `t` in seconds, so that it returns to `w_max` after `k`, where the curve is flat. If Reno's window, computed
//! alongside, is larger, that is used. All arithmetic is in integers: times are in milliseconds, so that `c t^3` with
//! `c = 0.4` is `4 t^3 / 10^10`.

use dovetail_sched::Nanos;

use super::{
    hystart::Hystart,
    window::{Acked, Window},
};

/// Remaining window after a loss, in 1024ths: 0.7 (RFC 9438, section 4.6), as Linux rounds it.
const BETA: u64 = 717;
const ONE: u64 = 1024;
/// 1/c in milliseconds cubed for a segment: 10^9 / 0.4 (section 5, C).
const CUBE_MS_PER_SEGMENT: u64 = 2_500_000_000;
/// Limit of the distance from `k`, which keeps sums in 64 bits.
const FURTHEST_MS: u64 = 1_000_000;
/// An unchanged window is not recomputed more often than this (`HZ / 32`).
const LOOK_EVERY: Nanos = Nanos(31_250_000);
/// Before any loss, the window grows by at least one segment per this many acknowledged.
const FIRST_EPOCH: u32 = 20;
/// The window grows by at most one segment per two acknowledged (section 4.1.2: 1.5 a round trip).
const FASTEST: u32 = 2;
/// For this long after a loss, long round trips have causes other than slow start.
const CALM_AFTER: Nanos = Nanos::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    // 0: no loss so far.
    w_max: u32,
    epoch: Option<Epoch>,
    // The window and the time of the last computation, and its result.
    looked: (u32, Nanos),
    per: u32,
    // Initially the maximum.
    least_rtt: Nanos,
    hystart: Option<Hystart>,
}

/// State since the last loss.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    since: Nanos,
    origin: u32,
    k_ms: u32,
    // Reno's window, and segments acknowledged towards its next one.
    reno: u32,
    acked: u32,
}

impl Cubic {
    pub(super) const fn new(hystart: Option<Hystart>) -> Self {
        Self { w_max: 0, epoch: None, looked: (0, Nanos::ZERO), per: 0, least_rtt: Nanos::MAX, hystart }
    }

    /// A timeout: start afresh.
    pub(super) fn reset(&mut self) {
        *self = Self::new(self.hystart.map(Hystart::afresh));
    }

    /// Excludes a pause from the elapsed time.
    pub(super) fn resumes(&mut self, last_sent: Nanos, now: Nanos) {
        if let Some(epoch) = &mut self.epoch {
            epoch.since = (epoch.since + (now - last_sent)).min(now);
        }
    }

    pub(super) fn measured(&mut self, rtt: Nanos, acked: &Acked, window: &mut Window, now: Nanos) {
        if self.epoch.is_some_and(|epoch| now - epoch.since < CALM_AFTER) {
            return;
        }
        let least = self.least_rtt.min(rtt).max(Nanos(1));
        self.least_rtt = least;
        if let Some(hystart) = self.hystart.as_mut().filter(|_| window.is_in_slow_start())
            && hystart.on_ack(rtt, least, acked, window.segments, now)
        {
            window.threshold = window.segments;
        }
    }

    pub(super) fn threshold(&mut self, window: &Window) -> u32 {
        self.epoch = None;
        let lost_at = u64::from(window.segments);
        // Fast convergence: a window that did not reach the previous maximum releases bandwidth to other flows (section 4.7).
        let kept = if window.segments < self.w_max { lost_at * (ONE + BETA) / (2 * ONE) } else { lost_at };
        self.w_max = kept as u32;
        (lost_at * BETA / ONE) as u32
    }

    /// Number of acknowledged segments per segment of growth.
    pub(super) fn segments_per_growth(&mut self, window: &Window, acked: u32, now: Nanos) -> u32 {
        let segments = window.segments.max(1);
        let w_max = self.w_max;
        let least_rtt = if self.least_rtt == Nanos::MAX { Nanos::ZERO } else { self.least_rtt };
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        if self.looked.0 == segments && self.epoch.is_some() && now - self.looked.1 <= LOOK_EVERY {
            return self.per;
        }
        let is_same_instant = self.epoch.is_some() && now == self.looked.1;
        self.looked = (segments, now);
        let epoch = self.epoch.get_or_insert_with(|| {
            let short = u64::from(w_max.saturating_sub(segments));
            let k_ms = cube_root(short * CUBE_MS_PER_SEGMENT) as u32;
            Epoch { since: now, origin: w_max.max(segments), k_ms, reno: segments, acked }
        });
        if !is_same_instant {
            let at_ms = (now + least_rtt - epoch.since).0 / 1_000_000;
            let k_ms = u64::from(epoch.k_ms);
            let apart_ms = at_ms.abs_diff(k_ms).min(FURTHEST_MS);
            let off = apart_ms.pow(3) / CUBE_MS_PER_SEGMENT;
            let origin = u64::from(epoch.origin);
            let target = if at_ms < k_ms { origin.saturating_sub(off) } else { origin + off };
            let target = u32::try_from(target).unwrap_or(u32::MAX);
            self.per = match target.checked_sub(segments) {
                None | Some(0) => segments.saturating_mul(100),
                Some(by) => segments / by,
            };
            if w_max == 0 {
                self.per = self.per.min(FIRST_EPOCH);
            }
        }
        // Reno with this beta grows by 3 (1 - beta) / (1 + beta) a round trip (section 4.3).
        let per_reno = (u64::from(segments) * (ONE + BETA) / (3 * (ONE - BETA))).max(1) as u32;
        let grown = epoch.acked / per_reno;
        epoch.acked -= grown * per_reno;
        epoch.reno = epoch.reno.saturating_add(grown);
        if let Some(by) = epoch.reno.checked_sub(segments).filter(|&by| by > 0) {
            self.per = self.per.min(segments / by);
        }
        self.per = self.per.max(FASTEST);
        self.per
    }
}

/// The largest number whose cube is at most `of`.
fn cube_root(of: u64) -> u64 {
    let (mut root, mut bit) = (0u64, 1u64 << 21);
    while bit > 0 {
        let next = root | bit;
        if next.checked_pow(3).is_some_and(|cube| cube <= of) {
            root = next;
        }
        bit >>= 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_cubes() {
        for root in [0u64, 1, 2, 3, 999, 1000, 2_642_245] {
            let cube = root.pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube.saturating_sub(1)), root.saturating_sub(1));
        }
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    /// The curve against its formula in floating point, with an acknowledgement each millisecond, while Reno is slower.
    #[test]
    fn the_window_is_back_where_it_was_after_k() {
        let mut cubic = Cubic::new(None);
        let mut window = Window { segments: 1000, threshold: 1, counted: 0 };
        window.segments = cubic.threshold(&window);
        assert_eq!(window.segments, 700);
        let k = (300.0f64 / 0.4).cbrt();
        let mut now = Nanos::from_secs(100);
        let begun = now;
        while (now - begun).as_secs_f64() < 2.0 * k {
            now += Nanos::from_millis(1);
            // As if one window were acknowledged each 100 ms.
            let acked = window.segments / 100;
            let per = cubic.segments_per_growth(&window, acked, now);
            window.avoid(per, acked);
            let t = (now - begun).as_secs_f64();
            let curve = 0.4 * (t - k).powi(3) + 1000.0;
            let off = (f64::from(window.segments) - curve).abs();
            assert!(off < 40.0, "{t:.2} s: {} and {curve:.0}", window.segments);
        }
    }
}
