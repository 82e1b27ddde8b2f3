//! What is written of one packet, and where to.

use std::io;

use dovetail_sched::Packet;

use crate::Passage;

/// What is written of one packet.
pub(super) struct Row<'a> {
    pub(super) packet: &'a Packet,
    pub(super) label: &'a str,
    pub(super) passage: Option<&'a Passage>,
}

/// A file of rows.
pub(super) trait Sink {
    fn write(&mut self, row: &Row<'_>) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}
