//! A user's quotas, as those have them who serve the user's requests.

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

/// What counts for a user with requests in flight.
#[derive(Debug)]
pub(crate) struct Account {
    book: Rc<Book>,
    who: Who,
    // The user's own class, and the one that they were put into last.
    class: ClassId,
    placed: Cell<ClassId>,
    counters: RefCell<Counters>,
}

/// The user's counters, as they were in this generation of quotas.
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

    /// The class that the user is in, quotas aside.
    pub(crate) const fn own_class(&self) -> ClassId {
        self.class
    }

    /// This many bytes came down for the user.
    pub(crate) fn came(&self, bytes: u64) {
        self.count(bytes, |_| true);
    }

    /// This many bytes went up.
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
            // Others of the class may have the quota together.
            self.book.used_up.notify_one();
        }
    }

    /// Whether the user may have no more for now. What is in flight is asked before each read.
    pub(crate) fn is_refused(&self) -> bool {
        self.now().iter().any(|Counting { tally, counter, .. }| tally.refuses() && tally.is_beyond(counter))
    }

    /// Why the user may have no more, if that is so: the quota that is renewed last.
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

    /// The class that the user's requests are scheduled in now: their own, or that of those beyond a quota.
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

    /// Has the user scheduled in the right class, if that is another than before.
    pub(super) fn place(&self) {
        let before = self.placed.get();
        let class = self.class();
        if class != before {
            self.book.link().place(&self.who, class);
        }
    }

    /// Has the user scheduled in the right class, if that is not their own: all users were put into their own.
    pub(super) fn place_again(&self) {
        let class = self.class();
        if class != self.class {
            self.book.link().place(&self.who, class);
        }
    }

    /// What the user has used of each quota.
    pub(crate) fn uses(&self) -> Vec<Use> {
        let now = self.book.now();
        self.now().iter().map(|Counting { tally, counter, .. }| tally.of(counter, &now)).collect()
    }

    /// The counters, looked up again where quotas are others than before.
    fn now(&self) -> std::cell::Ref<'_, Vec<Counting>> {
        let generation = self.book.generation();
        if self.counters.borrow().generation != generation {
            let all = self.book.counters(&self.who, self.class);
            *self.counters.borrow_mut() = Counters { generation, all };
        }
        std::cell::Ref::map(self.counters.borrow(), |counters| &counters.all)
    }
}
