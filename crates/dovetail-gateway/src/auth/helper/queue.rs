//! Lookups that wait for a helper's process.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{Notify, oneshot};
use tracing::warn;

use crate::{config::Helper as Configured, counted::Counted};

/// Maximum number of queued lookups.
const MAX_QUEUED: usize = 256;
/// At most one message of a helper that cannot examine passwords is logged in this time.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);
/// Maximum length of such a message in the log, in characters.
const MAX_MESSAGE_CHARS: usize = 200;

/// Lookups that wait for a process.
#[derive(Default)]
pub(super) struct Lookups {
    queued: RefCell<VecDeque<Lookup>>,
    more: Notify,
    is_closed: Cell<bool>,
    // The number of idle processes, and of tasks.
    idle: Rc<Cell<usize>>,
    tasks: Cell<usize>,
    // When a message of the helper was last logged.
    warned: Cell<Option<Instant>>,
}

pub(super) struct Lookup {
    pub(super) line: String,
    pub(super) verdict: oneshot::Sender<Verdict>,
}

/// The outcome of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// With the user's name, if the helper gives another than the client.
    Right(Option<Arc<str>>),
    Wrong,
    Failed,
}

impl Lookups {
    /// Queues a lookup; `None` if there are too many.
    pub(super) fn push(&self, line: String) -> Option<oneshot::Receiver<Verdict>> {
        let (verdict, found) = oneshot::channel();
        let mut queued = self.queued.borrow_mut();
        queued.retain(|lookup| !lookup.verdict.is_closed());
        if queued.len() >= MAX_QUEUED {
            return None;
        }
        queued.push_back(Lookup { line, verdict });
        self.more.notify_one();
        Some(found)
    }

    /// Whether another task is needed, of `most`; if so, it counts from now on.
    pub(super) fn needs_task(&self, most: usize) -> bool {
        let is_needed = self.idle.get() == 0 && self.tasks.get() < most;
        self.tasks.set(self.tasks.get() + usize::from(is_needed));
        is_needed
    }

    pub(super) fn task_ended(&self) {
        self.tasks.set(self.tasks.get() - 1);
    }

    /// Ends all tasks.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
        self.more.notify_waiters();
    }

    /// Logs why a password could not be examined, unless one has just been logged.
    pub(super) fn warn(&self, config: &Configured, message: &str) {
        if self.warned.get().is_some_and(|at| at.elapsed() < BETWEEN_WARNINGS) {
            return;
        }
        self.warned.set(Some(Instant::now()));
        let message: String = message.chars().take(MAX_MESSAGE_CHARS).flat_map(char::escape_debug).collect();
        warn!(
            "access.helper {} could not examine a password: {message}: the client gets 503",
            config.program.display()
        );
    }

    /// The next lookup, or `None` after closing.
    pub(super) async fn next(&self) -> Option<Lookup> {
        loop {
            let more = self.more.notified();
            if self.is_closed.get() {
                return None;
            }
            let next = self.queued.borrow_mut().pop_front();
            if let Some(lookup) = next {
                if lookup.verdict.is_closed() {
                    continue;
                }
                if !self.queued.borrow().is_empty() {
                    self.more.notify_one();
                }
                return Some(lookup);
            }
            let _idle = Counted::new(&self.idle);
            more.await;
        }
    }
}
