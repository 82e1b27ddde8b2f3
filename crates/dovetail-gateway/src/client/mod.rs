//! A client's connection: [how many](seats) it may have, [what is in flight](activity) on one, [what it is made
//! of](connection), and its [stream].

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
