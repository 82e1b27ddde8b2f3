//! Listening [sockets], connections that are [accepted](accepting), and the [door] that lets them in.

mod accepting;
mod door;
mod sockets;

pub(crate) use self::{
    accepting::Accepting,
    door::Door,
    sockets::{Listeners, Sources},
};
