//! Measures the queue at the link's far end: with packets that are sent there and answered, or with what the kernel knows of
//! connections.
//!
//! While requests are in flight a probe is sent every `probe_every`, otherwise once a second, which keeps the minimum
//! round-trip time fresh. The first ten are not limited to one a second either: so the idle round trip is known even if the
//! link is busy from then on.
//!
//! While a probe is silent ([`health`]), the round-trip times of connections ([`tcp`]) are reported instead.

mod datagrams;
mod echo;
mod health;
mod icmp;
mod packet;
mod probes;
mod probing;
mod sending;
mod start;
mod tcp;
mod udp;

pub(crate) use self::{
    packet::Echo,
    probes::Probes,
    probing::Probing,
    start::{change, start},
};
