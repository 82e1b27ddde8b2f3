//! A gateway that runs goes on with another configuration. What cannot be taken up stays as it was, and stderr has a line
//! for each such thing; the configuration that is kept is what the gateway does.

use std::rc::Rc;

use super::{Gateway, class_of};
use crate::{
    auth::Passwords, config::Config, counters::ClassCounters, headers::Via, log::Log, probe, resolve::Names,
    serve::class_id,
};

impl Gateway {
    /// Takes up what another configuration says, but what only a start can.
    pub(super) fn reload(self: &Rc<Self>, config: Config) {
        let old = self.config();
        let (mut config, kept) = config.reloaded(&old);
        for what in kept {
            eprintln!("dovetail: {what}");
        }
        let rate = config.downlink.goodput_bytes_per_s();
        if (rate - old.downlink.goodput_bytes_per_s()).abs() > 0.0 {
            self.desk.set_rate(rate);
            self.free.set_rate(rate);
        }
        if let (Some(desk), Some(uplink)) = (self.uplink.desk(), &config.uplink) {
            desk.set_rate(uplink.goodput_bytes_per_s());
        }
        self.take_classes(&config);
        self.own.refresh();
        *self.via.borrow_mut() = Via::new(&config.proxy.name);
        self.take_names(&old, &mut config);
        self.take_passwords(&old, &mut config);
        self.take_log(&old, &mut config);
        if config.downlink.probe != old.downlink.probe
            && let Err(error) = probe::change(self, &config.downlink.probe)
        {
            eprintln!("dovetail: {error}: downlink.probe stays as it was");
            config.downlink.probe = old.downlink.probe.clone();
        }
        *self.config.borrow_mut() = Rc::new(config);
        // Where they lead may be denied now.
        self.pool.clear();
    }

    fn take_classes(&self, config: &Config) {
        let known = self.classes.borrow().len();
        for desk in self.desks() {
            for (at, class) in config.classes.iter().enumerate() {
                if at < known {
                    desk.set_weight(class_id(at), class.weight);
                } else {
                    let _ = desk.add_class(class.weight);
                }
            }
            desk.reclassify(|who| class_of(config, who));
        }
        self.classes.borrow_mut().resize_with(config.classes.len().max(known), ClassCounters::default);
    }

    fn take_names(&self, old: &Config, config: &mut Config) {
        let servers = &config.proxy.nameservers;
        // The system's may be others than before.
        if servers == &old.proxy.nameservers && !servers.is_empty() {
            return;
        }
        match Names::new(servers) {
            Ok(names) => *self.names.borrow_mut() = Rc::new(names),
            Err(error) => {
                eprintln!("dovetail: {error}: proxy.nameservers stay as they were");
                config.proxy.nameservers.clone_from(&old.proxy.nameservers);
            }
        }
    }

    fn take_passwords(&self, old: &Config, config: &mut Config) {
        match config.access.passwords.as_deref().map(Passwords::read).transpose() {
            Ok(passwords) => *self.passwords.borrow_mut() = passwords.map(Rc::new),
            Err(error) => {
                eprintln!("dovetail: {error}: access.passwords stay as they were");
                config.access.passwords.clone_from(&old.access.passwords);
            }
        }
    }

    fn take_log(&self, old: &Config, config: &mut Config) {
        if config.log == old.log {
            if let Some(log) = &*self.log.borrow() {
                log.reopen();
            }
            return;
        }
        match config.log.as_ref().map(Log::open).transpose() {
            Ok(log) => *self.log.borrow_mut() = log.map(Rc::new),
            Err(error) => {
                let path = config.log.as_ref().map_or_else(String::new, |log| log.path.display().to_string());
                eprintln!("dovetail: the access log {path}: {error}: it stays as it was");
                config.log.clone_from(&old.log);
            }
        }
    }
}
