//! A user's quotas, as used by the tasks that serve their requests.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use dovetail_sched::request::ClassId;

use super::{
    book::{Book, Counting},
    tally::{Tally, Use},
};
use crate::{refusal::Refusal, who::Who};

/// The quotas of a user with requests in flight.
#[derive(Debug)]
pub(crate) struct Account {
    book: Rc<Book>,
    who: Who,
    // The user's own class, and the last one that they were moved to.
    class: ClassId,
    placed: Cell<ClassId>,
    counters: RefCell<Counters>,
}

/// The user's counters, as of this generation of quotas.
#[derive(Debug, Default)]
struct Counters {
    generation: u64,
    all: Vec<Counting>,
}

impl Account {
    pub(super) fn new(book: Rc<Book>, who: Who, class: ClassId) -> Self {
        Self { book, who, class, placed: Cell::new(class), counters: RefCell::default() }
    }

    pub(crate) const fn who(&self) -> &Who {
        &self.who
    }

    /// The class that the user is in, regardless of quotas.
    pub(crate) const fn own_class(&self) -> ClassId {
        self.class
    }

    /// Counts bytes downloaded for the user.
    pub(crate) fn came(&self, bytes: u64) {
        self.count(bytes, |_| true);
    }

    /// Counts bytes uploaded.
    pub(crate) fn went(&self, bytes: u64) {
        self.count(bytes, |tally| tally.quota.uploads);
    }

    fn count(&self, bytes: u64, counts: impl Fn(&Tally) -> bool) {
        let class = self.class.0 as usize;
        let mut is_over = false;
        for Counting { tally, counter, .. } in self.now().iter().filter(|counting| counts(&counting.tally)) {
            is_over |= tally.count(counter, class, bytes);
        }
        if is_over {
            self.place();
            // Other users of the class may share the quota.
            self.book.used_up.notify_one();
        }
    }

    /// Whether the user may transfer no more for now. Checked before each read of what is in flight.
    pub(crate) fn is_refused(&self) -> bool {
        self.now().iter().any(|Counting { tally, counter, .. }| tally.refuses() && tally.is_beyond(counter))
    }

    /// Why the user may transfer no more, if so: the quota that is renewed last.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        if !self.is_refused() {
            return None;
        }
        let all = self.now();
        let beyond = all.iter().filter(|Counting { tally, counter, .. }| tally.refuses() && tally.is_beyond(counter));
        let now = self.book.now();
        let (tally, until) = beyond
            .map(|Counting { tally, .. }| (tally, tally.until(&now)))
            .max_by_key(|(_, until)| until.timestamp())?;
        Some(Refusal::quota(&tally.quota, &now, &until))
    }

    /// The class that the user's requests are scheduled in: their own, or that of those beyond a quota.
    pub(crate) fn class(&self) -> ClassId {
        let all = self.now();
        let beyond = all.iter().filter(|Counting { tally, counter, .. }| tally.is_beyond(counter));
        let least = beyond
            .filter_map(|counting| counting.beyond)
            .min_by(|(one, _), (other, _)| one.as_f64().total_cmp(&other.as_f64()));
        let class = least.map_or(self.class, |(_, class)| class);
        self.placed.set(class);
        class
    }

    /// Moves the user to the right class if that has changed.
    pub(super) fn place(&self) {
        let before = self.placed.get();
        let class = self.class();
        if class != before {
            self.book.link().place(&self.who, class);
        }
    }

    /// Moves the user to the right class if that is not their own, after all users were put into their own.
    pub(super) fn place_again(&self) {
        let class = self.class();
        if class != self.class {
            self.book.link().place(&self.who, class);
        }
    }

    /// The user's usage of each quota.
    pub(crate) fn uses(&self) -> Vec<Use> {
        let now = self.book.now();
        self.now().iter().map(|Counting { tally, counter, .. }| tally.of(counter, &now)).collect()
    }

    /// The counters, looked up again if the quotas have changed.
    fn now(&self) -> std::cell::Ref<'_, Vec<Counting>> {
        let generation = self.book.generation();
        if self.counters.borrow().generation != generation {
            let all = self.book.counters(&self.who, self.class);
            *self.counters.borrow_mut() = Counters { generation, all };
        }
        std::cell::Ref::map(self.counters.borrow(), |counters| &counters.all)
    }
}
