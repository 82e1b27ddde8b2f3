//! Sizes of transfers, which are known before a network runs, since loads depend on them.

use super::spec::{Kind, Traffic};
use crate::workload::{Size, random::Random};

/// Generates the sizes of transfers, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    random: Random,
    size: Size,
    unit_bytes: u32,
}

impl Sizes {
    /// For traffic number `at`; every copy generates the same sequence.
    pub(super) fn new(size: &Size, unit_bytes: u32, at: usize, seed: u64) -> Self {
        Self { random: Random::new(seed, stream(at, SIZES)), size: size.clone(), unit_bytes }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.size.sample(&mut self.random) * u64::from(self.unit_bytes)
    }
}

impl Traffic {
    /// The sizes in bytes of its transfers in a network with this seed, in order of beginning, if it is number `at` of the
    /// network's traffic.
    pub fn sizes(&self, at: usize, seed: u64) -> impl Iterator<Item = u64> + use<> {
        let sizes = match &self.kind {
            Kind::Transfers { count, size, unit_bytes, .. } => Some((*count, Sizes::new(size, *unit_bytes, at, seed))),
            Kind::LongLived(_) | Kind::Datagrams(_) | Kind::Interactive(_) | Kind::Requests(_) => None,
        };
        sizes.into_iter().flat_map(|(count, mut sizes)| (0..count).map(move |_| sizes.next()))
    }
}

/// The stream of random numbers for purpose `what` of traffic number `at`.
pub(super) const fn stream(at: usize, what: u64) -> u64 {
    4 * at as u64 + what
}

const SIZES: u64 = 0;
