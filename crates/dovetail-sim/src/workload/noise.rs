//! True costs that deviate from the class's line.
//!
//! A packet's true cost on the first resource is its class's line times a random factor per packet: a spread around 1,
//! occasional spikes, or a measured distribution. This is independent of what the scheduler assumes. The length after
//! processing is the length before times an expansion factor, and later resources see that length.

use super::{Cdf, random::Random};

/// Distribution of the factor of a packet's cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Noise {
    /// The standard deviation of a log-normal factor with mean 1; 0 for none.
    pub spread: f64,
    /// This share of the packets, from 0 to 1, …
    pub spike_share: f64,
    /// … costs this many times as much on top.
    pub spike_factor: f64,
    /// A measured distribution of the factor, applied in addition.
    pub measured: Option<Cdf>,
}

/// The largest factor of any kind: beyond it, costs would exceed the range of a clock.
const MAX_FACTOR: f64 = 1e6;

impl Noise {
    /// Whether every factor is 1.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.spread == 0.0 && self.spike_share == 0.0 && self.measured.is_none()
    }

    /// The mean factor.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let spikes = 1.0 + self.spike_share * (self.spike_factor - 1.0);
        spikes * self.measured.as_ref().map_or(1.0, Cdf::mean)
    }

    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        let mut factor = 1.0;
        if self.spread > 0.0 {
            // A log-normal factor with mean 1 and deviation c has sigma² = ln(1 + c²) and mu = -sigma²/2.
            let variance = libm::log1p(self.spread * self.spread);
            factor *= libm::exp(libm::sqrt(variance) * random.normal() - variance / 2.0);
        }
        if self.spike_share > 0.0 && random.unit() < self.spike_share {
            factor *= self.spike_factor;
        }
        if let Some(measured) = &self.measured {
            factor *= measured.quantile(random.unit());
        }
        factor.min(MAX_FACTOR)
    }

    /// Checks the parameters; the error says what is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(0.0..=10.0).contains(&self.spread) {
            return Err(format!("noise: spread is from 0 to 10, not {}", self.spread));
        }
        if !(0.0..=1.0).contains(&self.spike_share) || !(0.0..=MAX_FACTOR).contains(&self.spike_factor) {
            let (share, factor) = (self.spike_share, self.spike_factor);
            let what = "spike_share is from 0 to 1 and spike_factor from 0 to 1000000";
            return Err(format!("noise: {what}, not {share} and {factor}"));
        }
        if self.measured.as_ref().is_some_and(|measured| measured.max() > MAX_FACTOR || measured.mean() <= 0.0) {
            return Err(format!("noise: measured factors are from 0 to {MAX_FACTOR}, and not all 0"));
        }
        Ok(())
    }
}

/// Length after processing over length before, drawn uniformly for each packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expansion {
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Default for Expansion {
    fn default() -> Self {
        Self { min: 1.0, max: 1.0 }
    }
}

impl Expansion {
    /// The mean.
    #[must_use]
    pub fn mean(self) -> f64 {
        self.min.midpoint(self.max)
    }

    pub(super) fn draw(self, random: &mut Random) -> f64 {
        if self.min == self.max { self.min } else { self.min + (self.max - self.min) * random.unit() }
    }

    pub(super) fn check(self) -> Result<(), String> {
        if (1e-3..=1e3).contains(&self.min) && (self.min..=1e3).contains(&self.max) {
            return Ok(());
        }
        Err(format!("expansion is from 0.001 to 1000, min first, not {} to {}", self.min, self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(noise: &Noise) -> (f64, f64) {
        noise.check().unwrap();
        let mut random = Random::new(1, 0);
        let n = 400_000;
        let factors: Vec<f64> = (0..n).map(|_| noise.draw(&mut random)).collect();
        let mean = factors.iter().sum::<f64>() / f64::from(n);
        let variance = factors.iter().map(|factor| (factor - mean).powi(2)).sum::<f64>() / f64::from(n);
        (mean, variance.sqrt())
    }

    #[test]
    fn spreads_and_spikes_have_the_moments_they_state() {
        let (mean, deviation) = moments(&Noise { spread: 0.4, ..Noise::default() });
        assert!((mean - 1.0).abs() < 0.003 && (deviation - 0.4).abs() < 0.005, "{mean} {deviation}");
        // 2 % at four times: mean 1.06, variance 0.02 · 16 + 0.98 - 1.06² = 0.1764.
        let spikes = Noise { spike_share: 0.02, spike_factor: 4.0, ..Noise::default() };
        let (mean, deviation) = moments(&spikes);
        assert!((mean - 1.06).abs() < 0.003 && (deviation - 0.42).abs() < 0.01, "{mean} {deviation}");
        assert!((spikes.mean() - 1.06).abs() < 1e-12);
        let measured = Noise { measured: Some(Cdf::new(&[(0.5, 0.0), (1.5, 1.0)], 1.0).unwrap()), ..Noise::default() };
        let (mean, deviation) = moments(&measured);
        assert!((mean - measured.mean()).abs() < 0.003 && (deviation - 1.0 / 12f64.sqrt()).abs() < 0.002);
    }

    #[test]
    fn what_is_no_noise() {
        for wrong in [
            Noise { spread: f64::NAN, ..Noise::default() },
            Noise { spread: -0.1, ..Noise::default() },
            Noise { spike_share: 1.1, spike_factor: 2.0, ..Noise::default() },
            Noise { spike_share: 0.1, spike_factor: f64::INFINITY, ..Noise::default() },
            Noise { measured: Some(Cdf::new(&[(0.0, 1.0)], 1.0).unwrap()), ..Noise::default() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert!(Expansion { min: 0.3, max: 0.2 }.check().is_err());
        assert!(Expansion { min: f64::NAN, max: 1.0 }.check().is_err());
        assert!(Expansion { min: 0.11, max: 0.36 }.check().is_ok());
    }
}
