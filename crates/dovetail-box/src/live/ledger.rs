//! A file of the sequence numbers used by tunnels: no number is reused under its key, even after the box was killed.
//!
//! ```text
//! one line for each key there ever was: its fingerprint, and the first number that was not used
//! 5b2ab0f5c1d0d0a0e9f3a4b5c6d7e8f9 0001048577
//! ```
//!
//! Numbers are recorded as used in advance: a million ahead, by a separate thread, so that packets do not wait for a disk.
//! Those not used when the box ends are lost, a 4,096th of the key. If the file can no longer be written, the numbers run
//! out.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};

use super::{LiveError, privileges};
use crate::functions::ipsec::{Keys, Numbers};

/// Number of sequence numbers recorded in advance.
const AHEAD: u64 = 1 << 20;
/// Interval of checking whether half of them are used, which takes 50 ms at ten million a second.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Maximum size of the file: 23,000 keys.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Format of a line: a fingerprint in hexadecimal digits, a space, ten digits, a newline.
const DIGITS: usize = 32;
const LINE: usize = DIGITS + 1 + 10 + 1;

/// The file, if there is one.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    // Dropped first: the thread ends before the file is closed.
    _writer: Option<Writer>,
    open: Option<Arc<Mutex<Open>>>,
}

/// The thread that records numbers in advance; stopped on drop.
#[derive(Debug)]
struct Writer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread must not mask the reason for this drop.
            let _ = thread.join();
        }
    }
}

/// A weak reference to a ledger.
#[derive(Debug, Clone)]
pub(super) struct Reference(Option<Weak<Mutex<Open>>>);

impl Reference {
    /// The ledger; an empty one once the original is dropped.
    pub(super) fn ledger(&self) -> Ledger {
        Ledger { _writer: None, open: self.0.as_ref().and_then(Weak::upgrade) }
    }
}

struct Open {
    path: PathBuf,
    file: File,
    /// Contents of the file: each key with its first unused number.
    lines: Vec<([u8; 16], u64)>,
    /// The keys in use, by line.
    in_use: Vec<(usize, Arc<Numbers>)>,
}

impl Ledger {
    /// Opens or creates the file, and locks it for this process.
    ///
    /// # Errors
    /// When it cannot be opened, is another kind of file, or is used by another box.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, LiveError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let wrong = |source| LiveError::Sequence { path: path.display().to_string(), source };
        let open = Arc::new(Mutex::new(Open::new(path).map_err(wrong)?));
        let (stop, stopped) = channel();
        let thread = thread::Builder::new().name("ledger".into()).spawn({
            let open = open.clone();
            move || write_ahead(&open, &stopped)
        });
        let writer = Writer { stop: Some(stop), thread: Some(thread.map_err(wrong)?) };
        Ok(Self { _writer: Some(writer), open: Some(open) })
    }

    pub(super) fn reference(&self) -> Reference {
        Reference(self.open.as_ref().map(Arc::downgrade))
    }

    /// The sequence numbers of a key.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn numbers(&self, keys: &Keys) -> Result<Arc<Numbers>, LiveError> {
        let Some(open) = &self.open else {
            let source = io::ErrorKind::NotFound.into();
            return Err(LiveError::Sequence { path: "none is named".into(), source });
        };
        let mut open = lock(open);
        let wrong = |path: &Path, source| LiveError::Sequence { path: path.display().to_string(), source };
        open.numbers(keys).map_err(|source| wrong(&open.path, source))
    }
}

/// Ignores poisoning: a panic leaves no update half done.
fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Raises the permitted limits in time, until stopped.
fn write_ahead(open: &Mutex<Open>, stopped: &Receiver<()>) {
    privileges::drop_capabilities();
    let mut is_told = false;
    while stopped.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let mut open = lock(open);
        match open.write_ahead() {
            Ok(()) => is_told = false,
            Err(wrong) if !is_told => {
                tracing::error!("{}: {wrong}: tunnels will run out of sequence numbers", open.path.display());
                is_told = true;
            }
            Err(_) => {}
        }
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|wrong| match wrong {
            rustix::io::Errno::WOULDBLOCK => io::Error::other("another box has this file: two must not use one key"),
            wrong => wrong.into(),
        })?;
        let mut text = String::new();
        Read::by_ref(&mut file).take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
        let lines = parse(&text).ok_or_else(|| io::Error::other("this is no file of sequence numbers"))?;
        // The directory entry must survive a power failure, too.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()?;
        Ok(Self { path: path.into(), file, lines, in_use: Vec::new() })
    }

    fn numbers(&mut self, keys: &Keys) -> io::Result<Arc<Numbers>> {
        let fingerprint = keys.fingerprint();
        let line = self.lines.iter().position(|(key, _)| *key == fingerprint).unwrap_or_else(|| {
            self.lines.push((fingerprint, 1));
            self.lines.len() - 1
        });
        if let Some((_, numbers)) = self.in_use.iter().find(|(of, _)| *of == line) {
            return Ok(numbers.clone());
        }
        let next = self.lines[line].1;
        let until = self.write(line, next)?;
        let numbers = Arc::new(Numbers::new(next, until));
        self.in_use.push((line, numbers.clone()));
        Ok(numbers)
    }

    fn write_ahead(&mut self) -> io::Result<()> {
        for at in 0..self.in_use.len() {
            let (line, numbers) = (self.in_use[at].0, self.in_use[at].1.clone());
            let (next, until) = (numbers.next(), numbers.until());
            if until < Numbers::END && until.saturating_sub(next) < AHEAD / 2 {
                numbers.permit(self.write(line, next)?);
            }
        }
        Ok(())
    }

    /// Records for a key that all numbers up to some way ahead of `next` are used; returns the first that is not.
    fn write(&mut self, line: usize, next: u64) -> io::Result<u64> {
        let (key, until) = (self.lines[line].0, (next + AHEAD).min(Numbers::END));
        let text = format!("{:032x} {until:010}\n", u128::from_be_bytes(key));
        self.file.write_all_at(text.as_bytes(), (line * LINE) as u64)?;
        self.file.sync_data()?;
        self.lines[line].1 = until;
        Ok(until)
    }
}

fn parse(text: &str) -> Option<Vec<([u8; 16], u64)>> {
    let line = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
        let (key, number) = line.split_once(' ').filter(|(key, _)| key.len() == DIGITS)?;
        let is_number = number.len() == 10 && number.bytes().all(|digit| digit.is_ascii_digit());
        let number = number.parse().ok().filter(|number| is_number && (1..=Numbers::END).contains(number))?;
        Some((u128::from_str_radix(key, 16).ok()?.to_be_bytes(), number))
    };
    if text.len() as u64 > MAX_FILE_BYTES { None } else { text.as_bytes().chunks(LINE).map(line).collect() }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn keys(byte: u8) -> Keys {
        Keys::Short([byte; 20])
    }

    #[test]
    fn no_number_comes_again_under_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let open = || Ledger::open(Some(&path)).unwrap();
        let range = |ledger: &Ledger, byte| {
            let numbers = ledger.numbers(&keys(byte)).unwrap();
            (numbers.next(), numbers.until())
        };
        let ledger = open();
        assert_eq!([range(&ledger, 1), range(&ledger, 2)], [(1, AHEAD + 1); 2]);
        // The same key yields the same numbers.
        assert!(Arc::ptr_eq(
            &ledger.numbers(&keys(1)).unwrap(),
            &ledger.reference().ledger().numbers(&keys(1)).unwrap()
        ));
        let taken = Ledger::open(Some(&path)).unwrap_err().to_string();
        assert!(taken.contains("another box has this file"), "{taken}");
        drop(ledger);
        let ledger = open();
        assert_eq!([range(&ledger, 3), range(&ledger, 2)], [(1, AHEAD + 1), (AHEAD + 1, 2 * AHEAD + 1)]);
        drop(ledger);
        assert_eq!(range(&open(), 1), (AHEAD + 1, 2 * AHEAD + 1));
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn more_are_permitted_in_time_and_no_more_than_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let fingerprint: String = keys(1).fingerprint().iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&path, format!("{fingerprint} {:010}\n", Numbers::END - AHEAD - 3)).unwrap();
        let mut open = Open::new(&path).unwrap();
        let numbers = open.numbers(&keys(1)).unwrap();
        assert_eq!((numbers.next(), numbers.until()), (Numbers::END - AHEAD - 3, Numbers::END - 3));
        open.write_ahead().unwrap();
        assert_eq!(numbers.until(), Numbers::END - 3, "there are enough");
        drop((open, numbers));
        let mut open = Open::new(&path).unwrap();
        let numbers = open.numbers(&keys(1)).unwrap();
        assert_eq!((numbers.next(), numbers.until()), (Numbers::END - 3, Numbers::END));
        open.write_ahead().unwrap();
        assert_eq!(numbers.until(), Numbers::END);
        drop((open, numbers));
        assert_eq!(Open::new(&path).unwrap().numbers(&keys(1)).unwrap().next(), Numbers::END);
    }

    #[test]
    fn another_file_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        for text in ["a letter\n", &"0".repeat(LINE), &format!("{} 0000000000\n", "0".repeat(DIGITS))] {
            fs::write(&path, text).unwrap();
            assert!(Ledger::open(Some(&path)).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
