//! The writer's handle, which never waits for the disk.

use std::{
    io,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use super::{
    appending::Lines,
    line::Line,
    queue::{Message, Shared},
    writer::write_all,
};
use crate::{
    config::{Log as Config, LogFormat},
    error::GatewayError,
};

/// Maximum number of lines queued for the disk.
const MAX_QUEUED: usize = 8_192;

/// The writer's handle.
#[derive(Debug)]
pub(crate) struct Log {
    format: LogFormat,
    queue: SyncSender<Message>,
    shared: Arc<Shared>,
}

/// Opens the configured log, if there is one.
pub(crate) fn open_log(config: Option<&Config>) -> Result<Option<Log>, GatewayError> {
    config.map(|log| Log::open(log).map_err(|error| cannot_log(log, error))).transpose()
}

/// The error for a log that cannot be opened.
pub(crate) fn cannot_log(config: &Config, error: io::Error) -> GatewayError {
    GatewayError::Log(config.path.display().to_string(), error)
}

impl Log {
    /// Opens the file and starts the thread that writes it.
    fn open(config: &Config) -> io::Result<Self> {
        let lines = Lines::open(&config.path)?;
        let (queue, waiting) = sync_channel(MAX_QUEUED);
        let shared = Arc::<Shared>::default();
        let (path, writer) = (config.path.clone(), Arc::clone(&shared));
        thread::Builder::new().name("access-log".into()).spawn(move || write_all(lines, &path, &waiting, &writer))?;
        Ok(Self { format: config.format, queue, shared })
    }

    pub(crate) fn write(&self, line: &Line<'_>) {
        let text = match self.format {
            LogFormat::Squid => line.squid(),
            LogFormat::Json => line.json(),
        };
        if self.queue.try_send(Message::Line(text)).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reopens the file in case it was moved away.
    pub(crate) fn reopen(&self) {
        if self.queue.try_send(Message::Reopen).is_err() {
            self.shared.must_reopen.store(true, Ordering::Release);
        }
    }

    /// Lines that were dropped.
    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_moved_away_while_the_queue_is_full_is_reopened() {
        let folder = std::env::temp_dir().join(format!("dovetail-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let [path, moved] = ["access.log", "access.log.1"].map(|name| folder.join(name));
        let file = Lines::open(&path).expect("a file");
        let (queue, waiting) = sync_channel(1);
        let log = Log { format: LogFormat::Json, queue, shared: Arc::default() };
        log.queue.send(Message::Line("one".into())).expect("room for a line");
        std::fs::rename(&path, &moved).expect("it is there");
        log.reopen();
        let shared = Arc::clone(&log.shared);
        drop(log);
        write_all(file, &path, &waiting, &shared);
        assert_eq!(std::fs::read_to_string(&moved).expect("it is there"), "one\n");
        assert!(path.exists(), "what comes next goes to a new file");
        std::fs::remove_dir_all(&folder).expect("it is there");
    }
}
