//! A policy's line in its registry.

use alloc::boxed::Box;

use super::{Knob, Knobs, PolicyError, Setup};
use crate::{
    Scheduler,
    request::{RequestScheduler, RequestSetup},
};

/// Makes a packet scheduler from the knobs that were given.
pub type Build = fn(&Knobs<'_>, &Setup) -> Result<Box<dyn Scheduler>, PolicyError>;

/// Makes a request scheduler from the knobs that were given.
pub type RequestBuild = fn(&Knobs<'_>, &RequestSetup) -> Result<Box<dyn RequestScheduler>, PolicyError>;

/// A policy's line: of packets where `B` is [`Build`], of requests where it is [`RequestBuild`].
#[derive(Debug)]
pub struct Entry<B = Build> {
    /// Its name in policy strings.
    pub name: &'static str,
    /// What it does, in a phrase.
    pub summary: &'static str,
    /// What can be set.
    pub knobs: &'static [Knob],
    /// Work per packet, n being the number of backlogged flows; for requests, work per event.
    pub cost: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Makes it.
    pub build: B,
    /// What to beware of with some values, in a sentence.
    pub caution: fn(&Knobs<'_>) -> Option<&'static str>,
}

/// Beware of nothing.
pub(crate) const NO_CAUTION: fn(&Knobs<'_>) -> Option<&'static str> = |_| None;
