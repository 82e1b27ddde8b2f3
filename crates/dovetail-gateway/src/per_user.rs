//! State per user, kept for as long as it is in use.

use std::{
    cell::RefCell,
    collections::HashMap,
    ops::Deref,
    rc::{Rc, Weak},
};

use crate::who::Who;

/// A value for each user for whom one is in use.
#[derive(Debug)]
pub(crate) struct PerUser<T>(RefCell<HashMap<Who, Weak<Of<T>>>>);

/// A user's value, removed when its last reference is dropped.
#[derive(Debug)]
pub(crate) struct Of<T> {
    who: Who,
    what: T,
    all: Rc<PerUser<T>>,
}

impl<T> PerUser<T> {
    /// The user's value, created if there is none.
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
