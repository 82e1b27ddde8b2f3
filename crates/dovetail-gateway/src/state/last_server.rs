//! Where responses come from: on the way there a probe crosses the link.

use std::{cell::Cell, net::IpAddr};

/// A server that answered lately.
#[derive(Debug, Default)]
pub(crate) struct LastServer(Cell<Option<IpAddr>>);

impl LastServer {
    /// It answered; one whose address is not known changes nothing.
    pub(crate) fn answered(&self, server: Option<IpAddr>) {
        self.0.set(server.or(self.0.get()));
    }

    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.0.get()
    }
}
