//! The gateway's state, in parts that are independent of connections: each is informed of events and queried, and each server
//! task takes those that it needs.

mod calendar;
mod class_by_host;
mod destinations;
mod identity;
mod last_server;
mod link;
mod notes;
mod room;
mod settings;

pub(crate) use self::{
    calendar::Calendar, class_by_host::ClassByHost, destinations::Destinations, identity::Identities,
    last_server::LastServer, link::Link, notes::Notes, room::Room, settings::Settings,
};
