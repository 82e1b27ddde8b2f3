//! Bytes in, plain or gzip.

use std::{
    io::{self, BufReader, Cursor, Read},
    sync::{Arc, Mutex, PoisonError},
};

use flate2::bufread::MultiGzDecoder;

/// A reader that may go to another thread.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// The first `N` bytes, or fewer if there are fewer, and a reader of all bytes from the first on.
pub(crate) fn peek<const N: usize>(mut read: Bytes) -> io::Result<(Vec<u8>, Bytes)> {
    let mut head = vec![0; N];
    let mut got = 0;
    while got < N {
        match read.read(&mut head[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    head.truncate(got);
    let whole = Box::new(Cursor::new(head.clone()).chain(read));
    Ok((head, whole))
}

/// The bytes themselves, or what is in them if they are gzip.
pub(crate) fn unpack(read: Bytes) -> io::Result<Bytes> {
    let (head, read) = peek::<2>(read)?;
    if head == [0x1f, 0x8b] {
        Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, read))))
    } else {
        Ok(read)
    }
}

/// Where a [`Steady`] leaves the error that ended it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    pub(crate) fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Fills every buffer to the brim until the input ends, and keeps errors for later: what was read before one counts.
pub(crate) struct Steady {
    read: Bytes,
    failure: Failure,
    ended: bool,
}

impl Steady {
    pub(crate) fn new(read: Bytes) -> (Self, Failure) {
        let failure = Failure::default();
        (Self { read, failure: failure.clone(), ended: false }, failure)
    }
}

impl Read for Steady {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < buffer.len() && !self.ended {
            match self.read.read(&mut buffer[got..]) {
                Ok(0) => self.ended = true,
                Ok(more) => got += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    *self.failure.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    self.ended = true;
                }
            }
        }
        Ok(got)
    }
}
