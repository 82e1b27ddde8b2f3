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

/// Waits until everything in flight has ended, for the drain time at most, and aborts the rest.
pub(super) async fn drain(parts: &Parts, control: &mut mpsc::Receiver<Control>, ends_at_once: bool) {
    let until = Instant::now() + parts.settings.config().timeouts.drain;
    let mut is_controlled = true;
    while !ends_at_once && Instant::now() < until && is_busy(parts) {
        select! {
            () = sleep(LOOK) => {}
            asked = control.recv(), if is_controlled => match asked {
                Some(Control::Stop) => break,
                #[cfg(feature = "test-support")]
                Some(Control::Look(sender)) => drop(sender.send(parts.counts())),
                #[cfg(feature = "test-support")]
                Some(Control::SetClock(ahead)) => parts.settings.set_ahead(ahead),
                // Already draining.
                Some(Control::Drain | Control::Reload(_)) => {}
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
