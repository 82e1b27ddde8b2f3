//! What holds by the hour: the weights of classes that change with the time of day.
//!
//! The time is examined once a second, so a clock that is set and a machine that was asleep are noticed within a second. A
//! weight is set when that of the file changes, and only then: one that was set at the admin port holds until then.

use std::{cell::RefCell, rc::Rc};

use dovetail_sched::Weight;
use jiff::ZonedDateTime;
use tracing::info;

use super::{link::Link, settings::Settings};
use crate::config::Config;

/// Sets weights when their hours come.
#[derive(Debug)]
pub(crate) struct Calendar {
    settings: Rc<Settings>,
    link: Rc<Link>,
    /// The weights that were set last, by the classes' numbers.
    weights: RefCell<Vec<Weight>>,
}

impl Calendar {
    pub(crate) fn new(settings: &Rc<Settings>, link: &Rc<Link>) -> Self {
        let weights = settings.config().classes.iter().map(|class| class.weight).collect();
        Self { settings: Rc::clone(settings), link: Rc::clone(link), weights: RefCell::new(weights) }
    }

    /// Sets the weights that are others than before. O(classes) where none is.
    pub(crate) fn look(&self) {
        let config = self.settings.config();
        if config.classes.iter().all(|class| class.weights.is_empty()) {
            return;
        }
        let now = self.settings.now();
        let weights = config.weights_at(now.datetime());
        let before = self.weights.replace(weights.clone());
        for (class, (weight, _)) in weights.iter().zip(&before).enumerate().filter(|(_, (now, was))| now != was) {
            self.link.set_weight(class, *weight);
            let until = config.classes[class].next_weight(&now);
            let until = until.map_or(String::new(), |until| format!(" until {}", until.strftime("%a %H:%M")));
            info!("class {}: its weight is {}{until}", config.classes[class].name, weight.as_f64());
        }
    }

    /// The link has these weights now, of another configuration.
    pub(crate) fn reloaded(&self, config: &Config, now: &ZonedDateTime) {
        *self.weights.borrow_mut() = config.weights_at(now.datetime());
    }
}
