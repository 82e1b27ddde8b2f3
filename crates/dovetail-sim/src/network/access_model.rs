//! Models of users' access to the network, such as a gateway or none.
//!
//! The world runs one alongside its hosts. A model defines the meaning of its events, packets and connections; it acts on the
//! network through [`Net`].

use std::convert::Infallible;

use super::{
    error::NetworkError,
    net::{Net, Turned},
    outcome::AccessOutcome,
    packets::EndId,
};

/// A model of users' access.
pub(super) trait AccessModel: Sized {
    /// Its events.
    type Event: Copy;
    /// What its packets and connections belong to.
    type Part: Copy;

    /// Handles one of its events that is due.
    fn happen(&mut self, event: Self::Event, net: &mut NetOf<'_, Self>) -> Result<(), NetworkError>;

    /// Whether it has work to do before time advances.
    fn is_asked(&self) -> bool;

    /// Does the work that is due before time advances.
    fn serve(&mut self, net: &mut NetOf<'_, Self>) -> Result<(), NetworkError>;

    /// An end of one of its connections was processed.
    fn turned(&mut self, id: EndId, turned: &Turned<Self::Part>, net: &mut NetOf<'_, Self>)
    -> Result<(), NetworkError>;

    /// One of its own packets, without a connection, arrived at its destination.
    fn arrived(&mut self, part: Self::Part, at: usize, net: &mut NetOf<'_, Self>) -> Result<(), NetworkError>;

    /// A packet of other traffic, without a connection, arrived at its destination.
    fn strayed(&mut self, at: usize, bytes: u64, net: &NetOf<'_, Self>);

    /// A link dropped one of its own packets.
    fn lost(&mut self, part: Self::Part);

    /// Whether a run without a time to stop lasts until its requests are done.
    fn is_waited_for(&self, net: &NetOf<'_, Self>) -> bool;

    /// Whether all requests have been made and answered.
    fn is_satisfied(&self, net: &NetOf<'_, Self>) -> bool;

    /// The results of the run.
    fn finish(self) -> Option<AccessOutcome>;
}

/// The network that a model acts on.
pub(super) type NetOf<'a, M> = Net<'a, <M as AccessModel>::Event, <M as AccessModel>::Part>;

/// No users besides the hosts.
pub(super) struct NoUsers;

impl AccessModel for NoUsers {
    type Event = Infallible;
    type Part = Infallible;

    fn happen(&mut self, event: Infallible, _: &mut NetOf<'_, Self>) -> Result<(), NetworkError> {
        match event {}
    }

    fn is_asked(&self) -> bool {
        false
    }

    fn serve(&mut self, _: &mut NetOf<'_, Self>) -> Result<(), NetworkError> {
        Ok(())
    }

    fn turned(&mut self, _: EndId, _: &Turned<Infallible>, _: &mut NetOf<'_, Self>) -> Result<(), NetworkError> {
        Ok(())
    }

    fn arrived(&mut self, part: Infallible, _: usize, _: &mut NetOf<'_, Self>) -> Result<(), NetworkError> {
        match part {}
    }

    fn strayed(&mut self, _: usize, _: u64, _: &NetOf<'_, Self>) {}

    fn lost(&mut self, part: Infallible) {
        match part {}
    }

    fn is_waited_for(&self, _: &NetOf<'_, Self>) -> bool {
        false
    }

    fn is_satisfied(&self, _: &NetOf<'_, Self>) -> bool {
        false
    }

    fn finish(self) -> Option<AccessOutcome> {
        None
    }
}
