//! Where there are no network namespaces.

use std::{convert::Infallible, io};

use crate::{BedError, BedSpec, Job, LoadSpec, Measured, Place, PlaySpec, Played, Proxy};

/// # Errors
/// Always: the testbed needs Linux.
pub fn check() -> Result<(), BedError> {
    Err(BedError::NotLinux)
}

/// A testbed; there is none on this system.
#[derive(Debug)]
pub struct Bed(Infallible);

impl Bed {
    /// # Errors
    /// Always: what the specification has wrong, or that the testbed needs Linux.
    pub fn new(spec: &BedSpec) -> Result<Self, BedError> {
        spec.validate()?;
        Err(BedError::NotLinux)
    }

    /// What it is made of.
    #[must_use]
    pub fn spec(&self) -> &BedSpec {
        match self.0 {}
    }

    /// Never called, as there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn within<T: Send>(&self, _place: Place, _work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        match self.0 {}
    }

    /// Never called, as there is no testbed.
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

    /// Never called, as there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn play(&mut self, _proxy: &Proxy<'_>, _jobs: &[Job], _play: &PlaySpec) -> Result<Played, BedError> {
        match self.0 {}
    }

    /// Never called, as there is no testbed.
    ///
    /// # Errors
    /// None.
    pub fn set_rate(&mut self, _rate_bps: u64) -> Result<(), BedError> {
        match self.0 {}
    }
}
