//! QUIC between simulated hosts: `quinn-proto`, a QUIC (RFC 9000, 9002) without I/O, in virtual time.
//!
//! A connection carries one stream, from its opener to its listener. Each end is a whole endpoint of its own, so that what the
//! network needs of it is what it needs of TCP's: packets that arrived, turns of the application, packets that leave, and the
//! time of the next turn. Packets are real ones with all their bytes, for `quinn-proto` reads what it is given. Nothing is
//! encrypted: the session in `plain` exchanges messages as long as TLS 1.3's, and leaves the 16 bytes of each packet's
//! seal empty.
//!
//! Equal seeds give equal runs. All that `quinn-proto` would draw or read from outside is given to it: the generator's seed,
//! connection ids (which count), the keys of resets and tokens, and both clocks. The congestion control is NewReno, whose floats are multiplied, divided and rounded only, which
//! IEEE 754 fixes to the last bit.
//!
//! | file | what |
//! |---|---|
//! | `clock` | virtual time on its clocks |
//! | `settings` | what all connections of a run have in common |
//! | `end` | one end of a connection |
//! | `reno` | how much may be in flight |
//! | `plain` | a handshake of TLS's lengths, and keys that encrypt nothing |

mod clock;
mod end;
mod plain;
mod reno;
mod settings;

/// The bytes of a UDP packet's payload.
pub(super) type Payload = bytes::BytesMut;

pub(super) use end::End;
pub(super) use settings::Settings;
