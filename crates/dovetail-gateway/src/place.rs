//! A request's place among those that are scheduled.

use dovetail_tower::Ticket;

use crate::who::Who;

/// Where a request waits, from its arrival to the end of its response.
pub(crate) type Place = Ticket<Who>;
