//! What a packet asks of each resource.

use core::fmt;

use crate::Nanos;

/// The largest number of resources a pipeline may have.
///
/// A packet's demand is held inline, so that no packet allocates; eight covers CPU, memory bandwidth, PCIe,
/// accelerator and links of the boxes that the literature describes.
pub const MAX_RESOURCES: usize = 8;

/// Processing time of one packet on each of `m` resources, in pipeline order; `1 <= m <=` [`MAX_RESOURCES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    len: u8,
    time: [Nanos; MAX_RESOURCES],
}

impl Demand {
    /// A demand of `times[j]` on resource `j`.
    ///
    /// # Errors
    /// [`DemandError`] when `times` is empty or longer than [`MAX_RESOURCES`].
    pub fn new(times: &[Nanos]) -> Result<Self, DemandError> {
        if times.is_empty() || times.len() > MAX_RESOURCES {
            return Err(DemandError { resources: times.len() });
        }
        let mut time = [Nanos::ZERO; MAX_RESOURCES];
        time[..times.len()].copy_from_slice(times);
        Ok(Self { len: times.len() as u8, time })
    }

    /// The times, one a resource, in pipeline order.
    #[inline]
    #[must_use]
    pub fn times(&self) -> &[Nanos] {
        &self.time[..usize::from(self.len)]
    }

    /// The largest of the times: the processing time on the packet's dominant resource (DRFQ, section 4).
    #[inline]
    #[must_use]
    pub fn dominant(&self) -> Nanos {
        dominant(self.times())
    }

    /// The sum of the times: how long the packet takes through an idle pipeline. Saturates.
    #[inline]
    #[must_use]
    pub fn total(&self) -> Nanos {
        self.times().iter().copied().sum()
    }
}

/// The largest of `times`; zero for none.
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

/// A demand over no resource, or over more than [`MAX_RESOURCES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemandError {
    /// How many resources were given.
    pub resources: usize,
}

impl fmt::Display for DemandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a demand needs 1 to {MAX_RESOURCES} resources, not {}", self.resources)
    }
}

impl core::error::Error for DemandError {}
