//! The gateway's current configuration. A task that took it before a reload continues with the old one.

use std::{
    cell::{Ref, RefCell},
    rc::Rc,
};

use crate::{config::Config, headers::Via};

/// hyper takes no less for a header.
const LEAST_HEADER_BYTES: usize = 8192;

/// The configuration, and what is made of it for each message.
#[derive(Debug)]
pub(crate) struct Settings {
    config: RefCell<Rc<Config>>,
    via: RefCell<Via>,
}

impl Settings {
    pub(crate) fn new(config: Config) -> Self {
        Self { via: RefCell::new(Via::new(&config.proxy.name)), config: RefCell::new(Rc::new(config)) }
    }

    /// The configuration as it is now.
    pub(crate) fn config(&self) -> Rc<Config> {
        Rc::clone(&self.config.borrow())
    }

    /// Goes by another from now on.
    pub(crate) fn set(&self, config: Config) {
        *self.via.borrow_mut() = Via::new(&config.proxy.name);
        *self.config.borrow_mut() = Rc::new(config);
    }

    /// What `Via` says of this gateway.
    pub(crate) fn via(&self) -> Ref<'_, Via> {
        self.via.borrow()
    }

    /// The most bytes and the most fields of a header.
    pub(crate) fn header_limits(&self) -> (usize, usize) {
        let config = self.config.borrow();
        (config.limits.header_bytes.max(LEAST_HEADER_BYTES), config.limits.headers)
    }
}
