//! A packet that finds the box idle: its state before it is offered, and the result of processing it early.

use super::classes::Worked;
use crate::config::Marks;

/// The packet as received, to be processed.
#[derive(Debug)]
pub(super) struct Lone {
    pub marks: Marks,
    pub class: u16,
    pub bytes: Vec<u8>,
}

/// The result of processing it early.
#[derive(Debug)]
pub(super) struct Early {
    /// The packet's number: handles are reused, numbers are not.
    pub number: u64,
    pub worked: Worked,
    pub has_left: bool,
}
