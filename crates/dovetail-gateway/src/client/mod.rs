//! Clients' connections: [how many](seats) each may have, [what is in flight](activity) on one, its [transport](connection),
//! and its [stream].

mod activity;
mod connection;
mod seats;
mod stream;

pub(crate) use self::{
    activity::{Activity, Busy},
    connection::Connection,
    seats::{Seat, Seats},
    stream::ClientStream,
};
