//! Progress of runs, for a display, and a signal to stop them.

use std::sync::atomic::AtomicBool;

/// A task of some duration.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Its name; may be empty.
    pub name: &'a str,
    /// Length of the longest name among concurrent tasks, for alignment.
    pub width: usize,
    /// What is counted, such as "packets".
    pub counts: &'a str,
    /// The total, if known.
    pub total: Option<u64>,
}

/// Displays the progress of tasks.
pub trait Progress: Sync {
    /// Begins a task; it ends when its meter is dropped.
    fn begin(&self, task: Task<'_>) -> Box<dyn Meter>;
}

/// Progress of a task.
pub trait Meter: Send + Sync {
    /// Adds `more` to what is done.
    fn inc(&self, more: u64);

    /// Changes the name.
    fn rename(&self, name: &str);

    /// A flag that is set when the task is to end early, with an error; by default there is none.
    fn stop(&self) -> Option<&AtomicBool> {
        None
    }
}

/// Displays nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _: Task<'_>) -> Box<dyn Meter> {
        Box::new(Silent)
    }
}

impl Meter for Silent {
    fn inc(&self, _: u64) {}

    fn rename(&self, _: &str) {}
}
