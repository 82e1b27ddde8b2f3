//! The current quotas and their usage, for accounts to look up.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use dovetail_sched::{Weight, request::ClassId};
use jiff::ZonedDateTime;
use tokio::sync::Notify;

use super::{counter::Counter, tally::Tally};
use crate::{
    class::class_id,
    config::{Beyond, Per},
    state::{Link, Settings},
    who::Who,
};

/// All quotas.
#[derive(Debug)]
pub(super) struct Book {
    settings: Rc<Settings>,
    link: Rc<Link>,
    tallies: RefCell<Vec<Rc<Tally>>>,
    // Incremented when quotas change: counters must be looked up again.
    generation: Cell<u64>,
    /// Notified when a quota has been used up.
    pub(super) used_up: Notify,
}

/// A counter, and the class of those beyond its quota if they are not refused.
#[derive(Debug)]
pub(super) struct Counting {
    pub(super) tally: Rc<Tally>,
    pub(super) counter: Rc<Counter>,
    pub(super) beyond: Option<(Weight, ClassId)>,
}

impl Book {
    pub(super) fn new(settings: &Rc<Settings>, link: &Rc<Link>, tallies: Vec<Rc<Tally>>) -> Self {
        let (settings, link) = (Rc::clone(settings), Rc::clone(link));
        Self { settings, link, tallies: RefCell::new(tallies), generation: Cell::new(1), used_up: Notify::new() }
    }

    /// Replaces all quotas.
    pub(super) fn replace(&self, tallies: Vec<Rc<Tally>>) {
        self.tallies.replace(tallies);
        self.generation.set(self.generation.get() + 1);
    }

    /// The counters that apply to a user of a class.
    pub(super) fn counters(&self, who: &Who, class: ClassId) -> Vec<Counting> {
        let config = self.settings.config();
        let Some(class) = config.classes.get(class.0 as usize) else { return Vec::new() };
        let tallies = self.tallies.borrow();
        let own = tallies.iter().filter(|tally| tally.quota.is_for(&class.name));
        let counting = own.map(|tally| {
            let counter = tally.counter(&match tally.quota.per {
                Per::User => user_key(who),
                Per::Class => format!("class {}", class.name),
            });
            let beyond = match tally.quota.beyond {
                Beyond::Refuse => None,
                Beyond::Weight(weight) => config
                    .classes
                    .iter()
                    .position(|class| class.beyond.as_ref() == Some(&tally.quota.name))
                    .map(|class| (weight, class_id(class))),
            };
            Counting { tally: Rc::clone(tally), counter, beyond }
        });
        counting.collect()
    }

    pub(super) fn tallies(&self) -> Vec<Rc<Tally>> {
        self.tallies.borrow().clone()
    }

    pub(super) const fn generation(&self) -> u64 {
        self.generation.get()
    }

    pub(super) fn now(&self) -> ZonedDateTime {
        self.settings.now()
    }

    pub(super) const fn settings(&self) -> &Rc<Settings> {
        &self.settings
    }

    pub(super) const fn link(&self) -> &Rc<Link> {
        &self.link
    }
}

/// The key of a user's usage: names cannot be mistaken for addresses.
fn user_key(who: &Who) -> String {
    match who {
        Who::Name(name) => format!("name {name}"),
        Who::Address(address) => format!("address {address}"),
        Who::Network(network) => format!("network {network}"),
        Who::Group(name) => format!("group {name}"),
        Who::Towards(who, _) => user_key(who),
    }
}
