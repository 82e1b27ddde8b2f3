//! What a gateway knows and goes by, in parts that know nothing of connections: each is told what happens and asked what
//! holds, and each server task takes those that it needs.

mod calendar;
mod destinations;
mod identity;
mod last_server;
mod link;
mod notes;
mod room;
mod settings;
mod towards;

pub(crate) use self::{
    calendar::Calendar, destinations::Destinations, identity::Identities, last_server::LastServer, link::Link,
    notes::Notes, room::Room, settings::Settings, towards::Towards,
};
