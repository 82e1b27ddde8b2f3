//! A request's ticket at the scheduler.

use dovetail_tower::Ticket;

use crate::who::Who;

/// A request's ticket, from its arrival to the end of its response.
pub(crate) type Place = Ticket<Who>;
