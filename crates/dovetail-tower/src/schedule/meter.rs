//! Counts a response's units.

use bytes::Buf;
use http_body::SizeHint;

/// The total number of units of a response. Put into its extensions by the service, or into its request's by a layer that knows
/// it earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units(pub u64);

/// Counts the units of a response. Any `Fn(&D) -> u64` that takes a frame's data is one.
pub trait Meter<D> {
    /// Units in this frame.
    fn units(&self, data: &D) -> u64;

    /// Total units of a body, if that follows from what is known of its length in bytes.
    fn length(&self, _bytes: &SizeHint) -> Option<u64> {
        None
    }
}

impl<D, F: Fn(&D) -> u64> Meter<D> for F {
    fn units(&self, data: &D) -> u64 {
        self(data)
    }
}

/// A unit is a byte.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByteMeter;

impl<D: Buf> Meter<D> for ByteMeter {
    fn units(&self, data: &D) -> u64 {
        data.remaining() as u64
    }

    fn length(&self, bytes: &SizeHint) -> Option<u64> {
        bytes.exact()
    }
}
