//! Which class users belong to, and which users are active.
//!
//! A user is *active* while a request of theirs is waiting or outstanding. Shares are by users: a class of weight `w` with `u`
//! active users has `w * u` parts. So the count must be exact whatever happens to requests: it changes only when a user's
//! number of requests leaves or reaches zero, and moves with the user between classes.

use alloc::vec::Vec;

use super::{ClassId, RequestId, UserId};
use crate::Weight;

/// Requests, users and classes, and their counts. O(1) for every event.
#[derive(Debug, Default)]
pub struct Accounts {
    classes: Vec<Class>,
    users: Vec<User>,
    // The user of each request; `None` for free ids.
    requests: Vec<Option<UserId>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    weight: Weight,
    known: bool,
    active_users: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct User {
    class: Option<ClassId>,
    requests: u32,
}

/// The effects of a request's arrival or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// The request's user.
    pub user: UserId,
    /// The user's class.
    pub class: ClassId,
    /// Whether the user became active or idle with it.
    pub user_changed: bool,
    /// Whether the whole class did.
    pub class_changed: bool,
}

impl Accounts {
    /// Sets the class's weight from now on.
    pub fn set_class(&mut self, class: ClassId, weight: Weight) {
        let account = slot_mut(&mut self.classes, class.0);
        account.weight = weight;
        account.known = true;
    }

    /// Moves the user with all their requests to this class. Returns the previous class, if it was another. Does nothing if
    /// there is no such class.
    pub fn set_user(&mut self, user: UserId, class: ClassId) -> Option<ClassId> {
        if !self.is_known(class) {
            return None;
        }
        let account = slot_mut(&mut self.users, user.0);
        let before = account.class.replace(class).filter(|&before| before != class)?;
        if account.requests > 0 {
            self.classes[before.0 as usize].active_users -= 1;
            self.classes[class.0 as usize].active_users += 1;
        }
        Some(before)
    }

    /// Forgets the user; returns false if they have requests and so stay.
    pub fn forget_user(&mut self, user: UserId) -> bool {
        let idle = self.users.get_mut(user.0 as usize).filter(|account| account.requests == 0);
        idle.is_some_and(|account| account.class.take().is_some())
    }

    /// Begins to count a request. `None` if its user has no class or the id is taken.
    pub fn arrived(&mut self, request: RequestId, user: UserId) -> Option<Left> {
        let account = self.users.get_mut(user.0 as usize)?;
        let class = account.class?;
        let of = slot_mut(&mut self.requests, request.0);
        if of.is_some() {
            return None;
        }
        *of = Some(user);
        account.requests += 1;
        let user_changed = account.requests == 1;
        let active = &mut self.classes[class.0 as usize].active_users;
        *active += u32::from(user_changed);
        Some(Left { user, class, user_changed, class_changed: user_changed && *active == 1 })
    }

    /// Stops counting a request. `None` if there is none with this id.
    pub fn left(&mut self, request: RequestId) -> Option<Left> {
        let user = self.requests.get_mut(request.0 as usize)?.take()?;
        let account = &mut self.users[user.0 as usize];
        let class = account.class?;
        account.requests -= 1;
        let user_changed = account.requests == 0;
        let active = &mut self.classes[class.0 as usize].active_users;
        *active -= u32::from(user_changed);
        Some(Left { user, class, user_changed, class_changed: user_changed && *active == 0 })
    }

    /// The user of a request.
    #[inline]
    #[must_use]
    pub fn user(&self, request: RequestId) -> Option<UserId> {
        *self.requests.get(request.0 as usize)?
    }

    /// The class of a user.
    #[inline]
    #[must_use]
    pub fn class_of(&self, user: UserId) -> Option<ClassId> {
        self.users.get(user.0 as usize)?.class
    }

    /// The class of a request.
    #[inline]
    #[must_use]
    pub fn class(&self, request: RequestId) -> Option<ClassId> {
        self.class_of(self.user(request)?)
    }

    /// Whether the class has been configured.
    #[inline]
    #[must_use]
    pub fn is_known(&self, class: ClassId) -> bool {
        self.classes.get(class.0 as usize).is_some_and(|account| account.known)
    }

    /// The class's weight; 1 for a class that was never configured.
    #[inline]
    #[must_use]
    pub fn weight(&self, class: ClassId) -> f64 {
        self.classes.get(class.0 as usize).map_or(1.0, |account| account.weight.as_f64())
    }

    /// The number of the class's users with a request waiting or outstanding.
    #[inline]
    #[must_use]
    pub fn active_users(&self, class: ClassId) -> u32 {
        self.classes.get(class.0 as usize).map_or(0, |account| account.active_users)
    }

    /// The number of the user's requests waiting or outstanding.
    #[inline]
    #[must_use]
    pub fn requests(&self, user: UserId) -> u32 {
        self.users.get(user.0 as usize).map_or(0, |account| account.requests)
    }
}

/// The entry at `index`, added if there is none.
pub(super) fn slot_mut<T: Default>(table: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if index >= table.len() {
        table.resize_with(index + 1, T::default);
    }
    &mut table[index]
}
