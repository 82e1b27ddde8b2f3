//! Connections to servers.
//!
//! The scheduler owns when they are read: [`gated`] lets a response in only as far as it may come. What is not read closes
//! the receive window, which [`connect`] made small before the connection was.

mod connect;
mod gated;
mod pool;

pub(crate) use self::{
    connect::{Failure, Offered, Upstream, Window},
    gated::{Gate, Gated},
    pool::{Idle, Pool, Server},
};
