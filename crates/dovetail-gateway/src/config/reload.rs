//! What a configuration cannot change while the gateway runs.

use std::{fmt, net::SocketAddr};

use super::{Admin, Class, Config};

impl Config {
    /// What the new configuration says that takes effect only when the gateway starts again, a sentence each.
    #[must_use]
    pub fn what_a_reload_cannot_change(&self, new: &Self) -> Vec<String> {
        let mut kept = Vec::new();
        let mut keep = |key: &str, old: String, new: String| {
            if old != new {
                kept.push(format!("{key} stays {old}: restart the gateway to make it {new}"));
            }
        };
        let (old, other) = (&self.proxy, &new.proxy);
        keep("proxy.listen", set(&old.listen), set(&other.listen));
        keep("proxy.redirect", set(&old.redirect), set(&other.redirect));
        keep("proxy.tproxy", set(&old.tproxy), set(&other.tproxy));
        let admin = |config: &Self| config.admin.as_ref().map_or("off".into(), |admin| admin.listen.to_string());
        keep("admin.listen", admin(self), admin(new));
        let policy = |config: &Self| config.downlink.policy.as_str().to_owned();
        keep("downlink.policy", policy(self), policy(new));
        let paced = |config: &Self| if config.uplink.is_some() { "set" } else { "off" }.to_owned();
        keep("uplink.rate", paced(self), paced(new));
        kept
    }
}

impl Config {
    /// What a gateway that runs with `old` goes on with when it reads this: with what only a restart changes as it was, and
    /// [what that is](Self::what_a_reload_cannot_change).
    #[must_use]
    pub fn reloaded(self, old: &Self) -> (Self, Vec<String>) {
        let kept = old.what_a_reload_cannot_change(&self);
        let mut config = self.in_the_order_of(old);
        let proxy = &mut config.proxy;
        proxy.listen.clone_from(&old.proxy.listen);
        proxy.redirect.clone_from(&old.proxy.redirect);
        proxy.tproxy.clone_from(&old.proxy.tproxy);
        config.downlink.policy = old.downlink.policy.clone();
        config.downlink.learn = old.downlink.learn;
        if config.uplink.is_some() != old.uplink.is_some() {
            config.uplink.clone_from(&old.uplink);
        }
        config.admin = match (&old.admin, config.admin) {
            (Some(old), Some(new)) => Some(Admin { listen: old.listen, ..new }),
            (old, _) => old.clone(),
        };
        (config, kept)
    }

    /// The same with its classes where those of the same name were in `old`, so that a class keeps its number and what was
    /// counted by that. One that is no more keeps its place without anybody in it.
    #[must_use]
    pub fn in_the_order_of(mut self, old: &Self) -> Self {
        let default = self.classes[self.default_class].name.clone();
        let mut rest = std::mem::take(&mut self.classes);
        for before in &old.classes {
            let now = rest.iter().position(|class| class.name == before.name).map(|at| rest.remove(at));
            let nobody = || Class { clients: Vec::new(), users: Vec::new(), ..before.clone() };
            self.classes.push(now.unwrap_or_else(nobody));
        }
        self.classes.append(&mut rest);
        self.default_class = self.classes.iter().position(|class| class.name == default).unwrap_or(0);
        self
    }
}

/// Addresses in an order of their own: in which they are written does not matter.
fn set(addresses: &[SocketAddr]) -> String {
    let mut addresses = addresses.to_vec();
    addresses.sort_unstable();
    joined(&addresses, "off")
}

/// Things with commas between, or a word where there are none.
pub(super) fn joined(things: impl IntoIterator<Item = impl fmt::Display>, none: &str) -> String {
    let things: Vec<_> = things.into_iter().map(|thing| thing.to_string()).collect();
    if things.is_empty() { none.to_owned() } else { things.join(", ") }
}
