//! Connections to servers.
//!
//! The scheduler owns when they are read: [`gated`] lets a response in only as far as it may come. What is not read closes
//! the receive window, which [`connect`] made small before the connection was and [`offered`] lengthens.

mod chain;
mod connect;
mod ending;
mod gated;
mod line;
mod offered;
mod pool;
mod switched;
mod window;

pub(crate) use self::{
    chain::{Unchained, chain},
    connect::{Failure, Upstream, alternating},
    gated::Gated,
    line::{Line, Reached, Ungated},
    offered::{FAR, Offered},
    pool::{Idle, Pool, Server},
    switched::Switched,
    window::Window,
};
