//! The usage of one quota in its current period, by user or class.
//!
//! A clock may be wrong: a small router boots in 1970 and learns the time from the network. So a period is not replaced by an
//! earlier one at once; usage is kept. Only if the clock shows the earlier time for an hour is it trusted, and the period
//! becomes the earlier one, again with the usage kept.
//!
//! The number of counters is limited. If one more is needed, a sixteenth of them is dropped, those with the least usage: to be
//! dropped on purpose, a user would need that many others with more usage each.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use jiff::{Timestamp, ZonedDateTime, civil::Date};

use super::counter::Counter;
use crate::config::{Beyond, Every, Per, Quota};

/// Maximum number of counters, of users or classes, per quota.
pub(super) const MAX_COUNTERS: usize = 65_536;
/// A clock that was put back is trusted after this many seconds.
const BELIEVED_S: u32 = 3_600;

/// A quota and its usage.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) quota: Quota,
    most: usize,
    is_free: Cell<bool>,
    // The first day of the period, when the next one begins, and for how many seconds the clock has shown an earlier time.
    period: Cell<Date>,
    ends: Cell<Timestamp>,
    earlier_s: Cell<u32>,
    counters: RefCell<HashMap<Arc<str>, Rc<Counter>>>,
    // The store has not been told of the period.
    is_renewed: Cell<bool>,
    // Dropped counters that the store has not been told of.
    forgotten: RefCell<Vec<Arc<str>>>,
    // Bytes counted since the start, by class number.
    counted: RefCell<Vec<u64>>,
}

/// A user's usage of a quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) quota: Arc<str>,
    pub(crate) every: Every,
    pub(crate) bytes: u64,
    pub(crate) used: u64,
    pub(crate) is_of_class: bool,
    pub(crate) is_free: bool,
    /// Whether users beyond it are refused; otherwise they get a smaller weight.
    pub(crate) refuses: bool,
    pub(crate) is_beyond: bool,
    /// When the next period begins, and when a user beyond the quota ceases to be.
    pub(crate) ends: Timestamp,
    pub(crate) until: Timestamp,
}

impl Tally {
    /// Starts with the stored usage, of which only the latest period counts.
    pub(super) fn new(quota: Quota, stored: &[(Arc<str>, Date, u64)], now: &ZonedDateTime) -> Self {
        let (begins, _) = quota.every.period(now.date());
        let period = stored.iter().map(|&(_, period, _)| period).fold(begins, Date::max);
        let of_period = stored.iter().filter(|(_, of, _)| *of == period);
        let counters = of_period.map(|(who, _, used)| (Arc::clone(who), Rc::new(Counter::stored(*used)))).collect();
        let tally = Self {
            quota,
            most: MAX_COUNTERS,
            is_free: Cell::new(false),
            period: Cell::new(period),
            ends: Cell::new(now.timestamp()),
            earlier_s: Cell::new(0),
            counters: RefCell::new(counters),
            // Rows of earlier periods may be left.
            is_renewed: Cell::new(true),
            forgotten: RefCell::default(),
            counted: RefCell::default(),
        };
        tally.goes_by(now);
        tally
    }

    /// The same quota with other limits, if its usage remains valid.
    pub(super) fn goes_on_as(&self, quota: Quota, now: &ZonedDateTime) -> Option<Self> {
        let is_same = self.quota.per == quota.per && self.quota.every == quota.every;
        is_same.then(|| {
            let tally = Self {
                quota,
                most: self.most,
                is_free: Cell::new(false),
                period: self.period.clone(),
                ends: self.ends.clone(),
                earlier_s: self.earlier_s.clone(),
                counters: RefCell::new(self.counters.borrow().clone()),
                is_renewed: self.is_renewed.clone(),
                forgotten: RefCell::new(self.forgotten.borrow().clone()),
                counted: self.counted.clone(),
            };
            tally.goes_by(now);
            tally
        })
    }

    /// Updates the time; to be called every second. Returns whether users' allowances may have changed: free hours began or
    /// ended, or a period did.
    pub(super) fn look(&self, now: &ZonedDateTime) -> bool {
        let (begins, _) = self.quota.every.period(now.date());
        let rolls = begins > self.period.get();
        if rolls {
            self.period.set(begins);
            self.renew();
            self.forgotten.borrow_mut().clear();
            self.counters.borrow_mut().retain(|_, counter| {
                counter.reset();
                Rc::strong_count(counter) > 1
            });
        }
        let earlier_s = if begins < self.period.get() { self.earlier_s.get() + 1 } else { 0 };
        self.earlier_s.set(earlier_s);
        if earlier_s > BELIEVED_S {
            self.period.set(begins);
            self.renew();
        }
        let was_free = self.is_free.get();
        self.goes_by(now);
        rolls || self.is_free.get() != was_free
    }

    fn goes_by(&self, now: &ZonedDateTime) {
        let (_, next) = self.quota.every.period(self.period.get());
        self.ends.set(Every::begins(next, now).timestamp());
        self.is_free.set(self.quota.free.as_ref().is_some_and(|free| free.contains(now.datetime())));
    }

    /// The counter under this name.
    pub(super) fn counter(&self, who: &str) -> Rc<Counter> {
        let mut counters = self.counters.borrow_mut();
        if let Some(counter) = counters.get(who) {
            return Rc::clone(counter);
        }
        if counters.len() >= self.most {
            self.forget_some(&mut counters);
        }
        let counter = Rc::<Counter>::default();
        counters.insert(who.into(), Rc::clone(&counter));
        counter
    }

    fn forget_some(&self, counters: &mut HashMap<Arc<str>, Rc<Counter>>) {
        let idle = counters.iter().filter(|(_, counter)| Rc::strong_count(counter) == 1);
        let mut used: Vec<_> = idle.map(|(who, counter)| (counter.used(), Arc::clone(who))).collect();
        let count = (self.most / 16).max(1).min(used.len());
        if count < used.len() {
            used.select_nth_unstable(count);
        }
        let mut forgotten = self.forgotten.borrow_mut();
        for (_, who) in used.drain(..count) {
            if counters.remove(&who).is_some_and(|counter| counter.is_in_store()) {
                forgotten.push(who);
            }
        }
    }

    /// Counts bytes. Returns whether that used up the quota.
    pub(super) fn count(&self, counter: &Counter, class: usize, bytes: u64) -> bool {
        if self.is_free.get() {
            return false;
        }
        let mut counted = self.counted.borrow_mut();
        if counted.len() <= class {
            counted.resize(class + 1, 0);
        }
        counted[class] += bytes;
        let before = counter.used();
        counter.add(bytes);
        before < self.quota.bytes && counter.used() >= self.quota.bytes
    }

    /// Whether a user is beyond the quota at the moment.
    pub(super) fn is_beyond(&self, counter: &Counter) -> bool {
        !self.is_free.get() && counter.used() >= self.quota.bytes
    }

    pub(super) const fn refuses(&self) -> bool {
        matches!(self.quota.beyond, Beyond::Refuse)
    }

    /// When a user beyond it ceases to be: with the next period, or in free hours.
    pub(super) fn until(&self, now: &ZonedDateTime) -> ZonedDateTime {
        let ends = self.ends.get().to_zoned_datetime(now.time_zone().clone());
        let free = self.quota.free.as_ref().filter(|_| !self.is_free.get()).and_then(|free| free.next_change(now));
        free.filter(|free| free.timestamp() < ends.timestamp()).unwrap_or(ends)
    }

    pub(super) fn of(&self, counter: &Counter, now: &ZonedDateTime) -> Use {
        Use {
            quota: Arc::clone(&self.quota.name),
            every: self.quota.every,
            bytes: self.quota.bytes,
            used: counter.used(),
            is_of_class: self.quota.per == Per::Class,
            is_free: self.is_free.get(),
            refuses: self.refuses(),
            is_beyond: self.is_beyond(counter),
            ends: self.ends.get(),
            until: self.until(now).timestamp(),
        }
    }

    pub(super) fn is_free(&self) -> bool {
        self.is_free.get()
    }

    pub(super) fn period(&self) -> Date {
        self.period.get()
    }

    pub(super) fn ends(&self) -> Timestamp {
        self.ends.get()
    }

    /// The number of counters, and how many of them are beyond the quota. O(counters).
    pub(super) fn known(&self) -> (usize, usize) {
        let counters = self.counters.borrow();
        let beyond = counters.values().filter(|counter| self.is_beyond(counter)).count();
        (counters.len(), beyond)
    }

    /// Bytes counted since the start, by class number.
    pub(super) fn counted(&self) -> Vec<u64> {
        self.counted.borrow().clone()
    }

    /// Other classes have these numbers now.
    pub(super) fn renew_classes(&self, renewed: &[usize]) {
        let mut counted = self.counted.borrow_mut();
        for (_, bytes) in counted.iter_mut().enumerate().filter(|(class, _)| renewed.contains(class)) {
            *bytes = 0;
        }
    }

    /// What has to be written to the store. O(counters).
    pub(super) fn unsent(&self) -> Vec<(Arc<str>, u64, Rc<Counter>)> {
        let counters = self.counters.borrow();
        let unsent =
            counters.iter().filter_map(|(who, counter)| Some((Arc::clone(who), counter.send()?, Rc::clone(counter))));
        unsent.collect()
    }

    /// Whether the period has to be written to the store.
    pub(super) fn take_renewed(&self) -> bool {
        self.is_renewed.take()
    }

    /// Marks the period to be written to the store.
    pub(super) fn renew(&self) {
        self.is_renewed.set(true);
    }

    /// Marks counters to be deleted from the store, unless they are used again.
    pub(super) fn forgets(&self, who: impl Iterator<Item = Arc<str>>) {
        self.forgotten.borrow_mut().extend(who);
    }

    /// Takes the counters to be deleted from the store.
    pub(super) fn take_forgotten(&self) -> Vec<Arc<str>> {
        self.forgotten.take()
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, ToSpan, ZonedDateTime};
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::config::Config;

    fn quota(keys: &str) -> Quota {
        let text = format!(
            "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n[[quota]]\nname = \"q\"\nbytes = 1000\n{keys}\n"
        );
        Config::parse(&text).expect("a configuration").quotas.remove(0)
    }

    fn at(text: &str) -> ZonedDateTime {
        format!("{text}[Europe/Berlin]").parse().expect("a time")
    }

    fn used(tally: &Tally, who: &str) -> u64 {
        tally.counter(who).used()
    }

    #[test]
    fn it_begins_anew_at_midnight_after_a_month_of_any_length() {
        let tally = Tally::new(quota("every = \"month\"\nstarts = 31"), &[], &at("2027-01-31T00:00:00"));
        let ann = tally.counter("ann");
        let ends = ["2027-02-28T00:00:00", "2027-03-31T00:00:00", "2027-04-30T00:00:00", "2027-05-31T00:00:00"];
        for end in ends.map(at) {
            assert_eq!(tally.ends(), end.timestamp());
            tally.count(&ann, 0, 1_000);
            assert!(tally.is_beyond(&ann));
            assert!(!tally.look(&end.checked_sub(1.second()).expect("a time")) && tally.is_beyond(&ann), "{end}");
            assert!(tally.look(&end) && !tally.is_beyond(&ann), "{end}");
            assert!(!tally.look(&end), "once");
        }
    }

    #[test]
    fn a_day_of_23_hours_is_one_and_so_is_one_of_25() {
        for (day, next) in [("2026-03-29", "2026-03-30"), ("2026-10-25", "2026-10-26")] {
            let mut now = at(&format!("{day}T00:00:00"));
            let tally = Tally::new(quota("every = \"day\""), &[], &now);
            tally.count(&tally.counter("ann"), 0, 1_000);
            let end = at(&format!("{next}T00:00:00"));
            while now.timestamp() < end.timestamp() {
                assert_eq!((tally.look(&now), used(&tally, "ann")), (false, 1_000), "{now}");
                now = now.checked_add(SignedDuration::from_mins(20)).expect("a time");
            }
            assert_eq!((tally.look(&now), used(&tally, "ann")), (true, 0), "{now}");
        }
    }

    #[test]
    fn a_clock_that_is_put_back_gives_nothing_back() {
        let tally = Tally::new(quota("every = \"day\""), &[], &at("2026-11-24T12:00:00"));
        tally.count(&tally.counter("ann"), 0, 700);
        let wrong = at("1970-01-01T01:00:00");
        for _ in 0..3_600 {
            assert!(!tally.look(&wrong));
        }
        assert_eq!((used(&tally, "ann"), tally.period()), (700, Date::constant(2026, 11, 24)));
        assert!(!tally.look(&at("2026-11-24T12:00:03")));
        assert_eq!(used(&tally, "ann"), 700, "it was wrong for less than an hour");
        // A clock that was wrong before and is right now.
        let tally = Tally::new(quota("every = \"day\""), &[], &at("2099-01-01T12:00:00"));
        tally.count(&tally.counter("ann"), 0, 700);
        let right = at("2026-11-24T12:00:00");
        for _ in 0..=3_600 {
            assert!(!tally.look(&right));
        }
        assert_eq!((used(&tally, "ann"), tally.period()), (700, Date::constant(2026, 11, 24)));
        assert!(tally.look(&at("2026-11-25T00:00:00")));
        assert_eq!(used(&tally, "ann"), 0);
    }

    #[test]
    fn nothing_counts_in_free_hours_and_no_user_is_beyond_it() {
        let tally = Tally::new(quota("every = \"day\"\nfree = \"20:00-22:00\""), &[], &at("2026-11-24T12:00:00"));
        let ann = tally.counter("ann");
        assert!(tally.count(&ann, 0, 1_000) && tally.is_beyond(&ann));
        assert_eq!(tally.until(&at("2026-11-24T12:00:00")), at("2026-11-24T20:00:00"), "free hours are earlier");
        assert!(tally.look(&at("2026-11-24T20:00:00")) && !tally.is_beyond(&ann));
        assert!(!tally.count(&ann, 0, 5_000));
        assert!(tally.look(&at("2026-11-24T22:00:00")) && tally.is_beyond(&ann));
        assert_eq!((ann.used(), tally.counted()), (1_000, vec![1_000]));
        assert_eq!(tally.until(&at("2026-11-24T22:00:00")), at("2026-11-25T00:00:00"));
    }

    #[test]
    fn to_be_forgotten_a_user_needs_as_many_others_who_use_more() {
        let now = at("2026-11-24T12:00:00");
        let tally = Tally { most: 160, ..Tally::new(quota(""), &[], &now) };
        tally.count(&tally.counter("heavy"), 0, 5_000);
        let in_flight = tally.counter("in flight");
        // Many names that use a little each.
        for number in 0..10_000 {
            tally.count(&tally.counter(&format!("other {number}")), 0, 10);
            assert!(tally.known().0 <= 160);
        }
        assert_eq!(used(&tally, "heavy"), 5_000);
        in_flight.add(7);
        assert_eq!(used(&tally, "in flight"), 7, "users with requests in flight are not forgotten");
    }

    #[test]
    fn the_store_is_told_to_forget_only_whom_it_has() {
        let now = at("2026-11-24T12:00:00");
        let stored = [("known".into(), Date::constant(2026, 11, 1), 1)];
        let tally = Tally { most: 16, ..Tally::new(quota(""), &stored, &now) };
        for number in 0..10_000 {
            tally.count(&tally.counter(&format!("other {number}")), 0, 10);
        }
        assert_eq!(tally.take_forgotten(), ["known".into()], "there may be no store to take the others' names");
    }

    #[test]
    fn what_is_kept_counts_on_if_it_is_of_the_period() {
        let now = at("2026-11-24T12:00:00");
        let (this, last) = (Date::constant(2026, 11, 1), Date::constant(2026, 10, 1));
        let stored = [("ann".into(), this, 300), ("bob".into(), last, 900)];
        let tally = Tally::new(quota(""), &stored, &now);
        assert_eq!((used(&tally, "ann"), used(&tally, "bob"), tally.known().0), (300, 0, 2));
        // Another limit keeps the usage, another kind starts from zero.
        let more = Quota { bytes: 200, ..quota("") };
        let goes_on = tally.goes_on_as(more, &now).expect("the same");
        assert!(goes_on.is_beyond(&goes_on.counter("ann")));
        assert!(tally.goes_on_as(quota("every = \"week\""), &now).is_none());
        assert!(tally.goes_on_as(Quota { per: Per::Class, ..quota("") }, &now).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Usage is the sum of what was counted on this day outside free hours, in local time.
        #[test]
        fn what_is_used_is_what_came_in_the_period(
            start in 1_774_000_000_i64..1_795_000_000,
            steps in vec((1..40_000_i64, 0..3_usize, 1..5_000_u64), 1..40),
        ) {
            let zone = jiff::tz::TimeZone::get("Europe/Berlin").expect("a zone");
            let mut now = Timestamp::from_second(start).expect("a time").to_zoned_datetime(zone.clone());
            let tally = Tally::new(quota("every = \"day\"\nfree = \"22:00-06:00\""), &[], &now);
            let who = ["ann", "bob", "cid"];
            let mut came: Vec<(ZonedDateTime, usize, u64)> = Vec::new();
            for (seconds, user, bytes) in steps {
                now = now.checked_add(SignedDuration::from_secs(seconds)).expect("a time");
                tally.look(&now);
                tally.count(&tally.counter(who[user]), 0, bytes);
                came.push((now.clone(), user, bytes));
                for (user, name) in who.iter().enumerate() {
                    let sum: u64 = came
                        .iter()
                        .filter(|(at, of, _)| *of == user && at.date() == now.date() && (6..22).contains(&at.hour()))
                        .map(|(_, _, bytes)| bytes)
                        .sum();
                    prop_assert_eq!(used(&tally, name), sum);
                }
            }
        }
    }
}
