//! The access log.
//!
//! A thread of its own writes it, so that a slow or full disk delays no request. Lines that it cannot keep up with, or cannot
//! write, are counted and dropped.

use std::{
    borrow::Cow,
    fmt::Write as _,
    fs::{File, OpenOptions},
    io,
    net::IpAddr,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};
use tracing::warn;

use crate::{
    config::{Log as Config, LogFormat},
    error::GatewayError,
    one_word::OneWord,
    spent::SpentSeconds,
    who::Who,
};

/// Maximum number of lines queued for the disk.
const MAX_QUEUED: usize = 8_192;

/// The writer's handle.
#[derive(Debug)]
pub(crate) struct Log {
    format: LogFormat,
    lines: SyncSender<Message>,
    shared: Arc<Shared>,
}

/// What the handle and the writer's thread share besides the lines.
#[derive(Debug, Default)]
struct Shared {
    lost: AtomicU64,
    /// The file was moved away when no message could be queued.
    must_reopen: AtomicBool,
}

#[derive(Debug)]
enum Message {
    Line(String),
    /// The file was moved away: reopen it.
    Reopen,
}

/// A finished request.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) ended: SystemTime,
    pub(crate) took: Duration,
    pub(crate) queue: Duration,
    pub(crate) spent: SpentSeconds,
    pub(crate) client: IpAddr,
    pub(crate) who: &'a Who,
    pub(crate) class: &'a str,
    pub(crate) status: u16,
    pub(crate) is_whole: bool,
    pub(crate) is_tunnel: bool,
    pub(crate) sent_bytes: u64,
    pub(crate) uploaded_bytes: u64,
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) server: Option<IpAddr>,
    pub(crate) parent: Option<&'a str>,
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
        let file = Lines::open(&config.path)?;
        let (lines, waiting) = sync_channel(MAX_QUEUED);
        let shared = Arc::<Shared>::default();
        let (path, writer) = (config.path.clone(), Arc::clone(&shared));
        thread::Builder::new().name("access-log".into()).spawn(move || write_all(file, &path, &waiting, &writer))?;
        Ok(Self { format: config.format, lines, shared })
    }

    pub(crate) fn write(&self, line: &Line<'_>) {
        let text = match self.format {
            LogFormat::Squid => line.squid(),
            LogFormat::Json => line.json(),
        };
        if self.lines.try_send(Message::Line(text)).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reopens the file in case it was moved away.
    pub(crate) fn reopen(&self) {
        if self.lines.try_send(Message::Reopen).is_err() {
            self.shared.must_reopen.store(true, Ordering::Release);
        }
    }

    /// Lines that were dropped.
    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }
}

/// Opens a file to append lines to it, and creates it if `creates`.
pub(crate) fn append_to(path: &Path, creates: bool) -> io::Result<File> {
    // Opening a FIFO would otherwise wait for its reader.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().create(creates).append(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) {
        true => io::Error::other("it is a socket, or a pipe that nothing reads from: name a regular file"),
        false => error,
    })?;
    // The writer's thread may wait: for a pipe that is full for a moment, no line is lost.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Whether a file's last line has no end, if that can be seen: only a regular file has a last byte that stays.
fn is_torn(file: &File, path: &Path) -> Option<bool> {
    let about = file.metadata().ok().filter(|about| about.is_file())?;
    let Some(last) = about.len().checked_sub(1) else { return Some(false) };
    // The log itself is open for writing only, as it may be all that is permitted.
    let readable = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path).ok()?;
    let same = readable.metadata().ok().filter(|same| (same.dev(), same.ino()) == (about.dev(), about.ino()));
    let mut byte = [0];
    same.and_then(|_| readable.read_exact_at(&mut byte, last).ok())?;
    Some(byte != *b"\n")
}

fn write_all(mut lines: Lines<File>, path: &Path, waiting: &Receiver<Message>, shared: &Shared) {
    let mut was_fine = true;
    while let Ok(first) = waiting.recv() {
        let mut text = String::new();
        for message in std::iter::once(first).chain(waiting.try_iter().take(256)) {
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

/// A file to which whole lines are appended.
#[derive(Debug)]
struct Lines<W> {
    file: W,
    // Only the beginning of its last line could be written.
    is_torn: bool,
}

impl<W: io::Write> Lines<W> {
    /// Appends lines, and returns why and how many of them are lost if not all could be written.
    fn append(&mut self, lines: &str) -> Result<(), (io::Error, u64)> {
        // Or the first line would be lost with what is left of the torn one.
        let text: Cow<'_, str> =
            if self.is_torn && !lines.is_empty() { format!("\n{lines}").into() } else { lines.into() };
        let mut left = text.as_bytes();
        while !left.is_empty() {
            let failed = match self.file.write(left) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(bytes) => {
                    self.is_torn = left[bytes - 1] != b'\n';
                    left = &left[bytes..];
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let all = lines.matches('\n').count();
            let lost = left.iter().filter(|byte| **byte == b'\n').count().min(all);
            return Err((failed, lost as u64));
        }
        Ok(())
    }
}

impl Lines<File> {
    /// Continues in a file, whose last line may be what a power cut has left of it.
    fn open(path: &Path) -> io::Result<Self> {
        let file = append_to(path, true)?;
        let is_torn = is_torn(&file, path).unwrap_or(false);
        Ok(Self { file, is_torn })
    }

    /// Continues in the file that is now at the path, which may be the same.
    fn reopen(&mut self, path: &Path) {
        match append_to(path, true) {
            Ok(file) => {
                self.is_torn = is_torn(&file, path).unwrap_or(self.is_torn);
                self.file = file;
            }
            Err(error) => warn!("{}: {error}: the log continues in the same file", path.display()),
        }
    }
}

impl Line<'_> {
    /// Squid's native format: `%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt`.
    fn squid(&self) -> String {
        let mut text = String::with_capacity(160);
        let ended = self.ended.duration_since(UNIX_EPOCH).unwrap_or_default();
        let result = match (self.is_tunnel, self.status, self.is_whole) {
            (_, 0, _) => "NONE_NONE_ABORTED",
            (_, 407 | 403, _) => "TCP_DENIED",
            (true, ..) => "TCP_TUNNEL",
            (_, _, false) if self.server.is_some() => "TCP_MISS_ABORTED",
            (_, _, false) => "NONE_NONE",
            _ => "TCP_MISS",
        };
        let user = match self.who {
            Who::Name(name) | Who::Group(name) => OneWord(name),
            Who::Address(_) | Who::Network(_) | Who::Towards(..) => OneWord("-"),
        };
        let _ = write!(
            text,
            "{}.{:03} {:6} {} {result}/{:03} {} {} {} {user} ",
            ended.as_secs(),
            ended.subsec_millis(),
            self.took.as_millis(),
            self.client.to_canonical(),
            self.status,
            self.sent_bytes,
            self.method,
            OneWord(self.target),
        );
        let _ = match self.server {
            Some(server) if self.parent.is_some() => write!(text, "FIRSTUP_PARENT/{server} -"),
            Some(server) => write!(text, "HIER_DIRECT/{server} -"),
            None => write!(text, "HIER_NONE/- -"),
        };
        text
    }

    fn json(&self) -> String {
        let seconds = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1e6;
        let ended = self.ended.duration_since(UNIX_EPOCH).unwrap_or_default();
        serde_json::json!({
            "time": seconds(ended),
            "took_s": seconds(self.took),
            "queue_s": seconds(self.queue),
            "spent": self.spent,
            "client": self.client.to_canonical(),
            "user": self.who.to_string(),
            "class": self.class,
            "status": self.status,
            "whole": self.is_whole,
            "sent_bytes": self.sent_bytes,
            "uploaded_bytes": self.uploaded_bytes,
            "method": self.method,
            "target": self.target,
            "server": self.server,
            "parent": self.parent,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with this much space.
    #[derive(Debug)]
    struct Disk {
        has: String,
        space: usize,
    }

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.space);
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.space -= fits;
            self.has.push_str(std::str::from_utf8(&bytes[..fits]).expect("text"));
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_a_full_disk_tears_takes_no_other_with_it() {
        let mut lines = Lines { file: Disk { has: String::new(), space: 9 }, is_torn: false };
        let lost = |done: Result<(), (io::Error, u64)>| done.map_or_else(|(_, lost)| lost, |()| 0);
        assert_eq!(lost(lines.append("one\ntwo\nthree\nfour\n")), 2);
        assert_eq!(lost(lines.append("five\nsix\n")), 2, "it is full still");
        lines.file.space = 6;
        assert_eq!(lost(lines.append("seven\neight\n")), 2);
        lines.file.space = 100;
        assert_eq!(lost(lines.append("nine\n")), 0);
        assert_eq!(lost(lines.append("ten\n")), 0);
        assert_eq!(lines.file.has, "one\ntwo\nt\nseven\nnine\nten\n");
    }

    #[test]
    fn a_file_that_is_moved_away_while_the_queue_is_full_is_reopened() {
        let folder = std::env::temp_dir().join(format!("dovetail-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let [path, moved] = ["access.log", "access.log.1"].map(|name| folder.join(name));
        let file = Lines::open(&path).expect("a file");
        let (lines, waiting) = sync_channel(1);
        let log = Log { format: LogFormat::Json, lines, shared: Arc::default() };
        log.lines.send(Message::Line("one".into())).expect("room for a line");
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
