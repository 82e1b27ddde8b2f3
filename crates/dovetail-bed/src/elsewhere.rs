//! The testbed on systems without network namespaces.

use std::{convert::Infallible, io};

use crate::{BedError, BedSpec, Job, LoadSpec, Measured, Place, PlaySpec, Played, Proxy};

/// Fails: the testbed needs Linux.
///
/// # Errors
/// Always.
pub fn check() -> Result<(), BedError> {
    Err(BedError::NotLinux)
}

/// A testbed, which cannot exist on this system.
#[derive(Debug)]
pub struct Bed(Infallible);

impl Bed {
    /// Fails: the testbed needs Linux.
    ///
    /// # Errors
    /// Always: the specification is invalid, or the system is not Linux.
    pub fn new(spec: &BedSpec) -> Result<Self, BedError> {
        spec.validate()?;
        Err(BedError::NotLinux)
    }

    /// The specification it was created from.
    #[must_use]
    pub fn spec(&self) -> &BedSpec {
        match self.0 {}
    }

    /// Never called, since there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn within<T: Send>(&self, _place: Place, _work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        match self.0 {}
    }

    /// Never called, since there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn measure(
        &mut self,
        _proxy: &Proxy<'_>,
        _load: &LoadSpec,
        _tell: &(dyn Fn(u64) + Sync),
    ) -> Result<Measured, BedError> {
        match self.0 {}
    }

    /// Never called, since there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn play(&mut self, _proxy: &Proxy<'_>, _jobs: &[Job], _play: &PlaySpec) -> Result<Played, BedError> {
        match self.0 {}
    }

    /// Never called, since there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn set_rate(&mut self, _rate_bps: u64) -> Result<(), BedError> {
        match self.0 {}
    }
}
