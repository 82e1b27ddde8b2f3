//! What a response brings, in units.

use bytes::Buf;
use http_body::SizeHint;

/// How many units a response will bring in all, put into its extensions by the service, or into its request's by a layer
/// that knows it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units(pub u64);

/// Counts the units of a response. Any `Fn(&D) -> u64` is one, which takes a frame's data.
pub trait Meter<D> {
    /// Units that this frame brings.
    fn units(&self, data: &D) -> u64;

    /// Units that a body will bring in all, from what is known of its length in bytes, if that says it.
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
