//! The class of a request by where it goes.
//!
//! A client that knows of the proxy names the host that the gateway then connects to, so that name says where a request goes. One
//! whose connection was intercepted chose an address, and what it writes in `Host` or in TLS may be anything: a client could name a
//! host of a better class, or of one more class to have a share in, and go elsewhere. So such a name counts only if it leads to the
//! very address that the client chose, as the gateway's own name servers have it.

use std::{net::IpAddr, rc::Rc, sync::Arc};

use dovetail_sched::request::ClassId;

use super::{destinations::Destinations, settings::Settings};
use crate::{class::class_id, wanted::Wanted};

/// Knows which hosts have a class of their own.
#[derive(Debug)]
pub(crate) struct Towards {
    settings: Rc<Settings>,
    destinations: Rc<Destinations>,
}

impl Towards {
    pub(crate) fn new(settings: &Rc<Settings>, destinations: &Rc<Destinations>) -> Self {
        Self { settings: Rc::clone(settings), destinations: Rc::clone(destinations) }
    }

    /// The class that lists the host, if there is one. `said`: a name that an intercepted client gave for the address.
    pub(crate) async fn class(&self, wanted: &Wanted, said: Option<&str>) -> Option<ClassId> {
        let config = self.settings.config();
        if config.hosts.is_empty() {
            return None;
        }
        if let Some(name) = said
            && let Some(class) = config.hosts.find(name)
            && let Ok(address) = wanted.host.parse::<IpAddr>()
            && self.destinations.leads_to(&Arc::from(name), address).await
        {
            return Some(class_id(class));
        }
        config.hosts.find(&wanted.host).map(class_id)
    }
}
