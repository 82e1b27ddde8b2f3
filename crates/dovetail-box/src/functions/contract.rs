//! The interface of a network function.

use dovetail_sched::cost::Processing;

/// A function applied to packets one at a time.
pub trait NetworkFunction: Send {
    /// Its name on the command line; for a program, the name of its file.
    fn name(&self) -> &str;

    /// What its processing time grows with.
    fn processing(&self) -> Processing;

    /// Processes one Ethernet frame, without its frame check sequence, in place; the frame may grow or shrink. A frame that
    /// cannot be processed is left as it was, and the verdict says why. Memory is allocated only until frames, tables and
    /// buffers have reached their size, unless a function's documentation says otherwise.
    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict;
}

/// What to do with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Processed: forward it.
    Forward,
    /// Not applicable to this frame, which is unchanged: forward it.
    Untouched,
    /// Drop it; the frame is unchanged.
    Drop(Reason),
}

/// Why a frame is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its headers contradict each other or the frame's length.
    Malformed,
    /// Its hop limit is exhausted.
    HopLimit,
    /// There is no route to its destination.
    NoRoute,
    /// The result would not fit into an IP packet.
    TooLong,
    /// The key may not be used for any more packets.
    KeyUsedUp,
    /// A program dropped it.
    Refused,
    /// A program trapped on it: divided by zero, left its memory, overflowed its stack.
    Trapped,
    /// A program ran out of fuel for this packet.
    OutOfFuel,
    /// A program returned an invalid answer: an unknown verdict, or a frame that is outside its memory or too long.
    BadAnswer,
    /// The program is quarantined: it has failed too often.
    Quarantined,
}
