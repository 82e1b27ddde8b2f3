//! Standard output, and messages on standard error.

use std::{
    fmt::Display,
    io::{self, ErrorKind, Write},
};

/// Writes a message to standard error, with its colours on a terminal. If that cannot be written, only the exit status tells.
pub(crate) fn tell(message: impl Display) {
    let _ = write!(anstream::stderr(), "{message}");
}

/// Standard output that treats a closed pipe as a reader that has seen enough.
#[derive(Debug, Default)]
pub(crate) struct Stdout {
    closed: bool,
}

impl Stdout {
    fn unless_closed(&mut self, done: io::Result<()>) -> io::Result<()> {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            done => done,
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.closed {
            let written = io::stdout().lock().write_all(bytes);
            self.unless_closed(written)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let flushed = io::stdout().lock().flush();
        self.unless_closed(flushed)
    }
}
