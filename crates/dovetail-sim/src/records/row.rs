//! A row of records, and where rows are written.

use std::io;

use dovetail_sched::Packet;

use crate::Passage;

/// The row of one packet.
pub(super) struct Row<'a> {
    pub(super) packet: &'a Packet,
    pub(super) label: &'a str,
    pub(super) fate: Fate<'a>,
}

/// Fate of the packet.
#[derive(Clone, Copy)]
pub(super) enum Fate<'a> {
    Sent(&'a Passage),
    Dropped,
    Left,
}

impl Row<'_> {
    /// Its passage, if it was sent.
    pub(super) fn passage(&self) -> Option<&Passage> {
        if let Fate::Sent(passage) = self.fate { Some(passage) } else { None }
    }

    /// Name of the outcome.
    pub(super) fn outcome(&self) -> &'static str {
        match self.fate {
            Fate::Sent(_) => "sent",
            Fate::Dropped => "dropped",
            Fate::Left => "left",
        }
    }
}

/// A file of rows.
pub(super) trait Sink {
    fn write(&mut self, row: &Row<'_>) -> io::Result<()>;
    fn finish(self: Box<Self>) -> io::Result<()>;
}
