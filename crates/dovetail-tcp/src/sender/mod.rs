//! The half of an end that sends: what is in flight, what is believed lost, and what goes out next.
//!
//! A connection's sender is in one of five phases, as Linux calls them: open; in disorder (segments came out of order);
//! reduced (the window falls for another reason than a loss); in recovery (segments are lost and sent again); timed out.
//! Acknowledgements move it from one to another (`acks`), losses and timeouts do (`losses`, `timers`), and what goes
//! out follows from the windows and from what is believed lost (`output`), and when from the pace (`pacing`); some of it is pushed
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
