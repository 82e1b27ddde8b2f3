//! What measures the far queue now, and whether it is answered.

use std::{cell::RefCell, rc::Rc, time::Instant};

use tokio::task::JoinHandle;

use super::health::Health;

/// The probe that is sent, if one is.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    health: RefCell<Option<Rc<Health>>>,
    tasks: RefCell<Vec<JoinHandle<()>>>,
}

impl Probing {
    /// Whether the configured probe is answered, if it is one that can be.
    pub(crate) fn is_up(&self) -> Option<bool> {
        self.health.borrow().as_ref().map(|health| !health.is_silent())
    }

    /// What is wrong with it.
    pub(crate) fn fault(&self) -> Option<String> {
        let health = self.health.borrow();
        health.as_ref().filter(|health| health.is_silent()).map(|health| health.fault(Instant::now()))
    }

    /// Ends it.
    pub(super) fn stop(&self) {
        self.tasks.take().iter().for_each(JoinHandle::abort);
        self.health.take();
    }

    /// These tasks send one, whose answers are noted there.
    pub(super) fn set(&self, health: Rc<Health>, tasks: Vec<JoinHandle<()>>) {
        *self.health.borrow_mut() = Some(health);
        *self.tasks.borrow_mut() = tasks;
    }
}
