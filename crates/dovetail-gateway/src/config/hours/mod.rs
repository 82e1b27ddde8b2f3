//! Hours of the week, such as `"Mon-Fri 08:00-18:00"` or `"22:00-06:00"`, in local time.
//!
//! They apply to local time, minute by minute: an instant is included if the local time at that instant is. So when clocks are
//! put forward, skipped times do not occur, and when they are put back, repeated times occur twice; hours that merely span such
//! a moment are an hour shorter or longer. Days are those on which a span begins: `"Fri 22:00-06:00"` ends on Saturday. The end
//! is not part of a span.

mod change;
mod named;
mod read;
mod week;

pub(super) use self::read::{day, hours};
pub use self::week::Hours;
