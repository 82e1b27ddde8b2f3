//! SHA-256 of a run's inputs, computed from the bytes as they are read: nothing is read twice or kept for it. It is omitted
//! if no output shows it: over a table it would take a twentieth of the run.

use std::{
    fmt::Write as _,
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use ring::digest::{Context, SHA256, digest};

/// The digest of a text, in hexadecimal.
pub(crate) fn of_text(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

/// A reader, with the digest of the bytes read so far.
struct Digested<R> {
    reader: R,
    /// `None` if the digest is not wanted.
    context: Option<Context>,
    has_ended: bool,
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        if let Some(context) = &mut self.context {
            context.update(&buffer[..got]);
        }
        self.has_ended |= got == 0 && !buffer.is_empty();
        Ok(got)
    }
}

/// The bytes of a reader, for a parser.
pub(crate) struct Bytes<R>(Arc<Mutex<Digested<R>>>);

impl<R: Read> Read for Bytes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}

/// The digest of the same bytes, for after parsing.
pub(crate) struct Digest<R>(Arc<Mutex<Digested<R>>>);

impl<R: Read> Digest<R> {
    /// The digest of all bytes, if wanted. Reads what was not parsed; from a pipe that `may_wait` it reads no more, and there
    /// is no digest unless the pipe has ended.
    pub(crate) fn finish(self, may_wait: bool) -> io::Result<Option<String>> {
        let mut digested = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if digested.context.is_none() || (may_wait && !digested.has_ended) {
            return Ok(None);
        }
        io::copy(&mut *digested, &mut io::sink())?;
        Ok(digested.context.take().map(|context| hex(context.finish().as_ref())))
    }
}

/// Splits a reader into its bytes and their digest, if that is `wanted`.
pub(crate) fn digested<R: Read>(reader: R, wanted: bool) -> (Bytes<R>, Digest<R>) {
    let context = wanted.then(|| Context::new(&SHA256));
    let shared = Arc::new(Mutex::new(Digested { reader, context, has_ended: false }));
    (Bytes(shared.clone()), Digest(shared))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of "abc", from FIPS 180-4.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn what_was_not_parsed_counts_too() {
        assert_eq!(of_text("abc"), ABC);
        let (mut bytes, digest) = digested(&b"abc"[..], true);
        bytes.read_exact(&mut [0]).unwrap();
        assert_eq!(digest.finish(false).unwrap().as_deref(), Some(ABC));
    }

    #[test]
    fn what_is_not_wanted_is_not_taken_and_nothing_is_read_for_it() {
        let (mut bytes, digest) = digested(&b"abc"[..], false);
        bytes.read_exact(&mut [0]).unwrap();
        assert_eq!(digest.finish(false).unwrap(), None);
        let mut rest = String::new();
        bytes.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "bc");
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let (mut bytes, digest) = digested(&b"abc"[..], true);
        bytes.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(digest.finish(true).unwrap(), None);
        let (mut bytes, digest) = digested(&b"abc"[..], true);
        bytes.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(digest.finish(true).unwrap().as_deref(), Some(ABC));
    }
}
