//! What is known of users, each for as long as it is held.

use std::{
    cell::RefCell,
    collections::HashMap,
    ops::Deref,
    rc::{Rc, Weak},
};

use crate::who::Who;

/// Something for each user that is held, and for no other.
#[derive(Debug)]
pub(crate) struct PerUser<T>(RefCell<HashMap<Who, Weak<Of<T>>>>);

/// A user's. It is forgotten with its last holder.
#[derive(Debug)]
pub(crate) struct Of<T> {
    who: Who,
    what: T,
    all: Rc<PerUser<T>>,
}

impl<T> PerUser<T> {
    /// The user's, a new one if it is not held.
    pub(crate) fn of(self: &Rc<Self>, who: &Who, new: impl FnOnce() -> T) -> Rc<Of<T>> {
        let mut users = self.0.borrow_mut();
        if let Some(of) = users.get(who).and_then(Weak::upgrade) {
            return of;
        }
        let of = Rc::new(Of { who: who.clone(), what: new(), all: Rc::clone(self) });
        users.insert(who.clone(), Rc::downgrade(&of));
        of
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

impl<T> Default for PerUser<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T> Deref for Of<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.what
    }
}

impl<T> Drop for Of<T> {
    fn drop(&mut self) {
        self.all.0.borrow_mut().remove(&self.who);
    }
}
