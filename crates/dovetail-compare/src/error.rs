//! Why something could not be done.

use std::{
    io,
    path::{Path, PathBuf},
};

use dovetail_sched::{PolicyError, nearest, units::UnitError};
use dovetail_sim::{
    ModeError, SimulateError,
    network::NetworkError,
    workload::{ClassError, WorkloadError},
};
use thiserror::Error;

/// Why it was not done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// What was asked for does not go together, or cannot be: asked otherwise, it could be done.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// A file or folder could not be read, written or made.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was to be done: "read", "write" or "make the folder".
        doing: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The writer for what was found out took it not.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// What was found out is no JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A scenario, network, capture or table is wrong.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A scenario's classes cannot be changed so.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A scenario names a pipeline that there is not.
    #[error(transparent)]
    Pipeline(#[from] ModeError),
    /// A number with a unit is none.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// There is no such policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A policy's run over a pipeline broke off.
    #[error("{policy}: {source}")]
    Run {
        /// Whose run.
        policy: String,
        /// Why.
        source: SimulateError,
    },
    /// A run over a network broke off.
    #[error("{under}: {source}")]
    NetworkRun {
        /// The policy or gateway.
        under: String,
        /// Why.
        source: NetworkError,
    },
    /// A capture or table has nothing to compare by.
    #[error("{} holds no packets", .0.display())]
    NoPackets(PathBuf),
    /// No scenario or network of this name comes with the library.
    #[error("there is no built-in {kind} '{name}'")]
    NoBuiltin {
        /// "scenario" or "network".
        kind: &'static str,
        /// What was asked for.
        name: String,
    },
    /// There is no such file, but a scenario of its name comes with the library.
    #[error("there is no file {}; the scenario that comes with the command is called {name}", path.display())]
    ByName {
        /// The file.
        path: PathBuf,
        /// The scenario.
        name: String,
    },
    /// Runs were made, and there is nothing in them to choose by.
    #[error("{0}")]
    NothingToWeigh(String),
    /// Several files could not be written.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<Error>),
    /// A run of several is missing in the end.
    #[error("a finished run is missing")]
    Missing,
    /// What wants to be reserved cannot be read.
    #[error("{0}")]
    Reservations(String),
    /// A function could not be measured.
    #[error("{function}: {why}")]
    Measurement {
        /// Which function.
        function: String,
        /// Why not.
        why: String,
    },
}

impl Error {
    /// All failures as one.
    ///
    /// # Errors
    /// If there is any.
    pub fn unless_none(mut failures: Vec<Self>) -> Result<(), Self> {
        match failures.len() {
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Self::Several(failures)),
        }
    }

    /// A file or folder could not be read or written.
    pub(crate) fn file(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { doing, path: path.to_owned(), source }
    }
}

/// What is wrong with the options.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Misuse {
    /// These options cannot be given here, or not so.
    #[error("{}: {why}", fields.join(", "))]
    Option {
        /// The fields of [`options`](crate::options) that are at odds with the rest.
        fields: &'static [&'static str],
        /// Why.
        why: String,
    },
    /// A policy cannot be run here.
    #[error("policy {policy}: {why}")]
    Policy {
        /// As it was given.
        policy: String,
        /// Why not.
        why: String,
    },
    /// An output is a file that is used already.
    #[error(
        "{what}: {} is {}: write to another file", path.display(),
        if *is_input { format!("the {by}, which is an input") } else { format!("written as {by} already") }
    )]
    Taken {
        /// What would be written.
        what: String,
        /// Its path.
        path: PathBuf,
        /// What the file is.
        by: String,
        /// Whether the command reads it.
        is_input: bool,
    },
    /// Two policies whose files would have the same name.
    #[error("{} and {} would both be written to {}: run one of them at a time", policies[0], policies[1], path.display())]
    SameName {
        /// Both policies.
        policies: [String; 2],
        /// The file.
        path: PathBuf,
    },
    /// A policy is asked for twice.
    #[error("policy {0} is given twice")]
    Twice(String),
    /// A policy cannot be built for this node.
    #[error(transparent)]
    Unfit(PolicyError),
    /// A load so low that times would end beyond the clock.
    #[error("{} would last longer than 146 years at a load of {load}: use a higher one", path.display())]
    TooSlow {
        /// Of which capture or table.
        path: PathBuf,
        /// The load that was asked for.
        load: f64,
    },
    /// There is neither a file nor a scenario of this name.
    #[error("there is no file or scenario '{name}'{}: the scenarios that come with the command are {known}", or_meant(*meant))]
    NoScenario {
        /// What was asked for.
        name: String,
        /// The scenario that was probably meant.
        meant: Option<&'static str>,
        /// The scenarios that there are.
        known: String,
    },
    /// There is no such network function.
    #[error("there is no function '{name}'{}, only {known} and all", or_meant(nearest(name, known.split(", "))))]
    NoFunction {
        /// What was asked for.
        name: String,
        /// The functions that there are.
        known: String,
    },
    /// A network function has no packets of this size.
    #[error("{0}")]
    NoSuchSize(String),
    /// More packets than are kept of a function.
    #[error("use fewer packets or sizes: at most 2,000,000 packets of each function can be kept")]
    TooManyPackets,
}

/// What was probably meant, behind what was asked for.
pub(crate) fn or_meant(meant: Option<&str>) -> String {
    meant.map(|meant| format!(" (did you mean {meant}?)")).unwrap_or_default()
}

impl Misuse {
    /// An option that cannot be given here.
    pub(crate) fn option(fields: &'static [&'static str], why: impl Into<String>) -> Self {
        Self::Option { fields, why: why.into() }
    }

    /// A policy that cannot be run here.
    pub(crate) fn policy(policy: impl ToString, why: impl Into<String>) -> Self {
        Self::Policy { policy: policy.to_string(), why: why.into() }
    }
}
