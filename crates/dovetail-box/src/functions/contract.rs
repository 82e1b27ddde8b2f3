//! What a network function is, and what it answers.

use dovetail_sched::cost::Processing;

/// Something done to packets one by one.
pub trait NetworkFunction: Send {
    /// As it is called on the command line; a program's is that of its file.
    fn name(&self) -> &str;

    /// What its time grows with.
    fn processing(&self) -> Processing;

    /// Handles one Ethernet frame without its check sequence, in place; the frame may grow or shrink. What cannot be
    /// handled is answered, and then the frame is as it was. Memory is allocated only until frames, tables and buffers
    /// have reached their size, unless a function says otherwise.
    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict;
}

/// What to do with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Handled: send it on.
    Forward,
    /// Nothing that the function handles, and so as it was: send it on.
    Untouched,
    /// Do not send it on; the frame is as it was.
    Drop(Reason),
}

/// Why a frame is not sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its headers contradict themselves or what arrived.
    Malformed,
    /// It has been through as many routers as it may.
    HopLimit,
    /// Its destination is unknown.
    NoRoute,
    /// What it would become does not fit into an IP packet.
    TooLong,
    /// The key may not be used for another packet.
    KeyUsedUp,
    /// A program decided so.
    Refused,
    /// A program trapped on it: divided by zero, left its memory, overflowed its stack.
    Trapped,
    /// A program spent all the fuel that it has for a packet.
    OutOfFuel,
    /// A program answered what is no answer: an unknown verdict, or a frame that is not in its memory or too long.
    BadAnswer,
    /// Its program has failed too often.
    Quarantined,
}
