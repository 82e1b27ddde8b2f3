//! Limits connections by the number of descriptors, of which each takes one.

use std::{
    cell::Cell,
    io,
    rc::Rc,
    time::{Duration, Instant},
};

use tracing::warn;

use crate::{
    client::Seats,
    counted::Counted,
    counters::{Counters, add},
    descriptors::{Descriptors, is_exhausted},
    upstream::Pool,
    watch::Watch,
};

/// Minimum interval between warnings that there are no descriptors.
const APART: Duration = Duration::from_secs(60);

/// The users of descriptors, and their limit.
#[derive(Debug)]
pub(crate) struct Room {
    descriptors: Descriptors,
    seats: Rc<Seats>,
    watch: Rc<Watch>,
    pool: Rc<Pool>,
    counters: Rc<Counters>,
    places: Rc<Cell<usize>>,
    // When the last warning was logged.
    last_exhausted: Cell<Option<Instant>>,
}

impl Room {
    pub(crate) fn new(
        descriptors: Descriptors,
        (seats, watch): (&Rc<Seats>, &Rc<Watch>),
        pool: &Rc<Pool>,
        counters: &Rc<Counters>,
    ) -> Self {
        let (seats, watch) = (Rc::clone(seats), Rc::clone(watch));
        let (pool, counters) = (Rc::clone(pool), Rc::clone(counters));
        Self { descriptors, seats, watch, pool, counters, places: Rc::default(), last_exhausted: Cell::default() }
    }

    /// The number of client connections for which there are descriptors.
    pub(crate) fn clients(&self) -> usize {
        self.descriptors.clients()
    }

    /// Whether there are descriptors for another connection. Idle connections are closed if necessary.
    pub(crate) fn is_there(&self) -> bool {
        self.leaves(0)
    }

    /// A slot for a connection that is being made and belongs to nothing in flight yet.
    pub(crate) fn place(&self) -> Option<Counted> {
        self.takes(0)
    }

    /// A slot for a connection attempted in parallel with another, if that leaves a quarter of all descriptors free.
    pub(crate) fn beside(&self) -> Option<Counted> {
        self.takes(self.descriptors.for_connections() / 4)
    }

    fn takes(&self, free: usize) -> Option<Counted> {
        let place = Counted::new(&self.places);
        self.leaves(free).then_some(place)
    }

    /// Whether this many descriptors are left besides those in use.
    fn leaves(&self, free: usize) -> bool {
        let busy = self.seats.taken() + self.watch.live() + self.places.get();
        let most = self.descriptors.for_connections();
        let are_left = busy + free <= most;
        // A slot that is refused and optional must not close reusable connections.
        if busy + self.pool.len() > most && (are_left || free == 0) {
            self.pool.clear();
        }
        are_left
    }

    /// Handles a failed accept: if descriptors are exhausted, logs that at most once a minute.
    pub(crate) fn could_not_accept(&self, error: &io::Error) {
        if !is_exhausted(error) {
            return;
        }
        add(&self.counters.accepts_failed, 1);
        self.pool.clear();
        let now = Instant::now();
        if self.last_exhausted.get().is_none_or(|last| now - last >= APART) {
            self.last_exhausted.set(Some(now));
            warn!("cannot accept a connection: {error}: raise the limit of open files or lower limits.connections");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Phase;

    #[test]
    fn there_is_room_while_clients_and_what_is_in_flight_leave_some() {
        let (seats, watch) = (Rc::<Seats>::default(), Rc::<Watch>::default());
        let descriptors = Descriptors::of(256).expect("enough");
        let room = Room::new(descriptors, (&seats, &watch), &Rc::default(), &Rc::default());
        assert_eq!((room.clients(), descriptors.for_connections()), (64, 128));
        let client = crate::who::Who::Address([10, 0, 0, 1].into());
        let taken: Vec<_> = (0..64).map_while(|_| seats.take(&client, 1_000, 1_000)).collect();
        let mut in_flight: Vec<_> = (0..64).map(|_| watch.begin(Phase::Transfer, None)).collect();
        assert!(taken.len() == 64 && room.is_there());
        in_flight.push(watch.begin(Phase::Transfer, None));
        assert!(!room.is_there());
        drop(taken);
        assert!(room.is_there());
    }

    #[test]
    fn connections_that_are_being_made_have_places() {
        let descriptors = Descriptors::of(256).expect("enough");
        let watch = Rc::<Watch>::default();
        let room = Room::new(descriptors, (&Rc::default(), &watch), &Rc::default(), &Rc::default());
        let in_flight: Vec<_> = (0..90).map(|_| watch.begin(Phase::Transfer, None)).collect();
        let beside: Vec<_> = std::iter::from_fn(|| room.beside()).take(1_000).collect();
        assert_eq!(beside.len(), 6, "a quarter of 128 stays for others");
        let places: Vec<_> = std::iter::from_fn(|| room.place()).take(1_000).collect();
        assert_eq!((places.len(), room.is_there()), (32, true));
        let one_more = watch.begin(Phase::Transfer, None);
        assert!(!room.is_there() && room.place().is_none());
        drop((in_flight, one_more));
        assert_eq!((room.places.get(), room.beside().is_some()), (38, true));
        drop((beside, places));
        assert_eq!(room.places.get(), 0);
    }

    #[test]
    fn accepts_that_failed_for_want_of_descriptors_are_counted() {
        let counters = Rc::<Counters>::default();
        let descriptors = Descriptors::of(256).expect("enough");
        let room = Room::new(descriptors, (&Rc::default(), &Rc::default()), &Rc::default(), &counters);
        room.could_not_accept(&io::ErrorKind::ConnectionAborted.into());
        assert_eq!(counters.accepts_failed.get(), 0, "a client that is gone already");
        room.could_not_accept(&io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error()));
        assert_eq!(counters.accepts_failed.get(), 1);
        assert!(room.last_exhausted.get().is_some());
    }
}
