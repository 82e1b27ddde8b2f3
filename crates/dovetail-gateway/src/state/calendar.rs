//! Applies settings that depend on the time: weights of classes.
//!
//! The time is checked once a second, so a changed clock or a resumed machine is noticed within a second. A weight is set only
//! when that of the file changes: one that was set at the admin port remains until then.

use std::{cell::RefCell, rc::Rc};

use dovetail_sched::Weight;
use jiff::ZonedDateTime;
use tracing::info;

use super::{link::Link, settings::Settings};
use crate::config::Config;

/// Sets weights at their hours.
#[derive(Debug)]
pub(crate) struct Calendar {
    settings: Rc<Settings>,
    link: Rc<Link>,
    /// The weights last set, by class number.
    weights: RefCell<Vec<Weight>>,
}

impl Calendar {
    pub(crate) fn new(settings: &Rc<Settings>, link: &Rc<Link>) -> Self {
        let weights = settings.config().classes.iter().map(|class| class.weight).collect();
        Self { settings: Rc::clone(settings), link: Rc::clone(link), weights: RefCell::new(weights) }
    }

    /// Sets the weights that have changed. O(classes) if none has.
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

    /// Takes the link's weights after a reload.
    pub(crate) fn reloaded(&self, config: &Config, now: &ZonedDateTime) {
        *self.weights.borrow_mut() = config.weights_at(now.datetime());
    }
}
