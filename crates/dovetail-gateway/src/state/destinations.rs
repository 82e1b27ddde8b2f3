//! Resolves names and leaves out addresses that may not be reached.

use std::{cell::RefCell, fmt, net::IpAddr, rc::Rc, sync::Arc};

use super::settings::Settings;
use crate::{
    config::Config,
    destination,
    local_addresses::OwnAddresses,
    refusal::Refusal,
    resolve::{MAX_ADDRESSES, Names},
};

/// Resolves and checks where requests may go.
pub(crate) struct Destinations {
    settings: Rc<Settings>,
    names: RefCell<Rc<Names>>,
    own: OwnAddresses,
}

impl fmt::Debug for Destinations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Destinations").field("own", &self.own).finish_non_exhaustive()
    }
}

impl Destinations {
    /// `own` has this machine's addresses.
    pub(crate) fn new(settings: Rc<Settings>, names: Names, own: OwnAddresses) -> Self {
        Self { settings, names: RefCell::new(Rc::new(names)), own }
    }

    /// Uses other name servers from now on.
    pub(crate) fn set_names(&self, names: Names) {
        *self.names.borrow_mut() = Rc::new(names);
    }

    /// Reads this machine's addresses again.
    pub(crate) fn refresh(&self) {
        self.own.refresh();
    }

    /// Whether an existing connection to this address may still be used.
    pub(crate) fn may_reach(&self, server: Option<IpAddr>) -> bool {
        let access = &self.settings.config().access;
        server.is_some_and(|server| destination::check(server, access, &self.own.all()).is_ok())
    }

    /// Checks whether an address that was requested as such may be reached.
    pub(crate) fn check(&self, host: &Arc<str>, (address, port): (IpAddr, u16)) -> Result<(), Refusal> {
        let config = self.settings.config();
        check_all(&config, (address, port), &self.own.all()).map_err(|why| Refusal::Destination {
            host: Arc::clone(host),
            address,
            why,
        })
    }

    /// Addresses of a host, without any check.
    pub(crate) async fn resolve(&self, host: &Arc<str>) -> Result<Vec<IpAddr>, Refusal> {
        let within = self.settings.config().timeouts.resolve;
        let names = Rc::clone(&self.names.borrow());
        let mut found = names.find(host, within).await?;
        found.truncate(MAX_ADDRESSES);
        Ok(found)
    }

    /// Whether the name servers have this address for a name.
    pub(super) async fn leads_to(&self, host: &Arc<str>, address: IpAddr) -> bool {
        let within = self.settings.config().timeouts.resolve;
        let names = Rc::clone(&self.names.borrow());
        names.find(host, within).await.is_ok_and(|found| found.contains(&address.to_canonical()))
    }

    /// The addresses of a host that may be reached at this port.
    pub(crate) async fn addresses(&self, host: &Arc<str>, port: u16) -> Result<Vec<IpAddr>, Refusal> {
        let config = self.settings.config();
        let names = Rc::clone(&self.names.borrow());
        let found = names.find(host, config.timeouts.resolve).await?;
        let own = self.own.all();
        let mut refused = None;
        let mut reached = Vec::new();
        for address in found {
            match check_all(&config, (address, port), &own) {
                Ok(()) => reached.push(address),
                Err(why) => refused = Some((address, why)),
            }
        }
        reached.truncate(MAX_ADDRESSES);
        match refused {
            Some((address, why)) if reached.is_empty() => {
                Err(Refusal::Destination { host: Arc::clone(host), address, why })
            }
            _ => Ok(reached),
        }
    }
}

/// Checks an address and a port.
fn check_all(config: &Config, to: (IpAddr, u16), own: &[IpAddr]) -> Result<(), &'static str> {
    destination::check_admin(to, config.admin.as_ref().map(|admin| admin.listen), own)?;
    destination::check(to.0, &config.access, own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n";
    const ALLOWED: &str = "[access.destinations]\nallow = \"127.0.0.2\"\ndeny = \"192.0.43.7\"\n";

    #[tokio::test]
    async fn addresses_that_are_refused_are_never_tried_and_a_reload_counts_at_once() {
        let settings = Rc::new(Settings::new(Config::parse(TEXT).expect("a configuration")));
        let names = Names::new(&[([127, 0, 0, 1], 53).into()]).expect("name servers");
        let all = Destinations::new(Rc::clone(&settings), names, OwnAddresses::read().expect("addresses"));
        let addresses = async |text: &str| all.addresses(&text.into(), 80).await;
        let reach = |text: &str| all.may_reach(text.parse().ok());
        assert!(addresses("192.0.43.7").await.is_ok_and(|found| found == [IpAddr::from([192, 0, 43, 7])]));
        assert!(matches!(addresses("127.0.0.2").await, Err(Refusal::Destination { .. })));
        assert!(matches!(addresses("::ffff:127.0.0.2").await, Err(Refusal::Destination { .. })));
        assert!(reach("192.0.43.7") && !reach("127.0.0.2") && !all.may_reach(None));
        settings.set(Config::parse(&format!("{TEXT}{ALLOWED}")).expect("a configuration"));
        assert!(addresses("127.0.0.2").await.is_ok());
        assert!(matches!(addresses("192.0.43.7").await, Err(Refusal::Destination { .. })));
        assert!(reach("127.0.0.2") && !reach("192.0.43.7"));
    }
}
