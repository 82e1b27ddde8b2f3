//! Progress of several runs of policies.

use std::sync::atomic::{AtomicUsize, Ordering};

use dovetail_sched::PolicySpec;

use crate::progress::{Meter, Progress, Task};

/// The meters of several runs: one each, or one for all.
pub(crate) struct Bars<'a> {
    progress: &'a dyn Progress,
    all: Option<Box<dyn Meter>>,
    packets: Option<u64>,
    width: usize,
    runs: usize,
    done: AtomicUsize,
}

/// A run's meter.
pub(crate) enum Bar<'a> {
    Own(Box<dyn Meter>),
    Shared(&'a dyn Meter),
}

impl Bar<'_> {
    pub(crate) fn meter(&self) -> &dyn Meter {
        match self {
            Self::Own(meter) => meter.as_ref(),
            Self::Shared(meter) => *meter,
        }
    }
}

impl<'a> Bars<'a> {
    pub(crate) fn new<'p>(
        policies: impl ExactSizeIterator<Item = &'p PolicySpec>,
        packets: Option<u64>,
        one: bool,
        progress: &'a dyn Progress,
    ) -> Self {
        let runs = policies.len();
        let total = packets.map(|packets| packets.saturating_mul(runs as u64));
        let all = one.then(|| progress.begin(Task { name: "", width: 0, counts: "packets", total }));
        let width = policies.map(|policy| policy.as_str().len()).max().unwrap_or(0);
        let bars = Self { progress, all, packets, width, runs, done: AtomicUsize::new(0) };
        bars.count(0);
        bars
    }

    /// Begins a run.
    pub(crate) fn begin(&self, policy: &PolicySpec) -> Bar<'_> {
        let own = || {
            let task = Task { name: policy.as_str(), width: self.width, counts: "packets", total: self.packets };
            Bar::Own(self.progress.begin(task))
        };
        self.all.as_deref().map_or_else(own, Bar::Shared)
    }

    /// Ends a run.
    pub(crate) fn end(&self) {
        self.count(1);
    }

    fn count(&self, more: usize) {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if let Some(all) = &self.all {
            all.rename(&format!("{done} of {} runs", self.runs));
        }
    }
}
