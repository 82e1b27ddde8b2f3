//! Connections to servers.
//!
//! The scheduler decides when they are read: [`gated`] lets a response in only as far as permitted. Unread bytes close the
//! receive window, which [`connect`] makes small before connecting and [`offered`] enlarges.

mod chain;
mod connect;
mod ending;
mod gated;
mod line;
mod low_water;
mod offered;
mod pool;
mod switched;
mod window;

pub(crate) use self::{
    chain::{TunnelRefused, chain},
    connect::{Failure, Upstream, alternating},
    gated::Gated,
    line::{Line, Reached, Ungated},
    low_water::LowWater,
    offered::{FAR, Offered},
    pool::{Idle, Pool, Server},
    switched::Switched,
    window::Window,
};
