//! Writes queued lines, on a thread of its own.

use std::{
    fs::File,
    path::Path,
    sync::{atomic::Ordering, mpsc::Receiver},
};

use tracing::warn;

use super::{
    appending::Lines,
    queue::{Message, Shared},
};

/// Maximum number of messages that are handled with one write.
const MAX_BATCH: usize = 256;

/// Writes until the handle is dropped.
pub(super) fn write_all(mut lines: Lines<File>, path: &Path, waiting: &Receiver<Message>, shared: &Shared) {
    let mut was_fine = true;
    while let Ok(first) = waiting.recv() {
        let mut text = String::new();
        for message in std::iter::once(first).chain(waiting.try_iter().take(MAX_BATCH - 1)) {
            match message {
                Message::Line(line) => {
                    text.push_str(&line);
                    text.push('\n');
                }
                Message::Reopen => lines.reopen(path),
            }
        }
        let done = lines.append(&text);
        if let Err((error, count)) = &done {
            shared.lost.fetch_add(*count, Ordering::Relaxed);
            if was_fine {
                warn!("{}: {error}: lines are lost until there is space", path.display());
            }
        }
        was_fine = done.is_ok();
        if shared.must_reopen.swap(false, Ordering::Acquire) {
            lines.reopen(path);
        }
    }
}
