//! The access log.
//!
//! A thread of its own writes it, so that a slow or full disk delays no request. Lines that it cannot keep up with, or cannot
//! write, are counted and dropped.
//!
//! The `handle` puts each `line` into the `queue`, from which the `writer` takes it: it is `appending` to a `file`.

mod appending;
mod file;
mod handle;
mod line;
mod queue;
mod writer;

pub(crate) use self::{
    file::append_to,
    handle::{Log, cannot_log, open_log},
    line::Line,
};
