//! Whether the bridge under a running box would carry traffic on.
//!
//! The kernel answers under its lock of links, which may be taken for longer than the box may be silent: so it is asked by a
//! thread of its own.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use super::{
    privileges,
    switch::ports::{Port, weaknesses},
};
use crate::config::{Interface, OnFailure};

/// Interval of asking.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Warns of each change for the worse until dropped.
#[derive(Debug)]
pub(super) struct Standby {
    _stop: Sender<()>,
}

impl Standby {
    /// Looks at the interfaces in the calling thread's network namespace. What is wrong now is not told again: see
    /// [`check`](super::check).
    pub(super) fn watch(interfaces: [Interface; 2], on_failure: OnFailure) -> Self {
        let (stop, stopped) = channel();
        let watch = move || {
            privileges::drop_capabilities();
            watch(|| look(&interfaces, on_failure), &stopped);
        };
        if let Err(wrong) = thread::Builder::new().name("standby".into()).spawn(watch) {
            tracing::warn!("the bridge is not watched: {wrong}");
        }
        Self { _stop: stop }
    }
}

fn watch(look: impl Fn() -> Option<Vec<String>>, stopped: &Receiver<()>) {
    let at_start = look().unwrap_or_default();
    let mut before = at_start.clone();
    while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let Some(now) = look() else { continue };
        for weakness in lacking(&now, &before) {
            tracing::warn!("{weakness}");
        }
        if let Some(relief) = relief(&at_start, &before, &now) {
            tracing::info!("{relief}");
        }
        before = now;
    }
}

/// What to say once the last weakness that has come since the start, or the last of all, is gone.
fn relief(at_start: &[String], before: &[String], now: &[String]) -> Option<&'static str> {
    if now.is_empty() && !before.is_empty() {
        return Some("interfaces and bridge are as they should be again");
    }
    let is_over = lacking(now, at_start).next().is_none() && lacking(before, at_start).next().is_some();
    is_over.then_some("interfaces and bridge are no worse than when the box started")
}

/// Those of the weaknesses that are not among the others.
fn lacking<'a>(weaknesses: &'a [String], others: &'a [String]) -> impl Iterator<Item = &'a String> {
    weaknesses.iter().filter(|weakness| !others.contains(weakness))
}

/// Nothing where an interface is gone, which the box tells itself, or what is above it changes just now.
fn look([inside, outside]: &[Interface; 2], on_failure: OnFailure) -> Option<Vec<String>> {
    let ports = [Port::find(&inside.name).ok()?, Port::find(&outside.name).ok()?];
    Some(weaknesses(ports.each_ref(), on_failure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mended_is_told_once_nothing_is_worse_than_at_the_start() {
        const WELL: Option<&str> = Some("interfaces and bridge are as they should be again");
        const NO_WORSE: Option<&str> = Some("interfaces and bridge are no worse than when the box started");
        for (at_start, before, now, told) in [
            ("", "", "", None),
            ("", "", "a", None),
            ("", "ab", "a", None),
            ("", "a", "", WELL),
            ("a", "a", "", WELL),
            ("a", "ab", "", WELL),
            ("a", "a", "a", None),
            ("a", "a", "ab", None),
            ("a", "abc", "ac", None),
            ("a", "ab", "a", NO_WORSE),
            ("ab", "ab", "a", None),
            ("ab", "ac", "a", NO_WORSE),
        ] {
            let [at_start, before, now] =
                [at_start, before, now].map(|names| names.chars().map(String::from).collect::<Vec<_>>());
            assert_eq!(relief(&at_start, &before, &now), told, "{at_start:?} {before:?} {now:?}");
        }
    }
}
