//! The current probe, and whether it is answered.

use std::{cell::RefCell, rc::Rc, time::Instant};

use tokio::task::JoinHandle;

use super::health::Health;

/// The probe in use, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    health: RefCell<Option<Rc<Health>>>,
    tasks: RefCell<Vec<JoinHandle<()>>>,
}

impl Probing {
    /// Whether the probe is answered; `None` if none is sent.
    pub(crate) fn is_up(&self) -> Option<bool> {
        self.health.borrow().as_ref().map(|health| !health.is_silent())
    }

    /// What is wrong with it, if it is silent.
    pub(crate) fn fault(&self) -> Option<String> {
        let health = self.health.borrow();
        health.as_ref().filter(|health| health.is_silent()).map(|health| health.fault(Instant::now()))
    }

    /// Stops the probe.
    pub(super) fn stop(&self) {
        self.tasks.take().iter().for_each(JoinHandle::abort);
        self.health.take();
    }

    /// Sets a probe that these tasks send and whose answers are recorded in `health`.
    pub(super) fn set(&self, health: Rc<Health>, tasks: Vec<JoinHandle<()>>) {
        *self.health.borrow_mut() = Some(health);
        *self.tasks.borrow_mut() = tasks;
    }
}
