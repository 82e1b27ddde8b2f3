//! Random numbers that are the same on every machine.
//!
//! Integers come from xoshiro256++, one generator per source, seeded by (seed, source). They are converted using only
//! operations that IEEE 754 specifies to the last bit, and `libm`'s functions instead of the platform's, whose last bits
//! differ between systems.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng},
};

use super::mix;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Stream number `stream` of the run with this seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed, stream)))
    }

    /// Uniform over [0, 1), in steps of 2^-53.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponential with mean 1.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Normal with mean 0 and deviation 1 (Box and Muller, *A note on the generation of random normal deviates*, 1958).
    #[inline]
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }
}
