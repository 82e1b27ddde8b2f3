//! A reader that fills buffers completely, since the parser of captures treats a short read as the end.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use crate::workload::input::Bytes;

/// Where a [`Steady`] stores the error that ended it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    pub(crate) fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Fills every buffer completely until the input ends, and keeps errors for later: bytes read before an error count.
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
