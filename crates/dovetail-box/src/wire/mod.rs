//! Conversion of frames between what interfaces deliver and what they accept.
//!
//! What a kernel delivers to a program between two interfaces is not exactly what was on the wire: the outer VLAN tag is
//! reported beside the frame, the checksum of a locally sent packet is not filled in, and up to 64 KiB of a stream arrive
//! as one frame. Everything here deals with bytes and lengths only.
//!
//! | module | what |
//! |---|---|
//! | [`received`] | what an interface hands over, as the frames that it stands for: the way in |
//! | [`offload`] | what the interface says of a frame: checksum not filled in, to be split |
//! | [`tag`] | the VLAN tag that lies beside a frame |
//! | [`checksum`] | fills in what was left out |
//! | [`left_out`] | finds what was left out, where nothing says so |
//! | [`segments`] | one long frame as many |
//! | `tunnel` | what is around the packet that is split |
//! | [`named`] | the name that a packet carries of what is to be done with it |
//! | [`fits`] | what an interface's MTU lets through |
//! | [`clamp`] | lets TCP hosts agree on segments that fit |
//! | [`icmp_error`] | tells a sender what became of its packet |
//! | [`too_big`] | that it does not fit |
//! | [`token_bucket`] | how often senders are told |
//!
//! Everything accepts any bytes: nothing panics, and the work is bounded by a frame's length. Buffers belong to the caller;
//! nothing is allocated once they have grown to a frame's length.

pub mod checksum;
pub mod clamp;
pub mod fits;
pub mod icmp_error;
pub mod left_out;
pub mod named;
pub mod offload;
pub mod received;
mod refused;
pub mod segments;
pub mod tag;
#[cfg(test)]
pub(crate) mod testing;
pub mod token_bucket;
pub mod too_big;
mod tunnel;

pub use refused::Refused;
