//! A packet's demand for each resource.

use core::fmt;

use crate::Nanos;

/// The maximum number of resources in a pipeline.
///
/// A packet's demand is stored inline, so that no packet allocates; eight covers CPU, memory bandwidth, PCIe, accelerator and
/// links of the boxes described in the literature.
pub const MAX_RESOURCES: usize = 8;

/// The processing time of one packet on each of `m` resources, in pipeline order; `1 <= m <=` [`MAX_RESOURCES`].
///
/// A packet of zero demand is free: under a policy that shares time, a flow that always has one queued may go first for ever, and
/// starve all others. State at least a nanosecond, unless an [estimator](crate::cost) replaces what is stated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    // A whole word: copying the struct loads a word, which would stall on a narrower store.
    len: usize,
    time: [Nanos; MAX_RESOURCES],
}

impl Demand {
    /// A demand of `times[j]` on resource `j`.
    ///
    /// # Errors
    /// [`DemandError`] when `times` is empty or longer than [`MAX_RESOURCES`].
    #[inline]
    pub fn new(times: &[Nanos]) -> Result<Self, DemandError> {
        if times.is_empty() || times.len() > MAX_RESOURCES {
            return Err(DemandError { resources: times.len() });
        }
        Ok(Self::copied(times))
    }

    /// A demand of `time` in a pipeline of one resource.
    #[inline]
    #[must_use]
    pub const fn of_one(time: Nanos) -> Self {
        Self::short(1, [time, Nanos::ZERO])
    }

    /// A demand of these times in a pipeline of two resources.
    #[inline]
    #[must_use]
    pub const fn of_two(first: Nanos, second: Nanos) -> Self {
        Self::short(2, [first, second])
    }

    /// A demand of the first `len` of these times, 1 or 2; the second must be 0 if it is not used.
    #[inline(always)]
    pub(crate) const fn short(len: usize, [first, second]: [Nanos; 2]) -> Self {
        let none = Nanos::ZERO;
        Self { len, time: [first, second, none, none, none, none, none, none] }
    }

    /// The first two times; the second is 0 for a single resource.
    #[inline(always)]
    pub(crate) const fn first_two(&self) -> [Nanos; 2] {
        [self.time[0], self.time[1]]
    }

    /// A demand of `times`, of which there must be 1 to [`MAX_RESOURCES`].
    #[inline(always)]
    pub(crate) fn copied(times: &[Nanos]) -> Self {
        let mut demand = Self { len: times.len(), time: [Nanos::ZERO; MAX_RESOURCES] };
        // Most pipelines are short. Copying a constant number of times compiles to no call, and two at once are stored as they
        // will be loaded: a load that spans two stores stalls until both have left the store buffer.
        match times.len() {
            1 => demand.time[0] = times[0],
            2 => demand.time[..2].copy_from_slice(&times[..2]),
            _ => demand.time[..times.len()].copy_from_slice(times),
        }
        demand
    }

    /// The times, one per resource, in pipeline order.
    #[inline]
    #[must_use]
    pub fn times(&self) -> &[Nanos] {
        &self.time[..self.len]
    }

    /// The number of resources.
    #[inline(always)]
    pub(crate) const fn resources(&self) -> usize {
        self.len
    }

    /// The largest of the times: the processing time on the packet's dominant resource (DRFQ, section 4).
    #[inline]
    #[must_use]
    pub fn dominant(&self) -> Nanos {
        // Unused entries are 0.
        if self.len <= 2 { self.time[0].max(self.time[1]) } else { dominant(self.times()) }
    }

    /// The sum of the times: how long the packet takes through an idle pipeline. Saturates.
    #[inline]
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.times().iter().copied().sum()
    }
}

/// The largest of `times`; zero if empty.
#[inline]
#[must_use]
pub(crate) fn dominant(times: &[Nanos]) -> Nanos {
    times.iter().copied().fold(Nanos::ZERO, Nanos::max)
}

impl fmt::Debug for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.times()).finish()
    }
}

/// The demand has no resources, or more than [`MAX_RESOURCES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemandError {
    /// The number of resources given.
    pub resources: usize,
}

impl fmt::Display for DemandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a demand needs 1 to {MAX_RESOURCES} resources, not {}", self.resources)
    }
}

impl core::error::Error for DemandError {}
