//! Determines the class of a request by its destination.
//!
//! A client that is configured to use the proxy names the host that the gateway then connects to, so that name determines the
//! destination. An intercepted client chose an address, and its `Host` or TLS server name may be anything: it could name a host
//! of a better class, or of another class to get a share in, and go elsewhere. So such a name counts only if it resolves to the
//! very address that the client chose, according to the gateway's own name servers.

use std::{net::IpAddr, rc::Rc, sync::Arc};

use dovetail_sched::request::ClassId;

use super::{destinations::Destinations, settings::Settings};
use crate::{class::class_id, wanted::Wanted};

/// Finds the classes of hosts.
#[derive(Debug)]
pub(crate) struct ClassByHost {
    settings: Rc<Settings>,
    destinations: Rc<Destinations>,
}

impl ClassByHost {
    pub(crate) fn new(settings: &Rc<Settings>, destinations: &Rc<Destinations>) -> Self {
        Self { settings: Rc::clone(settings), destinations: Rc::clone(destinations) }
    }

    /// The class that lists the host, if any. `said` is a name that an intercepted client gave for the address.
    pub(crate) async fn class(&self, wanted: &Wanted, said: Option<&str>) -> Option<ClassId> {
        let config = self.settings.config();
        if config.hosts.is_empty() {
            return None;
        }
        if let Some(name) = said
            && config.hosts.find(name).is_some()
            && let Ok(address) = wanted.host.parse::<IpAddr>()
            && self.destinations.leads_to(&Arc::from(name), address).await
            // A reload may have changed the classes meanwhile.
            && let Some(class) = self.settings.config().hosts.find(name)
        {
            return Some(class_id(class));
        }
        self.settings.config().hosts.find(&wanted.host).map(class_id)
    }
}
