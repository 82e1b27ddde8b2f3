//! Schedules requests by the size of their responses, in tokio programs.
//!
//! | module | what |
//! |---|---|
//! | [`dispatcher`] | the scheduler of [`dovetail_sched::request`] with a clock, named users and wakers, as used by the gateway |
//! | [`schedule`] | a tower layer for any HTTP service that queues each request at a dispatcher |

pub mod dispatcher;
pub mod schedule;

pub use dispatcher::{Dispatcher, Ticket};
pub use schedule::{ScheduleLayer, Units};
