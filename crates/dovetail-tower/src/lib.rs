//! Requests scheduled by what their responses bring, in tokio programs.
//!
//! | module | what |
//! |---|---|
//! | [`dispatcher`] | the scheduler of [`dovetail_sched::request`] with a clock, users's names and wakers: what a gateway drives |
//! | [`schedule`] | a tower layer in front of any HTTP service, which takes a place at a dispatcher for each request |

pub mod dispatcher;
pub mod schedule;

pub use dispatcher::{Dispatcher, Ticket};
pub use schedule::{ScheduleLayer, Units};
