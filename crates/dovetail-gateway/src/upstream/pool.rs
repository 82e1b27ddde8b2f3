//! Connections to servers that wait for the next request.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{Hash, Hasher},
    net::IpAddr,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::client::conn::http1::SendRequest;

use super::gated::Gate;
use crate::{config::Parent, upload::Upload};

/// The most that wait, in total.
const MOST: usize = 2_048;

/// An HTTP connection to a server.
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) sender: SendRequest<Upload>,
    pub(crate) gate: Rc<Gate>,
    pub(crate) server: Option<IpAddr>,
    pub(crate) since: Instant,
}

/// Idle connections by host and port; the one used last goes first.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    servers: RefCell<HashMap<Server, Vec<Idle>>>,
}

/// What a connection leads to.
#[derive(Debug, Clone)]
pub(crate) enum Server {
    /// A host and a port.
    Direct(Arc<str>, u16),
    /// A parent proxy as it is configured now: connections to it as it was before are another's.
    By(Arc<Parent>),
}

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Direct(host, port), Self::Direct(other, at)) => (host, port) == (other, at),
            (Self::By(parent), Self::By(other)) => Arc::ptr_eq(parent, other),
            _ => false,
        }
    }
}

impl Eq for Server {}

impl Hash for Server {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Direct(host, port) => (host, port).hash(state),
            Self::By(parent) => Arc::as_ptr(parent).hash(state),
        }
    }
}

impl Pool {
    /// One that is ready, or will be in a moment.
    pub(crate) fn take(&self, server: &Server) -> Option<Idle> {
        let mut servers = self.servers.borrow_mut();
        let idle = servers.get_mut(server)?;
        let found = std::iter::from_fn(|| idle.pop()).find(|idle| !idle.sender.is_closed());
        if idle.is_empty() {
            servers.remove(server);
        }
        found
    }

    /// Keeps one for later, unless there are enough.
    pub(crate) fn keep(&self, server: Server, idle: Idle, most: usize) {
        let mut servers = self.servers.borrow_mut();
        if servers.len() >= MOST || idle.sender.is_closed() {
            return;
        }
        let kept = servers.entry(server).or_default();
        kept.push(idle);
        if kept.len() > most {
            kept.remove(0);
        }
    }

    /// Closes those unused for this long.
    pub(crate) fn sweep(&self, longest: Duration) {
        let now = Instant::now();
        self.servers.borrow_mut().retain(|_, idle| {
            idle.retain(|idle| now - idle.since < longest && !idle.sender.is_closed());
            !idle.is_empty()
        });
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        self.servers.borrow_mut().clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.servers.borrow().values().map(Vec::len).sum()
    }
}
