//! The fair dominant share of the backlogged flows, from sums that never drift.
//!
//! A flow's claim on resource `r` is `w · tau_r / tau*`: its head-of-line packet's time there over its largest time, times
//! its weight. Claims change with every packet, and a floating-point sum would accumulate rounding errors. Each claim is
//! rounded once to a multiple of 2^-64 and summed as an integer, so that exactly what was added is removed. For weights from
//! 1e-6 on, a claim has 44 bits, and 2^26 flows of weight 1e6 take 110 of the 128 bits.

use dovetail_sched::{MAX_RESOURCES, Nanos};

/// The sum of all claims on each resource.
#[derive(Debug)]
pub(super) struct Claims {
    resources: usize,
    sums: [u128; MAX_RESOURCES],
    fair: f64,
}

const ONE: f64 = (1u128 << 64) as f64;

impl Claims {
    pub(super) fn new(resources: usize) -> Self {
        Self { resources, sums: [0; MAX_RESOURCES], fair: 0.0 }
    }

    /// Adds a head-of-line packet with these `times`, not all of them zero.
    #[inline]
    pub(super) fn add(&mut self, weight: f64, times: &[Nanos]) {
        for (sum, claim) in self.sums.iter_mut().zip(claims(weight, times)) {
            *sum += claim;
        }
        self.look();
    }

    /// Removes a packet that is no longer head of line.
    #[inline]
    pub(super) fn remove(&mut self, weight: f64, times: &[Nanos]) {
        for (sum, claim) in self.sums.iter_mut().zip(claims(weight, times)) {
            *sum -= claim;
        }
        self.look();
    }

    /// The dominant share of a flow of weight 1, `1 / max_r sum of claims`; 0 if there are no claims.
    #[inline]
    pub(super) fn fair(&self) -> f64 {
        self.fair
    }

    #[inline]
    fn look(&mut self) {
        let most = self.sums[..self.resources].iter().copied().fold(0, u128::max);
        self.fair = if most == 0 { 0.0 } else { ONE / most as f64 };
    }
}

fn claims(weight: f64, times: &[Nanos]) -> impl Iterator<Item = u128> + '_ {
    let dominant = times.iter().copied().fold(Nanos::ZERO, Nanos::max).as_f64();
    times.iter().map(move |time| (weight * (time.as_f64() / dominant) * ONE) as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_the_paper_s_first_figure() {
        let mut claims = Claims::new(2);
        claims.add(1.0, &[Nanos(2), Nanos(3)]);
        claims.add(1.0, &[Nanos(9), Nanos(1)]);
        assert!((claims.fair() - 0.6).abs() < 1e-15);
    }

    #[test]
    fn nothing_is_left_of_a_million_claims() {
        let mut claims = Claims::new(3);
        let packet = |at: u64| [Nanos(1 + at % 97), Nanos(1 + at % 1009), Nanos(1 + at % 31)];
        let weight = |at: u64| [1.0, 1e-6, 1e6, 0.3][(at % 4) as usize];
        for at in 0..1_000_000 {
            claims.add(weight(at), &packet(at));
            if at >= 20 {
                claims.remove(weight(at - 20), &packet(at - 20));
            }
        }
        for at in 999_980..1_000_000 {
            claims.remove(weight(at), &packet(at));
        }
        assert_eq!(claims.sums, [0; MAX_RESOURCES]);
        assert_eq!(claims.fair(), 0.0);
    }
}
