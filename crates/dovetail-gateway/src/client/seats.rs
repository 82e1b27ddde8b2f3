//! Counts the connections of clients, in total and each.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
};

use crate::who::Who;

/// Connections by client. A connection counts for as long as its [`Seat`] exists.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Cell<usize>,
    by_client: RefCell<HashMap<Who, usize>>,
}

#[derive(Debug)]
pub(crate) struct Seat {
    seats: Rc<Seats>,
    client: Who,
}

impl Seats {
    /// A seat for another connection, if there is one.
    pub(crate) fn take(self: &Rc<Self>, client: &Who, most: usize, most_a_client: usize) -> Option<Seat> {
        let mut by_client = self.by_client.borrow_mut();
        let mine = by_client.get(client).copied().unwrap_or(0);
        if self.taken.get() >= most || mine >= most_a_client {
            return None;
        }
        by_client.insert(client.clone(), mine + 1);
        self.taken.set(self.taken.get() + 1);
        Some(Seat { seats: Rc::clone(self), client: client.clone() })
    }

    pub(crate) const fn taken(&self) -> usize {
        self.taken.get()
    }
}

impl Seat {
    /// The number of connections of its client.
    pub(crate) fn of_client(&self) -> usize {
        self.seats.by_client.borrow().get(&self.client).copied().unwrap_or(0)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken.set(self.seats.taken.get() - 1);
        let mut by_client = self.seats.by_client.borrow_mut();
        if let Some(mine) = by_client.get_mut(&self.client) {
            *mine -= 1;
            if *mine == 0 {
                by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> Who {
        Who::Address([10, 0, 0, last].into())
    }

    #[test]
    fn a_client_has_as_many_seats_as_one_may_and_all_have_as_many_as_there_are() {
        let seats = Rc::<Seats>::default();
        let take = |last| seats.take(&client(last), 3, 2);
        let (first, second) = (take(1).expect("a seat"), take(1).expect("a seat"));
        assert_eq!((seats.taken(), first.of_client()), (2, 2));
        assert!(take(1).is_none(), "one more than a client may have");
        let third = take(2).expect("another client's");
        assert!(take(3).is_none(), "one more than there are");
        assert_eq!((seats.taken(), third.of_client()), (3, 1));
        drop(first);
        assert_eq!((seats.taken(), second.of_client()), (2, 1));
        assert!(take(3).is_some(), "what was given back is there for others");
    }

    #[test]
    fn clients_without_connections_are_forgotten() {
        let seats = Rc::<Seats>::default();
        drop((seats.take(&client(1), 9, 9), seats.take(&client(1), 9, 9), seats.take(&client(2), 9, 9)));
        assert_eq!((seats.taken(), seats.by_client.borrow().len()), (0, 0));
    }
}
