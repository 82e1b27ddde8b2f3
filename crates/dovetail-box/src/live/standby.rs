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
    let mut before = look().unwrap_or_default();
    while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let Some(now) = look() else { continue };
        for weakness in now.iter().filter(|weakness| !before.contains(weakness)) {
            tracing::warn!("{weakness}");
        }
        if now.is_empty() && !before.is_empty() {
            tracing::info!("interfaces and bridge are as they should be again");
        }
        before = now;
    }
}

/// Nothing where an interface is gone, which the box tells itself, or what is above it changes just now.
fn look([inside, outside]: &[Interface; 2], on_failure: OnFailure) -> Option<Vec<String>> {
    let ports = [Port::find(&inside.name).ok()?, Port::find(&outside.name).ok()?];
    Some(weaknesses(ports.each_ref(), on_failure))
}
