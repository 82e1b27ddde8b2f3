//! Applies another configuration to a running gateway. What cannot be applied stays as it was, with a warning for each item;
//! the stored configuration always describes what the gateway does.

use dovetail_tower::Dispatcher;
use tracing::warn;

use super::parts::Parts;
use crate::{auth::read_passwords, class::class_id, config::Config, log::open_log, probe, resolve::Names};

/// Applies another configuration, except what requires a restart.
pub(super) fn reload(parts: &Parts, config: Config) {
    let old = parts.settings.config();
    let used = UsedClasses::of(parts);
    let (mut config, kept) = config.reloaded(&old, |class| used.has(class));
    for what in kept {
        warn!("{what}");
    }
    let now = parts.settings.now();
    let renewed = config.renewed(&old);
    parts.link.reload(&old, &config, &renewed, &config.weights_at(now.datetime()));
    parts.calendar.reloaded(&config, &now);
    parts.notes.set_classes(config.classes.len(), &renewed);
    parts.unreached.reloaded(&old, &config);
    parts.destinations.refresh();
    take_names(parts, &old, &mut config);
    take_passwords(parts, &old, &mut config);
    take_helper(parts, &old, &mut config);
    take_log(parts, &old, &mut config);
    take_tls(parts, &old, &mut config);
    take_probe(parts, &old, &mut config);
    parts.settings.set(config);
    parts.quotas.reloaded(&parts.settings.config(), &renewed);
    // Their destinations may be denied now.
    parts.pool.clear();
}

/// The numbers of classes that something refers to: known users, accounts, or requests in flight.
struct UsedClasses<'a> {
    parts: &'a Parts,
    by_users: Vec<Vec<bool>>,
}

impl<'a> UsedClasses<'a> {
    fn of(parts: &'a Parts) -> Self {
        Self { parts, by_users: parts.link.dispatchers().map(Dispatcher::used_classes).collect() }
    }

    fn has(&self, class: usize) -> bool {
        self.by_users.iter().any(|used| used.get(class).is_some_and(|is_used| *is_used))
            || self.parts.quotas.has_account_of(class_id(class))
            || self.parts.notes.has_request_of(class_id(class))
    }
}

fn take_names(parts: &Parts, old: &Config, config: &mut Config) {
    let servers = &config.proxy.nameservers;
    // The system's may have changed.
    if servers == &old.proxy.nameservers && !servers.is_empty() {
        return;
    }
    match Names::new(servers) {
        Ok(names) => parts.destinations.set_names(names),
        Err(error) => {
            warn!("{error}: proxy.nameservers are unchanged");
            config.proxy.nameservers.clone_from(&old.proxy.nameservers);
        }
    }
}

fn take_passwords(parts: &Parts, old: &Config, config: &mut Config) {
    match read_passwords(config.access.passwords.as_deref()) {
        Ok(passwords) => parts.identities.set_passwords(passwords),
        Err(error) => {
            warn!("{error}: access.passwords and access.helper are unchanged");
            config.access.passwords.clone_from(&old.access.passwords);
            // The file may be meant to replace the helper: with neither, no client would have to authenticate.
            config.access.helper.clone_from(&old.access.helper);
        }
    }
}

fn take_tls(parts: &Parts, old: &Config, config: &mut Config) {
    if let Err(error) = parts.tls.reload(config.proxy.tls.as_ref()) {
        warn!("{error}: new connections go on with the certificate and the key that were read before");
        config.proxy.tls.clone_from(&old.proxy.tls);
    }
    if let Some(warning) = parts.tls.warning() {
        warn!("{warning}");
    }
}

fn take_helper(parts: &Parts, old: &Config, config: &mut Config) {
    if let Err(error) = parts.identities.set_helper(config.access.helper.clone()) {
        warn!("the system provides no random numbers: {error}: access.helper is unchanged");
        config.access.helper.clone_from(&old.access.helper);
    }
}

fn take_log(parts: &Parts, old: &Config, config: &mut Config) {
    if config.log == old.log {
        if let Some(log) = parts.notes.log() {
            log.reopen();
        }
        return;
    }
    match open_log(config.log.as_ref()) {
        Ok(log) => parts.notes.set_log(log),
        Err(error) => {
            warn!("{error}: it is unchanged");
            config.log.clone_from(&old.log);
        }
    }
}

fn take_probe(parts: &Parts, old: &Config, config: &mut Config) {
    if config.downlink.probe == old.downlink.probe {
        return;
    }
    if let Err(error) = probe::change(&parts.probes, &config.downlink.probe) {
        warn!("{error}: downlink.probe is unchanged");
        config.downlink.probe = old.downlink.probe.clone();
    }
}
