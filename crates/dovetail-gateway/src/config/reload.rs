//! What a configuration cannot change while the gateway runs.

use std::{fmt, net::SocketAddr};

use super::{Class, Config};

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
        kept
    }
}

impl Config {
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
