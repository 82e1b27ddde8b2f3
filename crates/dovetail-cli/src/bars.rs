//! Progress bars on a terminal, removed when a task ends.

use std::{fmt::Write, time::Duration};

use dovetail_compare::{Meter, Progress, Task};
use indicatif::{HumanCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// The bars of concurrent tasks.
pub(crate) struct Bars(MultiProgress);

impl Default for Bars {
    fn default() -> Self {
        Self(MultiProgress::with_draw_target(ProgressDrawTarget::stderr()))
    }
}

impl Progress for Bars {
    fn begin(&self, task: Task<'_>) -> Box<dyn Meter> {
        let bar = self.0.add(bar(task));
        if task.total.is_none() {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        Box::new(Bar(bar))
    }
}

/// A task's bar.
struct Bar(ProgressBar);

impl Meter for Bar {
    fn inc(&self, more: u64) {
        self.0.inc(more);
    }

    fn rename(&self, name: &str) {
        self.0.set_prefix(name.to_owned());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar with throughput and remaining time; without a known end, a count.
fn bar(Task { name, width, counts, total }: Task<'_>) -> ProgressBar {
    let template = match total {
        Some(_) => "{prefix} {bar:30.cyan} {percent:>3} %  {human_pos} of {human_len} WHAT  {rate}/s  {eta} left",
        None => "{prefix} {spinner} {human_pos} WHAT  {rate}/s  {elapsed}",
    };
    let bar = total.map_or_else(ProgressBar::no_length, ProgressBar::new);
    let style = ProgressStyle::with_template(&template.replace("WHAT", counts));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.with_key("rate", |state: &ProgressState, to: &mut dyn Write| {
        // A tracker cannot report an error.
        let _ = write!(to, "{}", HumanCount(state.per_sec() as u64));
    }));
    bar.set_prefix(format!("{name:width$}"));
    bar
}
