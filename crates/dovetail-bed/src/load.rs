//! Which requests users send, and when.

use std::{f64::consts::SQRT_2, time::Duration};

use crate::BedError;

/// When users send requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// At random (Poisson), at a mean rate such that the requested bytes are this fraction of what the downlink can carry.
    Open {
        /// Over 0 and at most 10; above 1 the queue grows throughout the run.
        load: f64,
    },
    /// Each user keeps this many requests outstanding.
    Closed {
        /// At least 1.
        outstanding: u32,
    },
}

/// How users reach servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// `GET http://server/…` at the proxy.
    Absolute,
    /// `CONNECT server:80` at the proxy, then HTTP inside; a tunnel is kept for its user's next request to that server.
    Connect,
    /// Routed past the proxy: what users would have without one.
    Direct,
}

/// Sizes of response bodies in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sizes {
    /// The exponential of a normal deviate, redrawn while it exceeds `most_bytes`.
    Lognormal {
        /// Mean of the logarithm.
        location: f64,
        /// Standard deviation of the logarithm, over 0.
        scale: f64,
        /// The largest size.
        most_bytes: u64,
    },
    /// All the same.
    Fixed(u64),
}

impl Sizes {
    /// The mean size. For a lognormal X truncated at c it is exp(m + s²/2)·Φ((ln c - m)/s - s) / Φ((ln c - m)/s).
    #[must_use]
    pub fn mean_bytes(self) -> f64 {
        let below = |deviate: f64| 0.5 * libm::erfc(-deviate / SQRT_2);
        match self {
            Self::Lognormal { location, scale, most_bytes } => {
                let cut = ((most_bytes as f64).ln() - location) / scale;
                (location + scale * scale / 2.0).exp() * below(cut - scale) / below(cut)
            }
            Self::Fixed(bytes) => bytes as f64,
        }
    }
}

/// A run's load.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadSpec {
    /// When users send requests.
    pub load: Load,
    /// How requests reach the servers.
    pub via: Via,
    /// The sizes of responses.
    pub sizes: Sizes,
    /// The classes that send requests, from 0; if empty, all.
    pub classes: Vec<usize>,
    /// The same seed gives the same requests.
    pub seed: u64,
    /// Requests due earlier do not count, nor do bytes that arrive earlier.
    pub warm_up: Duration,
    /// When the last request is sent; an hour at most.
    pub duration: Duration,
    /// How long outstanding answers may take after that, so that slow ones are not cut off; an hour at most.
    pub drain: Duration,
}

impl Default for LoadSpec {
    /// Open loop at 0.9 through the proxy, for 150 s of which the first 30 are warm-up; the sizes of the MSF-RS paper up to 2
    /// MB.
    fn default() -> Self {
        Self {
            load: Load::Open { load: 0.9 },
            via: Via::Absolute,
            sizes: Sizes::Lognormal { location: 9.357, scale: 1.318, most_bytes: 2_000_000 },
            classes: Vec::new(),
            seed: 1,
            warm_up: Duration::from_secs(30),
            duration: Duration::from_secs(150),
            drain: Duration::from_secs(100),
        }
    }
}

impl LoadSpec {
    /// Checks whether such a load can be put on a testbed with this many classes.
    ///
    /// # Errors
    /// What is out of range, in words.
    pub fn validate(&self, classes: usize) -> Result<(), BedError> {
        let wrong = |what: &str| Err(BedError::Wrong(what.to_owned()));
        let hour = Duration::from_secs(3600);
        match self.load {
            Load::Open { load } if !(load > 0.0 && load <= 10.0) => {
                return wrong("the load is over 0 and at most 10");
            }
            Load::Closed { outstanding } if !(1..=1000).contains(&outstanding) => {
                return wrong("a user keeps 1 to 1,000 requests outstanding");
            }
            _ => {}
        }
        match self.sizes {
            Sizes::Lognormal { location, scale, most_bytes } => {
                // Redrawing must end soon: at least half of all draws fit.
                let fits = location.is_finite() && scale.is_finite() && scale > 0.0 && most_bytes <= MAX_BYTES;
                if !fits || location > (most_bytes as f64).ln() {
                    return wrong("the median size is within the largest, which is 64 MiB at most");
                }
            }
            Sizes::Fixed(bytes) if bytes > MAX_BYTES => return wrong("a response has 64 MiB at most"),
            Sizes::Fixed(_) => {}
        }
        if self.classes.iter().any(|&class| class >= classes) {
            return wrong("a class is named that the testbed does not have");
        }
        if self.warm_up >= self.duration || self.duration > hour || self.drain > hour {
            return wrong("the warm-up is shorter than the duration, and that and the drain an hour at most");
        }
        Ok(())
    }

    /// The classes that send requests, out of this many, from 0.
    #[must_use]
    pub fn asking(&self, classes: usize) -> Vec<usize> {
        (0..classes).filter(|class| self.classes.is_empty() || self.classes.contains(class)).collect()
    }
}

/// The largest response that a server of the testbed sends.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// The integral of the density, in small steps.
    #[test]
    fn the_mean_of_a_cut_lognormal() {
        for (location, scale, most_bytes) in [(9.357, 1.318, 2_000_000_u32), (5.0, 0.5, 200), (9.0, 2.0, 10_000)] {
            let (mut mass, mut moment, step) = (0.0, 0.0, 1e-4);
            let top = (f64::from(most_bytes).ln() - location) / scale;
            let mut deviate = -10.0 + step / 2.0;
            while deviate < top {
                let density = (-deviate * deviate / 2.0_f64).exp();
                mass += density;
                moment += density * (location + scale * deviate).exp();
                deviate += step;
            }
            let sizes = Sizes::Lognormal { location, scale, most_bytes: most_bytes.into() };
            let (mean, expected) = (sizes.mean_bytes(), moment / mass);
            assert!((mean / expected - 1.0).abs() < 1e-3, "{mean} {expected}");
        }
        assert_eq!(Sizes::Fixed(7).mean_bytes(), 7.0);
    }

    #[test]
    fn what_cannot_be_is_said() {
        let good = LoadSpec::default();
        assert!(good.validate(3).is_ok());
        let lognormal = |location, scale, most_bytes| Sizes::Lognormal { location, scale, most_bytes };
        let wrong = [
            LoadSpec { load: Load::Open { load: 0.0 }, ..good.clone() },
            LoadSpec { load: Load::Open { load: f64::NAN }, ..good.clone() },
            LoadSpec { load: Load::Closed { outstanding: 0 }, ..good.clone() },
            LoadSpec { sizes: lognormal(9.0, 1.0, 100), ..good.clone() },
            LoadSpec { sizes: lognormal(9.0, 0.0, 1_000_000), ..good.clone() },
            LoadSpec { sizes: Sizes::Fixed(1 << 40), ..good.clone() },
            LoadSpec { classes: vec![3], ..good.clone() },
            LoadSpec { warm_up: good.duration, ..good.clone() },
            LoadSpec { drain: Duration::MAX, ..good.clone() },
        ];
        for spec in wrong {
            assert!(spec.validate(3).is_err(), "{spec:?}");
        }
        assert_eq!(good.asking(3), [0, 1, 2]);
        assert_eq!(LoadSpec { classes: vec![2, 1], ..good }.asking(3), [1, 2]);
    }
}
