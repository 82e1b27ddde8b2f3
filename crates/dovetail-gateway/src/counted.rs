//! A counter of live values.

use std::{cell::Cell, rc::Rc};

/// Counts as one until dropped.
#[derive(Debug)]
pub(crate) struct Counted(Rc<Cell<usize>>);

impl Counted {
    pub(crate) fn new(all: &Rc<Cell<usize>>) -> Self {
        all.set(all.get() + 1);
        Self(Rc::clone(all))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
