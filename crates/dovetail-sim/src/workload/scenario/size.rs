//! Sizes of packets and transfers.

use crate::workload::{Cdf, random::Random};

/// A distribution of sizes in bytes. A sample is rounded to whole bytes, and is at least 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Size {
    /// Always the same.
    Fixed(u64),
    /// Uniform over the integers from the first to the second.
    Uniform(u64, u64),
    /// Pareto, truncated at `max`: `P(X > x)` falls as `x^-shape` from `min` to `max`, where it is 0.
    Pareto {
        /// The exponent.
        shape: f64,
        /// The smallest size.
        min: f64,
        /// The largest size.
        max: f64,
    },
    /// Log-normal: the logarithm has mean `mu` and deviation `sigma`. Values below `min` are replaced by `min`, values above
    /// `max` by `max`.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Deviation of the logarithm.
        sigma: f64,
        /// The smallest size.
        min: f64,
        /// The largest size.
        max: f64,
    },
    /// A measured distribution.
    Empirical(Cdf),
}

impl Size {
    /// The mean, before rounding to whole bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(bytes) => bytes as f64,
            Self::Uniform(min, max) => (min as f64 + max as f64) / 2.0,
            Self::Pareto { shape, min, max } => {
                // E = L a/(a-1) (1 - r^(a-1)) / (1 - r^a) with r = L/H, continued over a = 1.
                let log = libm::log(min / max);
                if log == 0.0 {
                    return min;
                }
                let power = shape - 1.0;
                let tail = if power.abs() < 1e-12 { -log } else { -libm::expm1(power * log) / power };
                min * shape * tail / -libm::expm1(shape * log)
            }
            Self::LogNormal { mu, sigma, min, max } => {
                if sigma == 0.0 {
                    return libm::exp(mu).clamp(min, max);
                }
                let normal = |z: f64| 0.5 * libm::erfc(-z / core::f64::consts::SQRT_2);
                let (low, high) = ((libm::log(min) - mu) / sigma, (libm::log(max) - mu) / sigma);
                let between = libm::exp(mu + sigma * sigma / 2.0) * (normal(high - sigma) - normal(low - sigma));
                (min * normal(low) + max * normal(-high) + between).clamp(min, max)
            }
            Self::Empirical(ref cdf) => cdf.mean().max(1.0),
        }
    }

    /// The largest possible size.
    #[must_use]
    pub fn max(&self) -> f64 {
        match *self {
            Self::Fixed(bytes) => bytes as f64,
            Self::Uniform(_, max) => max as f64,
            Self::Pareto { max, .. } | Self::LogNormal { max, .. } => max,
            Self::Empirical(ref cdf) => cdf.max().max(1.0),
        }
    }

    #[inline(always)]
    pub(crate) fn sample(&self, random: &mut Random) -> u64 {
        let bytes = match *self {
            Self::Fixed(bytes) => return bytes,
            // Signed, since sizes are far below 2^63: the processor converts signed integers in one step.
            Self::Uniform(min, max) => return min + ((max - min + 1) as i64 as f64 * random.unit()) as i64 as u64,
            Self::Pareto { shape, min, max } => {
                let covered = -libm::expm1(shape * libm::log(min / max));
                (min * libm::pow(1.0 - random.unit() * covered, -1.0 / shape)).clamp(min, max)
            }
            Self::LogNormal { mu, sigma, min, max } => libm::exp(mu + sigma * random.normal()).clamp(min, max),
            Self::Empirical(ref cdf) => cdf.quantile(random.unit()),
        };
        ((bytes + 0.5) as u64).max(1)
    }

    /// Checks the parameters for sizes up to `most` bytes; the error says what is wrong.
    pub(crate) fn check(&self, most: f64) -> Result<(), String> {
        let (low, high) = match *self {
            Self::Fixed(bytes) => (bytes as f64, bytes as f64),
            Self::Uniform(min, max) => (min as f64, max as f64),
            Self::Pareto { shape, min, max } => {
                if !(1e-3..=100.0).contains(&shape) {
                    return Err(format!("shape is from 0.001 to 100, not {shape}"));
                }
                (min, max)
            }
            Self::LogNormal { mu, sigma, min, max } => {
                if !(-100.0..=100.0).contains(&mu) || !(0.0..=20.0).contains(&sigma) {
                    return Err(format!("mu is from -100 to 100 and sigma from 0 to 20, not {mu} and {sigma}"));
                }
                (min, max)
            }
            Self::Empirical(ref cdf) => (1.0, cdf.max().max(1.0)),
        };
        if !(low >= 1.0 && high <= most) {
            return Err(format!("sizes are from 1 to {most} bytes, not {low} to {high}"));
        }
        if low > high {
            return Err(format!("min ({low}) is over max ({high})"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: usize = 400_000;

    fn samples(size: &Size) -> Vec<f64> {
        size.check(1e15).unwrap();
        let mut random = Random::new(3, 0);
        let mut samples: Vec<f64> = (0..SAMPLES).map(|_| size.sample(&mut random) as f64).collect();
        samples.sort_by(f64::total_cmp);
        samples
    }

    /// The sample mean within four of its own standard errors of the stated mean.
    fn mean_holds(size: &Size) -> Vec<f64> {
        let samples = samples(size);
        let mean = samples.iter().sum::<f64>() / SAMPLES as f64;
        let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / SAMPLES as f64;
        let error = libm::sqrt(variance / SAMPLES as f64);
        assert!((mean - size.mean()).abs() <= 4.0 * error + 0.01, "{size:?}: {mean}, not {}±{error}", size.mean());
        samples
    }

    #[test]
    fn uniform_reaches_both_ends_alike() {
        let samples = mean_holds(&Size::Uniform(3, 7));
        for value in 3..=7 {
            let count = samples.iter().filter(|&&x| x == f64::from(value)).count();
            // Four standard deviations of a binomial with p = 1/5 are 1012.
            assert!(count.abs_diff(SAMPLES / 5) < 1012, "{value}: {count}");
        }
        assert!(samples[0] == 3.0 && samples[SAMPLES - 1] == 7.0);
    }

    #[test]
    fn pareto_follows_its_power_law() {
        for shape in [0.5, 0.9252, 1.0, 1.2, 2.5] {
            let (min, max) = (1e4, 1e9);
            let samples = mean_holds(&Size::Pareto { shape, min, max });
            for unit in [0.1, 0.5, 0.9] {
                let covered = 1.0 - libm::pow(min / max, shape);
                let quantile = min * libm::pow(1.0 - unit * covered, -1.0 / shape);
                let share = samples.iter().filter(|&&x| x <= quantile).count() as f64 / SAMPLES as f64;
                assert!((share - unit).abs() < 0.004, "shape {shape}: {share} are under the {unit} quantile");
            }
        }
        assert_eq!(Size::Pareto { shape: 1.1, min: 5.0, max: 5.0 }.mean(), 5.0);
        // The classic closed form, far from both special cases: 2·L·(1 - r)/(1 - r²) with a = 2.
        let two = Size::Pareto { shape: 2.0, min: 100.0, max: 1000.0 }.mean();
        assert!((two - 2.0 * 100.0 * 0.9 / 0.99).abs() < 1e-9, "{two}");
    }

    #[test]
    fn lognormal_has_its_median_and_its_ends() {
        let size = Size::LogNormal { mu: 10.0, sigma: 1.5, min: 1000.0, max: 1e6 };
        let samples = mean_holds(&size);
        let median = samples[SAMPLES / 2];
        assert!((median / libm::exp(10.0) - 1.0).abs() < 0.02, "{median}");
        // P(ln X < ln 1000) = Phi((6.9078 - 10) / 1.5) = Phi(-2.0615) = 0.01963.
        let low = samples.iter().filter(|&&x| x == 1000.0).count() as f64 / SAMPLES as f64;
        assert!((low - 0.01963).abs() < 0.001, "{low}");
        // If truncation does not matter, the mean is exp(mu + sigma²/2).
        let free = Size::LogNormal { mu: 5.0, sigma: 0.5, min: 1.0, max: 1e9 }.mean();
        assert!((free / libm::exp(5.125) - 1.0).abs() < 1e-9, "{free}");
        let constant = Size::LogNormal { mu: 5.0, sigma: 0.0, min: 1.0, max: 1e9 };
        assert_eq!(constant.mean(), libm::exp(5.0));
        assert!(self::samples(&constant).iter().all(|&x| x == 148.0), "e^5 is 148.41");
    }

    #[test]
    fn empirical_keeps_its_mean() {
        let cdf = Cdf::new(&[(6.0, 0.0), (6.0, 0.15), (13.0, 0.2), (20_000.0, 1.0)], 1460.0).unwrap();
        mean_holds(&Size::Empirical(cdf));
        // A size of 0 would not be a packet.
        assert_eq!(samples(&Size::Empirical(Cdf::new(&[(0.0, 1.0)], 1.0).unwrap()))[0], 1.0);
    }

    #[test]
    fn parameters_that_cannot_be() {
        let pareto = |shape, min, max| Size::Pareto { shape, min, max };
        for wrong in [
            Size::Fixed(0),
            Size::Fixed(2000),
            Size::Uniform(9, 8),
            Size::Uniform(0, 8),
            pareto(0.0, 1.0, 2.0),
            pareto(f64::NAN, 1.0, 2.0),
            pareto(1.0, f64::NAN, 2.0),
            pareto(1.0, 1.0, f64::INFINITY),
            Size::LogNormal { mu: 1e9, sigma: 1.0, min: 1.0, max: 2.0 },
            Size::LogNormal { mu: 1.0, sigma: -1.0, min: 1.0, max: 2.0 },
        ] {
            assert!(wrong.check(1500.0).is_err(), "{wrong:?}");
        }
    }
}
