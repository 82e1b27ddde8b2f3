//! A packet that finds the box idle: before it is offered, and what was done with it by then.

use super::classes::Worked;
use crate::config::Marks;

/// As it arrived, to be worked on.
#[derive(Debug)]
pub(super) struct Lone {
    pub marks: Marks,
    pub class: u16,
    pub bytes: Vec<u8>,
}

/// What was done with it.
#[derive(Debug)]
pub(super) struct Early {
    /// Which packet it is: handles come again, and numbers do not.
    pub number: u64,
    pub worked: Worked,
    pub has_left: bool,
}
