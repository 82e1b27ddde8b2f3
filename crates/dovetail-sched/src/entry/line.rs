//! A policy's entry in its registry.

use alloc::boxed::Box;

use super::{Knob, Knobs, PolicyError, Setup};
use crate::{
    Scheduler,
    request::{RequestScheduler, RequestSetup},
};

/// Builds a packet scheduler from the given knobs.
pub type Build = fn(&Knobs<'_>, &Setup) -> Result<Box<dyn Scheduler>, PolicyError>;

/// Builds a request scheduler from the given knobs.
pub type RequestBuild = fn(&Knobs<'_>, &RequestSetup) -> Result<Box<dyn RequestScheduler>, PolicyError>;

/// A policy's registry entry: a packet policy if `B` is [`Build`], a request policy if it is [`RequestBuild`].
#[derive(Debug)]
pub struct Entry<B = Build> {
    /// Its name in policy strings.
    pub name: &'static str,
    /// What it does, in a phrase.
    pub summary: &'static str,
    /// The policy's own knobs.
    pub knobs: &'static [Knob],
    /// Work per packet, n being the number of backlogged flows; for requests, work per event.
    pub cost: &'static str,
    /// Its publication.
    pub source: &'static str,
    /// Builds it.
    pub build: B,
    /// A warning about some values, in a sentence.
    pub caution: fn(&Knobs<'_>) -> Option<&'static str>,
}

/// No warning.
pub(crate) const NO_CAUTION: fn(&Knobs<'_>) -> Option<&'static str> = |_| None;
