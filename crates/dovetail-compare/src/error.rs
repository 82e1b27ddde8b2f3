//! Errors.

use std::{
    io,
    path::{Path, PathBuf},
};

use dovetail_sched::{PolicyError, nearest, or_meant, units::UnitError};
use dovetail_sim::{
    ModeError, SimulateError,
    network::NetworkError,
    workload::{ClassError, Notice, WorkloadError},
};
use thiserror::Error;

/// Why a command failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is inconsistent or impossible; another request could succeed.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// A file or folder could not be read, written or created.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The operation: "read", "write" or "make the folder".
        doing: &'static str,
        /// Which file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Writing the results to the output failed.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
    /// The results cannot be represented in JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A scenario, network, capture or table is invalid.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A scenario's classes cannot be changed like this.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// A scenario names a pipeline mode that does not exist.
    #[error(transparent)]
    Pipeline(#[from] ModeError),
    /// A number with a unit is invalid.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// The policy does not exist.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A policy's run over a pipeline failed.
    #[error("{policy}: {source}")]
    Run {
        /// The policy.
        policy: String,
        /// Why.
        source: SimulateError,
    },
    /// A run over a network failed.
    #[error("{under}: {source}")]
    NetworkRun {
        /// The policy or gateway.
        under: String,
        /// Why.
        source: NetworkError,
    },
    /// A capture or table without packets.
    #[error("{} holds no packets{}", path.display(), and_why(notices))]
    NoPackets {
        /// The capture or table.
        path: PathBuf,
        /// What was left out, and how often.
        notices: Vec<Notice>,
    },
    /// A scenario in which no packet arrives.
    #[error(
        "scenario '{scenario}': no packet arrives: is the duration too short for the rates, the load too low, or a start too late?"
    )]
    NothingArrives {
        /// Its name.
        scenario: String,
    },
    /// No built-in scenario or network has this name.
    #[error("there is no built-in {kind} '{name}'")]
    NoBuiltin {
        /// "scenario" or "network".
        kind: &'static str,
        /// The name given.
        name: String,
    },
    /// The file does not exist, but there is a built-in scenario of its name.
    #[error("there is no file {}; the scenario that comes with the command is called {name}", path.display())]
    ByName {
        /// The file.
        path: PathBuf,
        /// The scenario.
        name: String,
    },
    /// Runs completed, but their results offer no basis for a choice.
    #[error("{0}")]
    NothingToWeigh(String),
    /// Several files could not be written.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<Error>),
    /// A result is missing at the end of several runs.
    #[error("a finished run is missing")]
    Missing,
    /// The requested reservations cannot be read.
    #[error("{0}")]
    Reservations(String),
    /// A function could not be measured.
    #[error("{function}: {why}")]
    Measurement {
        /// Which function.
        function: String,
        /// The reason.
        why: String,
    },
}

impl Error {
    /// Combines failures into one.
    ///
    /// # Errors
    /// If there are any.
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
    /// Options that are not allowed here, or not with these values.
    #[error("{}: {why}", fields.join(", "))]
    Option {
        /// The fields of [`options`](crate::options) that conflict with the others.
        fields: &'static [&'static str],
        /// Why.
        why: String,
    },
    /// A policy cannot be run here.
    #[error("policy {policy}: {why}")]
    Policy {
        /// The policy as given.
        policy: String,
        /// Why not.
        why: String,
    },
    /// An output file is already in use.
    #[error(
        "{what}: {} is {}: write to another file", path.display(),
        if *is_input { format!("the {by}, which is an input") } else { format!("written as {by} already") }
    )]
    Taken {
        /// The output.
        what: String,
        /// Its path.
        path: PathBuf,
        /// What already uses the file.
        by: String,
        /// Whether the file is an input.
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
    /// A policy is given twice.
    #[error("policy {0} is given twice")]
    Twice(String),
    /// A policy cannot be built for this node.
    #[error(transparent)]
    Unfit(PolicyError),
    /// A load so low that times would exceed the clock.
    #[error("{} would last longer than 146 years at a load of {load}: use a higher one", path.display())]
    TooSlow {
        /// The capture or table.
        path: PathBuf,
        /// The requested load.
        load: f64,
    },
    /// There is neither a file nor a scenario with this name.
    #[error("there is no file or scenario '{name}'{}: the scenarios that come with the command are {known}", or_meant(*meant))]
    NoScenario {
        /// The name given.
        name: String,
        /// The scenario that was probably meant.
        meant: Option<&'static str>,
        /// The available scenarios.
        known: String,
    },
    /// A file of another kind than the command reads.
    #[error("{} is {is}, for {goes}: {wanted} goes here", path.display())]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it is.
        is: &'static str,
        /// The commands that read it.
        goes: &'static str,
        /// What this command reads.
        wanted: &'static str,
    },
    /// The network function does not exist.
    #[error("there is no function '{name}'{}, only {known} and all", or_meant(nearest(name, known.split(", "))))]
    NoFunction {
        /// The name given.
        name: String,
        /// The available functions.
        known: String,
    },
    /// A network function has no packets of this size.
    #[error("{0}")]
    NoSuchSize(String),
    /// More packets than are kept for a function.
    #[error("use fewer packets or sizes: at most 2,000,000 packets of each function can be kept")]
    TooManyPackets,
}

/// What was left out, to append to what is missing.
fn and_why(notices: &[Notice]) -> String {
    let each: Vec<_> = notices.iter().map(|notice| format!("{} {}", notice.count, notice.what)).collect();
    if each.is_empty() { String::new() } else { format!(": {}", each.join("; ")) }
}

impl Misuse {
    /// An option that is not allowed here.
    pub(crate) fn option(fields: &'static [&'static str], why: impl Into<String>) -> Self {
        Self::Option { fields, why: why.into() }
    }

    /// A policy that cannot be run here.
    pub(crate) fn policy(policy: impl ToString, why: impl Into<String>) -> Self {
        Self::Policy { policy: policy.to_string(), why: why.into() }
    }
}
