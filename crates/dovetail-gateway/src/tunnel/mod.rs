//! Tunnels: bytes both ways, of which only the amounts are known.
//!
//! [`open`] creates them, when [`dialling`] permits; [`carry`] schedules what they receive like any response.

mod carry;
mod dialling;
mod open;
mod resettable;
mod sealed;

pub(crate) use self::open::Tunnels;
