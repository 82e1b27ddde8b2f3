//! Requests scheduled by what their responses bring, in tokio programs.
//!
//! | module | what |
//! |---|---|
//! | [`desk`] | the scheduler of [`dovetail_sched::request`] with a clock, people's names and wakers: what a gateway drives |
//! | [`schedule`] | a tower layer in front of any HTTP service, which takes a place at a desk for each request |

pub mod desk;
pub mod schedule;

pub use desk::{Desk, Ticket};
pub use schedule::{ScheduleLayer, Units};
