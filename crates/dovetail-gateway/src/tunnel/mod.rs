//! Tunnels: bytes both ways, of which only the amounts are known.
//!
//! [`open`] makes them, when [`dialling`] says so; [`carry`] has what comes down them granted like any response.

mod carry;
mod dialling;
mod open;
mod sealed;

pub(crate) use self::open::Tunnels;
