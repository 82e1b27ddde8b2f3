//! The scoreboard: segments that were sent and not yet acknowledged (RFC 6675, section 3).
//!
//! Segments are ordered by place; each records when it was last sent and what is known of it. A segment is *sacked* once the
//! peer reports that it has it, *lost* once it is considered lost, and *in flight again* from its retransmission until it is
//! sacked or considered lost once more. The number of segments in the network is
//!
//! ```text
//! in flight = all - sacked - lost + in flight again
//! ```
//!
//! since a segment that is lost and in flight again is in the network once. Without selective acknowledgements, each
//! duplicate acknowledgement means that one segment has left the network, but not which: they are counted as sacked.
//!
//! An acknowledgement carries up to four blocks, mostly those of the previous one and a little more. Parts that were
//! processed before are skipped, and so are runs of sacked segments, so a block costs only what is new in it. Segments that are
//! late or lost are kept in order. These records survive acknowledgements because numbers (`first + index`) never change.
//! Whatever a peer reports and a path reorders, a segment costs logarithmic time each time it is sent, sacked or lost.

mod late;
mod state;

pub(crate) use self::state::{Board, Sent};
