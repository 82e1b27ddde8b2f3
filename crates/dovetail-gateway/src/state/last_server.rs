//! Remembers where responses come from: a probe towards there crosses the link.

use std::{cell::Cell, net::IpAddr};

/// A server that has answered recently.
#[derive(Debug, Default)]
pub(crate) struct LastServer(Cell<Option<IpAddr>>);

impl LastServer {
    /// Records an answer; a server of unknown address changes nothing.
    pub(crate) fn answered(&self, server: Option<IpAddr>) {
        self.0.set(server.or(self.0.get()));
    }

    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.0.get()
    }
}
