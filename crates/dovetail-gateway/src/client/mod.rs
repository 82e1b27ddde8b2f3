//! A client's connection: [how many](seats) it may have, [what is in flight](activity) on one, and its [stream].

mod activity;
mod seats;
mod stream;

pub(crate) use self::{
    activity::{Activity, Busy},
    seats::{Seat, Seats},
    stream::ClientStream,
};
