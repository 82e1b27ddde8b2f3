//! The minimum-service order arbiter (MOA): which class's request is next.

use alloc::vec::Vec;

use super::super::{Accounts, ClassId, Request, RequestId, UserId, accounts::slot_mut, lines::ClassLines};
use crate::{HeapKey, IndexedHeap, Weight};

/// Classes by received service. O(log n) for every event, n being the number of active classes.
#[derive(Debug)]
pub(super) struct Arbiter {
    accounts: Accounts,
    // Whether service is shared by users rather than by classes.
    by_users: bool,
    lines: ClassLines,
    // Service counters; those of idle classes are meaningless.
    services: Vec<f64>,
    active: IndexedHeap<ClassId, f64>,
    // Classes with a request waiting.
    next: IndexedHeap<ClassId, Rank>,
}

/// Least service first, then the most parts, compared in single precision.
#[derive(Debug, Clone, Copy)]
struct Rank {
    service: f64,
    parts: f32,
}

impl HeapKey for Rank {
    type Number = u128;
    #[inline]
    fn to_number(self) -> u128 {
        // The bits of positive numbers compare like the numbers, and those of their complements the other way round.
        u128::from(self.service.to_number()) << 32 | u128::from(!self.parts.to_bits())
    }
    #[inline]
    fn from_number(number: u128) -> Self {
        Self { service: f64::from_number((number >> 32) as u64), parts: f32::from_bits(!(number as u32)) }
    }
}

impl Arbiter {
    /// Whether a class has one part per active user.
    pub(super) const fn by_users(&self) -> bool {
        self.by_users
    }

    pub(super) fn new(by_users: bool) -> Self {
        Self {
            accounts: Accounts::default(),
            by_users,
            lines: ClassLines::default(),
            services: Vec::new(),
            active: IndexedHeap::new(),
            next: IndexedHeap::new(),
        }
    }

    pub(super) fn set_class(&mut self, class: ClassId, weight: Weight) {
        self.accounts.set_class(class, weight);
        self.rank(class);
    }

    /// O(requests of the user + log n).
    pub(super) fn set_user(&mut self, user: UserId, class: ClassId) {
        let Some(before) = self.accounts.set_user(user, class) else { return };
        if self.accounts.requests(user) == 0 {
            return;
        }
        self.lines.move_user(user, before, class);
        if self.accounts.active_users(before) == 0 {
            self.active.remove(before);
        }
        if self.accounts.active_users(class) == 1 {
            self.activate(class);
        }
        self.rank(before);
        self.rank(class);
    }

    pub(super) fn forget_user(&mut self, user: UserId) {
        self.accounts.forget_user(user);
    }

    pub(super) fn arrived(&mut self, request: &Request) {
        let Some(joined) = self.accounts.arrived(request.id, request.user) else { return };
        if joined.class_changed {
            self.activate(joined.class);
        }
        self.lines.push(request.id, joined.user, joined.class);
        self.rank(joined.class);
    }

    /// Takes out the next request.
    pub(super) fn release(&mut self) -> Option<RequestId> {
        let (class, _) = self.next.peek()?;
        let request = self.lines.first(class)?;
        let user = self.accounts.user(request)?;
        self.lines.remove(request, user, class);
        if self.lines.first(class).is_none() {
            self.next.remove(class);
        }
        Some(request)
    }

    /// The class of a request, if it was released.
    #[inline]
    pub(super) fn class_of_outstanding(&self, request: RequestId) -> Option<ClassId> {
        self.accounts.class(request).filter(|_| !self.lines.contains(request))
    }

    /// Adds units received for the class. An idle class's counter is set when it turns active.
    #[inline]
    pub(super) fn served(&mut self, class: ClassId, units: u64) {
        if self.active.contains(class) {
            let service = units as f64 / self.parts(class);
            self.services[class.0 as usize] += service;
            self.active.set(class, self.services[class.0 as usize]);
            self.rank(class);
        }
    }

    /// The request is over: returns whether it was outstanding, or `None` if there is none.
    pub(super) fn left(&mut self, request: RequestId) -> Option<bool> {
        let left = self.accounts.left(request)?;
        let was_waiting = self.lines.remove(request, left.user, left.class);
        if left.class_changed {
            self.active.remove(left.class);
        }
        if was_waiting || left.user_changed {
            self.rank(left.class);
        }
        Some(!was_waiting)
    }

    pub(super) fn waiting(&self) -> usize {
        self.lines.len()
    }

    /// The class starts with the least service of the active ones, 0 if it is alone.
    fn activate(&mut self, class: ClassId) {
        let service = self.active.peek().map_or(0.0, |(_, least)| least);
        *slot_mut(&mut self.services, class.0) = service;
        self.active.set(class, service);
    }

    /// Updates the class's place among those with a request waiting.
    #[inline]
    fn rank(&mut self, class: ClassId) {
        if self.lines.first(class).is_none() {
            return self.next.remove(class);
        }
        let service = self.services[class.0 as usize];
        self.next.set(class, Rank { service, parts: self.parts(class) as f32 });
    }

    /// The divisor of the class's service.
    #[inline]
    fn parts(&self, class: ClassId) -> f64 {
        let users = if self.by_users { self.accounts.active_users(class).max(1) } else { 1 };
        self.accounts.weight(class) * f64::from(users)
    }
}
