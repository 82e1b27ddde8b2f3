//! Appends whole lines to a file.

use std::{borrow::Cow, fs::File, io, path::Path};

use tracing::warn;

use super::file::{append_to, is_torn};

/// A file to which whole lines are appended.
#[derive(Debug)]
pub(super) struct Lines<W> {
    file: W,
    // Only the beginning of its last line could be written.
    is_torn: bool,
}

impl<W: io::Write> Lines<W> {
    /// Appends lines, and returns why and how many of them are lost if not all could be written.
    pub(super) fn append(&mut self, lines: &str) -> Result<(), (io::Error, u64)> {
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
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = append_to(path, true)?;
        let is_torn = is_torn(&file, path).unwrap_or(false);
        Ok(Self { file, is_torn })
    }

    /// Continues in the file that is now at the path, which may be the same.
    pub(super) fn reopen(&mut self, path: &Path) {
        match append_to(path, true) {
            Ok(file) => {
                self.is_torn = is_torn(&file, path).unwrap_or(self.is_torn);
                self.file = file;
            }
            Err(error) => warn!("{}: {error}: the log continues in the same file", path.display()),
        }
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
}
