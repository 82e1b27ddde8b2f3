//! How long the queue at the link's far end is: packets sent to it and back, or what the kernel knows of connections.
//!
//! While requests are in flight a probe leaves every `probe_every`; else one a second, which keeps the least round-trip
//! time fresh. The first ten do not wait for a second either: a link that is busy from then on is known as it is without.
//!
//! While a probe is silent ([`health`]), connections' round-trip times ([`tcp`]) are told in its place.

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
