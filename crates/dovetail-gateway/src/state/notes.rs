//! Records finished requests: counts by class, and lines in the access log.

use std::{
    cell::{Ref, RefCell},
    rc::Rc,
};

use dovetail_sched::request::ClassId;

use super::settings::Settings;
use crate::{config::Config, counters::ClassCounters, log::Log};

/// Where records go.
#[derive(Debug)]
pub(crate) struct Notes {
    settings: Rc<Settings>,
    classes: RefCell<Vec<Rc<ClassCounters>>>,
    log: RefCell<Option<Rc<Log>>>,
}

impl Notes {
    pub(crate) fn new(settings: Rc<Settings>, log: Option<Log>) -> Self {
        let classes = settings.config().classes.iter().map(|_| Rc::default()).collect();
        Self { settings, classes: RefCell::new(classes), log: RefCell::new(log.map(Rc::new)) }
    }

    /// The current configuration, which has the names of classes.
    pub(crate) fn config(&self) -> Rc<Config> {
        self.settings.config()
    }

    /// Sets the number of classes, which never decreases. The counters of renewed ones begin at zero.
    pub(crate) fn set_classes(&self, count: usize, renewed: &[usize]) {
        let mut classes = self.classes.borrow_mut();
        classes.resize_with(count, Rc::default);
        renewed.iter().for_each(|&class| classes[class] = Rc::default());
    }

    /// Whether a request in flight will be counted in the class.
    pub(crate) fn has_request_of(&self, class: ClassId) -> bool {
        self.classes.borrow().get(class.0 as usize).is_some_and(|counters| Rc::strong_count(counters) > 1)
    }

    /// Replaces the log, or removes it.
    pub(crate) fn set_log(&self, log: Option<Log>) {
        *self.log.borrow_mut() = log.map(Rc::new);
    }

    pub(crate) fn classes(&self) -> Ref<'_, Vec<Rc<ClassCounters>>> {
        self.classes.borrow()
    }

    /// A class's counters, which are in use as long as they are held.
    pub(crate) fn of_class(&self, class: ClassId) -> Rc<ClassCounters> {
        self.classes.borrow().get(class.0 as usize).cloned().unwrap_or_default()
    }

    pub(crate) fn log(&self) -> Option<Rc<Log>> {
        self.log.borrow().clone()
    }

    /// Lines of the access log that were dropped.
    pub(crate) fn log_lost(&self) -> u64 {
        self.log.borrow().as_ref().map_or(0, |log| log.lost())
    }
}
