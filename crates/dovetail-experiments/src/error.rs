//! Errors of experiments.

use std::fmt::Display;

use dovetail_sched::{PolicyError, nearest, or_meant};
use thiserror::Error;

/// Why an experiment could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A building block of experiments failed.
    #[error(transparent)]
    Compare(#[from] dovetail_compare::Error),
    /// The policy does not exist.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The experiment does not exist.
    #[error("there is no experiment '{name}'{}: there are {known}, or all", or_meant(nearest(name, known.split(", ").chain(["all"]))))]
    Unknown {
        /// The name given.
        name: String,
        /// The available experiments.
        known: String,
    },
    /// An experiment is named twice.
    #[error("{0} is named twice")]
    Twice(String),
    /// A field of [`ReproduceOptions`](crate::ReproduceOptions) that a list of experiments would ignore.
    #[error("{0}: name an experiment, or all")]
    NothingNamed(&'static str),
    /// Captures were given, but none of the named experiments replays any.
    #[error("traces: none of these replays a capture; {0} do")]
    NoReplay(String),
    /// The experiment has no field trial.
    #[error("live: {name} has no field trial{}", those(known))]
    NoTrial {
        /// The experiment.
        name: String,
        /// The experiments that have one.
        known: String,
    },
    /// Captures with too few packets to determine their load.
    #[error("traces: the capture spans no time, so there is no load to scale")]
    NothingArrives,
    /// This machine or build lacks a requirement. With "all", the experiment is skipped.
    #[error("{0}")]
    Lacking(String),
    /// A run failed, or an experiment does not fit its scenario.
    #[error("{0}")]
    Broken(String),
}

fn those(known: &str) -> String {
    if known.is_empty() {
        " in this build: one with the feature 'middlebox', on Linux, has".into()
    } else {
        format!("; those that have are {known}")
    }
}

impl Error {
    /// A run failed, or an experiment does not fit its scenario.
    pub(crate) fn broken(why: impl Display) -> Self {
        Self::Broken(why.to_string())
    }

    /// This machine or build lacks a requirement.
    pub(crate) fn lacking(why: impl Display) -> Self {
        Self::Lacking(why.to_string())
    }

    /// Whether this machine or build lacks a requirement.
    pub(crate) fn is_lacking(&self) -> bool {
        matches!(self, Self::Lacking(_))
    }
}
