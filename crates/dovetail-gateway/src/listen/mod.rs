//! Listening [sockets], connections that are [accepted](accepting), and the [door] that lets them in.

mod accepting;
mod admission;
mod sockets;

pub(crate) use self::{
    accepting::Accepting,
    admission::Door,
    sockets::{Listeners, Sources},
};
