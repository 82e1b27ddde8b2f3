//! Determines what a reload cannot change while the gateway runs.

use std::{fmt, net::SocketAddr};

use super::{
    classes::by_host,
    model::{Admin, Class, Config, ProxyTls, Store, Uplink},
};

impl Config {
    /// Changes in the new configuration that require a restart, a sentence each.
    #[must_use]
    pub fn what_a_reload_cannot_change(&self, new: &Self) -> Vec<String> {
        new.clone().reloaded(self, |_| true).1
    }

    /// The configuration with which a gateway that runs with `old` continues when it reads this one: settings that need a
    /// restart stay as they were, and classes are [in their order](Self::in_the_order_of). Also returns [what those
    /// are](Self::what_a_reload_cannot_change).
    #[must_use]
    pub fn reloaded(self, old: &Self, is_used: impl Fn(usize) -> bool) -> (Self, Vec<String>) {
        let mut config = self.in_the_order_of(old, is_used);
        let mut kept = Kept::default();
        let (proxy, was) = (&mut config.proxy, &old.proxy);
        kept.keep("proxy.listen", &mut proxy.listen, &was.listen, |addresses| set(addresses));
        kept.keep("proxy.redirect", &mut proxy.redirect, &was.redirect, |addresses| set(addresses));
        kept.keep("proxy.tproxy", &mut proxy.tproxy, &was.tproxy, |addresses| set(addresses));
        let files = config.proxy.tls.clone();
        kept.keep("proxy.tls.listen", &mut config.proxy.tls, &old.proxy.tls, written_tls);
        if let (Some(tls), Some(files)) = (&mut config.proxy.tls, files) {
            (tls.certificate, tls.key) = (files.certificate, files.key);
        }
        let token = config.admin.as_ref().map(|admin| admin.token.clone());
        kept.keep("admin.listen", &mut config.admin, &old.admin, written_admin);
        if let (Some(admin), Some(token)) = (&mut config.admin, token) {
            admin.token = token;
        }
        let every = config.store.as_ref().map(|store| store.every);
        kept.keep("store.path", &mut config.store, &old.store, written_store);
        if let (Some(store), Some(every)) = (&mut config.store, every) {
            store.every = every;
        }
        let (downlink, was) = (&mut config.downlink, &old.downlink);
        kept.keep("downlink.policy", &mut downlink.policy, &was.policy, |policy| policy.as_str().to_owned());
        // The policy's own knob agrees with it.
        downlink.learn = was.learn;
        // The rate can change, but not whether there is one.
        if config.uplink.is_some() != old.uplink.is_some() {
            kept.keep("uplink.rate", &mut config.uplink, &old.uplink, written_uplink);
        }
        (config, kept.0)
    }

    /// The same configuration with classes at the positions that they have, by name, in `old`, so that a class keeps its number
    /// and the counts under it. Removed classes keep their position without any users, until a later reload finds it unused and
    /// gives it to a new class: so the number of positions does not grow with that of reloads.
    #[must_use]
    pub fn in_the_order_of(mut self, old: &Self, is_used: impl Fn(usize) -> bool) -> Self {
        let default = self.classes[self.default_class].name.clone();
        let is_known = |class: &Class| old.classes.iter().any(|before| before.name == class.name);
        let (mut known, new): (Vec<_>, Vec<_>) = std::mem::take(&mut self.classes).into_iter().partition(is_known);
        let mut new = new.into_iter();
        for (at, before) in old.classes.iter().enumerate() {
            let same = known.iter().position(|class| class.name == before.name).map(|at| known.remove(at));
            let class = same.or_else(|| if before.is_removed && !is_used(at) { new.next() } else { None });
            let removed =
                || Class { name: before.name.clone(), weight: before.weight, is_removed: true, ..Class::default() };
            self.classes.push(class.unwrap_or_else(removed));
        }
        self.classes.extend(new);
        self.hosts = by_host(&self.classes);
        self.default_class = self.classes.iter().position(|class| class.name == default).unwrap_or(0);
        self
    }

    /// The numbers that a class of `old` had and another class has now.
    pub(crate) fn renewed(&self, old: &Self) -> Vec<usize> {
        let both = self.classes.iter().zip(&old.classes).enumerate();
        both.filter(|(_, (class, before))| class.name != before.name).map(|(at, _)| at).collect()
    }
}

/// The settings that stay as they were, a sentence each.
#[derive(Default)]
struct Kept(Vec<String>);

impl Kept {
    /// Restores the old value, and records it if the new one differs.
    fn keep<T: Clone>(&mut self, key: &str, new: &mut T, old: &T, written: impl Fn(&T) -> String) {
        let (was, wanted) = (written(old), written(new));
        if was != wanted {
            self.0.push(format!("{key} stays {was}: restart the gateway to make it {wanted}"));
        }
        new.clone_from(old);
    }
}

fn written_admin(admin: &Option<Admin>) -> String {
    admin.as_ref().map_or("off".into(), |admin| admin.listen.to_string())
}

fn written_tls(tls: &Option<ProxyTls>) -> String {
    tls.as_ref().map_or("off".into(), |tls| set(&tls.listen))
}

fn written_store(store: &Option<Store>) -> String {
    store.as_ref().map_or("off".into(), |store| store.path.display().to_string())
}

fn written_uplink(uplink: &Option<Uplink>) -> String {
    if uplink.is_some() { "set" } else { "off" }.to_owned()
}

/// Addresses in sorted order: their order in the file does not matter.
fn set(addresses: &[SocketAddr]) -> String {
    let mut addresses = addresses.to_vec();
    addresses.sort_unstable();
    joined(&addresses, "off")
}

/// Joins items with commas, or returns a word if there are none.
pub(super) fn joined(things: impl IntoIterator<Item = impl fmt::Display>, none: &str) -> String {
    let things: Vec<_> = things.into_iter().map(|thing| thing.to_string()).collect();
    if things.is_empty() { none.to_owned() } else { things.join(", ") }
}
