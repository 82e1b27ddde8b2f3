//! Why an experiment could not be run.

use std::fmt::Display;

use dovetail_sched::{PolicyError, nearest};
use thiserror::Error;

/// Why an experiment could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// What experiments are made of failed.
    #[error(transparent)]
    Compare(#[from] dovetail_compare::Error),
    /// There is no such policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// There is no such experiment.
    #[error("there is no experiment '{name}'{}: there are {known}, or all", or_meant(name, known))]
    Unknown {
        /// What was asked for.
        name: String,
        /// The experiments that there are.
        known: String,
    },
    /// A list of experiments is no JSON document.
    #[error("json: name an experiment, or all")]
    NothingNamed,
    /// Captures were given, and no experiment that was named replays one.
    #[error("traces: none of these replays a capture; {0} do")]
    NoReplay(String),
    /// There is no field trial of an experiment.
    #[error("live: {name} has no field trial{}", those(known))]
    NoTrial {
        /// The experiment.
        name: String,
        /// The experiments that have one.
        known: String,
    },
    /// Captures whose packets are not enough to know their load.
    #[error("traces: the capture spans no time, so there is no load to scale")]
    NothingArrives,
    /// This machine or this build lacks what it takes. Where everything is asked for, it is left out.
    #[error("{0}")]
    Lacking(String),
    /// A run broke off, or an experiment does not fit its scenario.
    #[error("{0}")]
    Broken(String),
}

/// What was probably meant, behind what was asked for.
fn or_meant(name: &str, known: &str) -> String {
    nearest(name, known.split(", ")).map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default()
}

fn those(known: &str) -> String {
    if known.is_empty() {
        " in this build: one with the feature 'middlebox', on Linux, has".into()
    } else {
        format!("; those that have are {known}")
    }
}

impl Error {
    /// A run broke off, or an experiment does not fit its scenario.
    pub(crate) fn broken(why: impl Display) -> Self {
        Self::Broken(why.to_string())
    }

    /// This machine or this build lacks what it takes.
    pub(crate) fn lacking(why: impl Display) -> Self {
        Self::Lacking(why.to_string())
    }

    /// Whether this machine or this build lacks what it takes.
    pub(crate) fn is_lacking(&self) -> bool {
        matches!(self, Self::Lacking(_))
    }
}
