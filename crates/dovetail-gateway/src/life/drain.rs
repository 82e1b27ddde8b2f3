//! Drains a gateway: open requests may finish, and those that do not in time are aborted.

use std::time::Duration;

use tokio::{
    select,
    sync::mpsc,
    time::{Instant, sleep},
};

use super::{control::Control, parts::Parts};

/// How often to check whether anything is left.
const LOOK: Duration = Duration::from_millis(20);
/// Time for aborted transfers to tell their clients.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// Why a gateway ends, which decides how long it waits for what is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It was told to end at once.
    AtOnce,
    /// It was told to drain: for the drain time at most.
    Drain,
    /// Another process has taken over, so no client waits for this one: as long as it takes, unless it is told to drain.
    TakenOver,
}

/// Waits until everything in flight has ended, as long as the ending allows, and aborts the rest.
pub(super) async fn drain(parts: &Parts, control: &mut mpsc::Receiver<Control>, ending: Ending) {
    let latest = || Some(Instant::now() + parts.settings.config().timeouts.drain);
    let mut until = if ending == Ending::TakenOver { None } else { latest() };
    let mut is_controlled = true;
    while ending != Ending::AtOnce && until.is_none_or(|until| Instant::now() < until) && is_busy(parts) {
        select! {
            () = sleep(LOOK) => {}
            asked = control.recv(), if is_controlled => match asked {
                Some(Control::Stop) => break,
                #[cfg(feature = "test-support")]
                Some(Control::Look(sender)) => drop(sender.send(parts.counts())),
                #[cfg(feature = "test-support")]
                Some(Control::SetClock(ahead)) => parts.settings.set_ahead(ahead),
                Some(Control::Drain) => until = until.or_else(latest),
                // Nothing new is served, but the log may have been rotated.
                Some(Control::Reload(_)) => {
                    if let Some(log) = parts.notes.log() {
                        log.reopen();
                    }
                }
                None => is_controlled = false,
            },
        }
    }
    parts.watch.stop_all();
    parts.pool.clear();
    sleep(LAST_WORDS).await;
}

/// Whether anything would be lost. A silent tunnel loses nothing.
fn is_busy(parts: &Parts) -> bool {
    let silent = parts.watch.silent_tunnels();
    parts.watch.live() > silent || parts.seats.taken() > silent
}
