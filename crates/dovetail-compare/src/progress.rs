//! The progress of runs, for a display, and whether they are to go on.

use std::sync::atomic::AtomicBool;

/// Something that takes a while.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// What it is; may be empty.
    pub name: &'a str,
    /// Characters of the longest name of the tasks beside it, to line them up.
    pub width: usize,
    /// What is counted, such as "packets".
    pub counts: &'a str,
    /// How many there will be, where that is known.
    pub total: Option<u64>,
}

/// Shows how far tasks are.
pub trait Progress: Sync {
    /// A task has begun; it ends when its meter is dropped.
    fn begin(&self, task: Task<'_>) -> Box<dyn Meter>;
}

/// How far a task is.
pub trait Meter: Send + Sync {
    /// So much more is done.
    fn inc(&self, more: u64);

    /// What it is about now.
    fn rename(&self, name: &str);

    /// What is set once the task is to end early, with an error; by default nothing.
    fn stop(&self) -> Option<&AtomicBool> {
        None
    }
}

/// Shows nothing.
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
