//! Replaces `programs.rs` in a build without the feature `programs`: no programs can be loaded.

use dovetail_sched::cost;

use super::{LiveError, counters::ProgramCounters};
use crate::{config::Config, functions::Verdict};

/// Uninhabited: there are no programs.
#[derive(Debug)]
pub(super) enum Programs {}

/// Uninhabited: nothing is compiled.
#[derive(Debug, Clone)]
pub(super) enum Library {}

impl Programs {
    pub(super) fn open(_: &Config) -> Result<Option<Self>, LiveError> {
        Ok(None)
    }

    pub(super) fn library(&self) -> &Library {
        match *self {}
    }

    pub(super) fn reload(&mut self) {
        match *self {}
    }

    pub(super) fn poll(&mut self) -> bool {
        match *self {}
    }
}

pub(super) fn check(_: &Config) -> Result<(String, Vec<String>), LiveError> {
    Ok(Default::default())
}

/// A class's program, which is always missing: files that name one are rejected, but a [`Config`] can be built without a file.
#[derive(Debug)]
pub(super) struct Slot(());

impl Slot {
    pub(super) fn new(_: &str, _: Option<&Programs>) -> Self {
        Self(())
    }

    pub(super) fn is_same(&self, _: &Self) -> bool {
        true
    }

    pub(super) fn fill(&mut self, _: &str, _: Option<&Library>, _: Option<&mut Self>) {}

    pub(super) fn facts(&self) -> Option<&cost::Program> {
        None
    }

    pub(super) fn growth_bytes(&self) -> u32 {
        0
    }

    pub(super) fn process(&mut self, _: &mut Vec<u8>, counters: &mut ProgramCounters) -> Verdict {
        counters.missing += 1;
        Verdict::Untouched
    }
}
