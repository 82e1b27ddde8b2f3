//! QUIC between simulated hosts: `quinn-proto`, a QUIC (RFC 9000, 9002) without I/O, in virtual time.
//!
//! A connection carries one stream, from its opener to its listener. Each end is an endpoint of its own, so that it has the
//! same interface to the network as a TCP end: packets that arrived, turns of the application, packets to send, and the time
//! of the next turn. Packets are real ones with all their bytes, since `quinn-proto` parses them. Nothing is encrypted: the
//! session in `plain` exchanges messages of the same lengths as TLS 1.3's, and leaves the 16 bytes of each packet's
//! authentication tag empty.
//!
//! Equal seeds give equal runs. Everything that `quinn-proto` would draw or read from outside is supplied: the generator's
//! seed, connection ids (consecutive numbers), the keys of resets and tokens, and both clocks. Congestion control is NewReno,
//! whose floats are only multiplied, divided and rounded, which IEEE 754 specifies to the last bit.
//!
//! | file | what |
//! |---|---|
//! | `clock` | virtual time for its clocks |
//! | `settings` | what all connections of a run have in common |
//! | `end` | one end of a connection |
//! | `reno` | congestion control |
//! | `plain` | a handshake of TLS's lengths, and keys that encrypt nothing |

mod clock;
mod end;
mod plain;
mod reno;
mod settings;

/// The payload of a UDP packet.
pub(super) type Payload = bytes::BytesMut;

pub(super) use end::End;
pub(super) use settings::Settings;
