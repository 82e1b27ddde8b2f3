//! The gateway's current configuration. A task that took it before a reload continues with the old one.

use std::{
    cell::{Cell, Ref, RefCell},
    rc::Rc,
};

use jiff::{SignedDuration, ZonedDateTime};

use crate::{config::Config, headers::Via};

/// hyper's minimum for a header.
const MIN_HEADER_BYTES: usize = 8192;

/// The configuration, and what is derived from it for each message.
#[derive(Debug)]
pub(crate) struct Settings {
    config: RefCell<Rc<Config>>,
    via: RefCell<Via>,
    // How far the time is shifted, for tests.
    ahead: Cell<SignedDuration>,
}

impl Settings {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            via: RefCell::new(Via::new(&config.proxy.name)),
            config: RefCell::new(Rc::new(config)),
            ahead: Cell::default(),
        }
    }

    /// The current configuration.
    pub(crate) fn config(&self) -> Rc<Config> {
        Rc::clone(&self.config.borrow())
    }

    /// The local time, in the system's zone.
    pub(crate) fn now(&self) -> ZonedDateTime {
        let now = ZonedDateTime::now();
        now.checked_add(self.ahead.get()).unwrap_or(now)
    }

    /// Shifts the time forwards or backwards.
    #[cfg(feature = "test-support")]
    pub(crate) fn set_ahead(&self, ahead: SignedDuration) {
        self.ahead.set(ahead);
    }

    /// Replaces the configuration.
    pub(crate) fn set(&self, config: Config) {
        *self.via.borrow_mut() = Via::new(&config.proxy.name);
        *self.config.borrow_mut() = Rc::new(config);
    }

    /// This gateway's entries in `Via`.
    pub(crate) fn via(&self) -> Ref<'_, Via> {
        self.via.borrow()
    }

    /// Maximum bytes and fields of a header.
    pub(crate) fn header_limits(&self) -> (usize, usize) {
        let config = self.config.borrow();
        (config.limits.header_bytes.max(MIN_HEADER_BYTES), config.limits.headers)
    }
}
