//! A pool of idle connections to servers.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    hash::{Hash, Hasher},
    net::IpAddr,
    rc::Rc,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use dovetail_sched::request::Offer;
use hyper::client::conn::http1::SendRequest;

use super::gated::Gate;
use crate::{client::Activity, config::Parent, upload::Upload};

/// How long a connection may have been idle for a request that must not be sent twice. Servers close idle connections after two
/// seconds (gunicorn's `keepalive`) or longer, and a request that crosses such a close is lost.
const RECENT: Duration = Duration::from_secs(1);

/// An HTTP connection to a server.
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) sender: SendRequest<Upload>,
    pub(crate) gate: Rc<Gate>,
    pub(crate) server: Option<IpAddr>,
    pub(crate) since: Instant,
    /// The only client connection that may use it, because credentials applied to the connection rather than to a request.
    pub(crate) pinned: Option<Weak<Activity>>,
}

impl Idle {
    /// Whether its server has hardly begun to think of closing it. One that credentials apply to has no substitute.
    pub(crate) fn is_recent(&self) -> bool {
        self.pinned.is_some() || self.since.elapsed() < RECENT
    }

    fn is_pinned_to(&self, client: &Arc<Activity>) -> bool {
        self.pinned.as_ref().is_some_and(|of| of.as_ptr() == Arc::as_ptr(client))
    }

    /// Whether the client connection that it is pinned to is closed.
    fn is_left(&self) -> bool {
        self.pinned.as_ref().is_some_and(|of| of.strong_count() == 0)
    }
}

/// Idle connections by host and port; the last one used goes first.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    servers: RefCell<HashMap<Server, Vec<Idle>>>,
    // Total number of connections.
    count: Cell<usize>,
}

/// Where a connection leads.
#[derive(Debug, Clone)]
pub(crate) enum Server {
    /// A host and a port.
    Direct(Arc<str>, u16),
    /// A parent proxy with its current configuration: connections made under an earlier one do not match.
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
    /// A connection that is ready or about to be; one pinned to this client goes first.
    pub(crate) fn take(&self, server: &Server, client: &Arc<Activity>) -> Option<Idle> {
        let mut servers = self.servers.borrow_mut();
        let idle = servers.get_mut(server)?;
        let before = idle.len();
        idle.retain(|idle| !idle.sender.is_closed());
        let own = idle.iter().rposition(|idle| idle.is_pinned_to(client));
        let found = own.or_else(|| idle.iter().rposition(|idle| idle.pinned.is_none())).map(|at| idle.remove(at));
        self.count.set(self.count.get() - (before - idle.len()));
        if idle.is_empty() {
            servers.remove(server);
        }
        found
    }

    /// Keeps a connection for later, unless its server, or the pool, has enough.
    pub(crate) fn keep(&self, server: Server, idle: Idle, most: usize) {
        if most == 0 || idle.sender.is_closed() {
            return;
        }
        let mut servers = self.servers.borrow_mut();
        if self.count.get() >= Offer::MAX_IDLE && !servers.contains_key(&server) {
            return;
        }
        let kept = servers.entry(server).or_default();
        kept.push(idle);
        if kept.len() > most || self.count.get() >= Offer::MAX_IDLE {
            kept.remove(0);
        } else {
            self.count.set(self.count.get() + 1);
        }
    }

    /// Closes connections that have been idle for this long.
    pub(crate) fn sweep(&self, longest: Duration) {
        let now = Instant::now();
        let mut count = 0;
        self.servers.borrow_mut().retain(|_, idle| {
            idle.retain(|idle| now - idle.since < longest && !idle.sender.is_closed() && !idle.is_left());
            count += idle.len();
            !idle.is_empty()
        });
        self.count.set(count);
    }

    /// Closes all connections.
    pub(crate) fn clear(&self) {
        self.servers.borrow_mut().clear();
        self.count.set(0);
    }

    pub(crate) const fn len(&self) -> usize {
        self.count.get()
    }
}
