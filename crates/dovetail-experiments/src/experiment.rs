//! Experiments and their results.

use std::sync::atomic::AtomicBool;

use dovetail_compare::{
    Meter,
    report::{Block, plot::Plot},
    supply::Supply,
    table::Table,
};

use crate::{error::Error, row::Row};

/// A published figure or table.
pub(crate) struct Experiment {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) source: &'static str,
    /// Whether it replays captures.
    pub(crate) by_trace: bool,
    pub(crate) run: MakeFinding,
}

/// Runs an experiment.
pub(crate) type MakeFinding = fn(&Given<'_>) -> Result<Finding, Error>;

impl Experiment {
    /// An experiment that does not replay captures.
    pub(crate) const fn of(source: &'static str, name: &'static str, title: &'static str, run: MakeFinding) -> Self {
        Self { name, title, source, by_trace: false, run }
    }
}

/// Inputs from the user.
pub(crate) struct Given<'a> {
    /// Captures for the trace-driven experiments; without any, synthetic traffic is used.
    pub(crate) traces: &'a [Supply],
    /// Receives the number of packets processed.
    pub(crate) bar: &'a dyn Meter,
}

impl<'a> Given<'a> {
    /// A flag that runs check often: once it is set, they end with an error.
    pub(crate) fn stop(&self) -> Option<&'a AtomicBool> {
        self.bar.stop()
    }
}

/// The results of an experiment.
#[derive(Default)]
pub(crate) struct Finding {
    pub(crate) rows: Vec<Row>,
    /// Further measurements, each table with its title.
    pub(crate) tables: Vec<(String, Table)>,
    pub(crate) charts: Vec<Block>,
    pub(crate) remarks: Vec<String>,
}

impl Finding {
    /// For an experiment whose requirements this machine lacks.
    pub(crate) fn left_out(why: &Error) -> Self {
        Self { remarks: vec![format!("Left out: {why}.")], ..Self::default() }
    }
}

/// A chart with its title.
pub(crate) fn chart(title: &str, note: &str, plot: Plot) -> Block {
    Block::chart(title, note, plot)
}
