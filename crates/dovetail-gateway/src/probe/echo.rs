//! A probe's payload: its number, and a secret that identifies it as ours.

use std::hash::{BuildHasher, RandomState};

/// Bytes of a probe's payload.
pub(super) const BYTES: usize = 16;

/// Encodes a payload.
pub(super) fn write(number: u64, secret: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes[8..].copy_from_slice(&secret.to_be_bytes());
    bytes
}

/// The number in a payload, if it is ours.
pub(super) fn read(bytes: &[u8], secret: u64) -> Option<u64> {
    let bytes: [u8; BYTES] = bytes.get(..BYTES)?.try_into().ok()?;
    let (number, ours) = bytes.split_at(8);
    (ours == secret.to_be_bytes()).then(|| u64::from_be_bytes(number.try_into().unwrap_or_default()))
}

/// A number known only to this process.
pub(super) fn secret() -> u64 {
    RandomState::new().hash_one(0_u8)
}
