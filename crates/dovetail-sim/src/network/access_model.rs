//! What a model of users' access to the network does: a gateway, say, or nothing.
//!
//! The world runs one beside its hosts. A model owns what its events, packets and connections mean; it acts on the
//! network by the calls of [`Net`].

use std::convert::Infallible;

use super::{
    error::NetworkError,
    net::{Net, Turned},
    outcome::AccessOutcome,
    packets::EndId,
};

/// A model of users' access, at work.
pub(super) trait AccessModel: Sized {
    /// What it puts on the agenda.
    type Event: Copy;
    /// What its packets and connections are part of.
    type Part: Copy;

    /// Something that it put on the agenda is due.
    fn happen(&mut self, event: Self::Event, net: &mut NetOf<'_, Self>) -> Result<(), NetworkError>;

    /// Whether it has something to do before time goes on.
    fn is_asked(&self) -> bool;

    /// Does what is to be done before time goes on.
    fn serve(&mut self, net: &mut NetOf<'_, Self>) -> Result<(), NetworkError>;

    /// An end of one of its connections had its turn.
    fn turned(&mut self, id: EndId, turned: &Turned<Self::Part>, net: &mut NetOf<'_, Self>)
    -> Result<(), NetworkError>;

    /// A packet of its own, of no connection, is at the node it is for.
    fn arrived(&mut self, part: Self::Part, at: usize, net: &mut NetOf<'_, Self>) -> Result<(), NetworkError>;

    /// A packet that is not its own, of no connection, is at the node it is for.
    fn strayed(&mut self, at: usize, bytes: u64, net: &NetOf<'_, Self>);

    /// A link dropped a packet of its own.
    fn lost(&mut self, part: Self::Part);

    /// Whether there are no more requests to come, and all are answered.
    fn is_satisfied(&self, net: &NetOf<'_, Self>) -> bool;

    /// What the run ends with.
    fn finish(self) -> Option<AccessOutcome>;
}

/// The network that a model acts on.
pub(super) type NetOf<'a, M> = Net<'a, <M as AccessModel>::Event, <M as AccessModel>::Part>;

/// No users but the hosts.
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

    fn is_satisfied(&self, _: &NetOf<'_, Self>) -> bool {
        false
    }

    fn finish(self) -> Option<AccessOutcome> {
        None
    }
}
