//! The sending half of an end: what is in flight, what is considered lost, and what to send next.
//!
//! A sender is in one of five phases, named as in Linux: open; disorder (segments arrived out of order); reduced (the window
//! falls for a reason other than a loss); recovery (segments are lost and retransmitted); timed out. Acknowledgements
//! (`acks`), losses and timeouts (`losses`, `timers`) move it between them. What to send follows from the windows and the
//! losses (`output`), when to send it from the pacing rate (`pacing`), and which segments carry PSH from what is written
//! (`pushes`).

mod acks;
mod losses;
mod output;
mod pacing;
mod pushes;
mod state;
mod timers;

pub use self::state::Counts;
pub(crate) use self::{
    acks::Ack,
    state::{Chunk, Sender},
};
