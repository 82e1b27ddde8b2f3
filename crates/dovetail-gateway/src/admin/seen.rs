//! The admin port's view of the gateway.

use std::rc::Rc;

use crate::{
    client::Seats,
    counters::Counters,
    probe::Probing,
    quota::Quotas,
    state::{Link, Notes, Settings},
    upstream::Pool,
    ways::Unreached,
};

/// The parts of the gateway that are shown. Of these only the link is changed: its weights.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) settings: Rc<Settings>,
    pub(crate) link: Rc<Link>,
    pub(crate) notes: Rc<Notes>,
    pub(crate) quotas: Rc<Quotas>,
    pub(crate) counters: Rc<Counters>,
    pub(crate) seats: Rc<Seats>,
    pub(crate) pool: Rc<Pool>,
    pub(crate) probing: Rc<Probing>,
    pub(crate) unreached: Rc<Unreached>,
}
