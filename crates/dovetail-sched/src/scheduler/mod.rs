//! The traits that an environment drives, and the types of their arguments and results.

mod admission;
mod boxed;
mod contract;
mod feedback;
mod forward;
mod packet;
mod peekable;

pub use admission::{Admission, DropReason};
pub use contract::{LaterStages, Learning, Scheduler};
pub use feedback::{Feedback, Interest, Stage};
pub use packet::{Backlog, Dispatch, Packet};
pub use peekable::Peekable;
