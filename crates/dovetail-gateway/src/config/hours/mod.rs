//! Hours of the week, such as `"Mon-Fri 08:00-18:00"` or `"22:00-06:00"`, in local time.
//!
//! They are what a clock on the wall shows, minute by minute: an instant is in them if the local time at that instant is. So
//! where clocks are put forward, what is skipped does not happen, and where they are put back, what is shown twice happens
//! twice; hours that merely span such a moment are an hour shorter or longer. Days are those on which a span begins: `"Fri
//! 22:00-06:00"` ends on Saturday. The end is not part of a span.

mod change;
mod read;
mod week;

pub(super) use self::read::{day, hours};
pub use self::week::Hours;
