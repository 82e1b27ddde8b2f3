//! What a gateway drives.

use core::fmt;

use super::{
    far::FarDelay,
    model::{ClassId, Request, RequestId, Turn, UserId},
};
use crate::{Knobs, Nanos, PolicyError, Weight};

/// Decides which request is released next and which response may go on.
pub trait RequestScheduler: fmt::Debug + Send {
    /// A class appears, or its weight changes.
    fn set_class(&mut self, class: ClassId, weight: Weight, now: Nanos);

    /// A user appears, or moves to another class with all its requests. Classes and users come before what refers to
    /// them; a request of a user that was never placed is ignored.
    fn set_user(&mut self, user: UserId, class: ClassId, now: Nanos);

    /// The user's id is free. Ignored while a request of theirs is waiting or outstanding.
    fn forget_user(&mut self, user: UserId);

    /// The link can carry this many units a second.
    fn set_rate(&mut self, units_per_s: f64, now: Nanos);

    /// A request arrived.
    fn enqueue(&mut self, request: &Request, now: Nanos);

    /// The response will have this many units in all, as its sender says.
    fn length(&mut self, request: RequestId, units: u64, now: Nanos);

    /// So many more units of the response were taken in.
    fn received(&mut self, request: RequestId, units: u64, now: Nanos);

    /// Units of the response are there that may not be taken in yet.
    fn ready(&mut self, request: RequestId, now: Nanos);

    /// The connection that the response comes on offers its sender a window of this many units whatever turns say,
    /// because of what was on it before. Told before or after the release.
    fn offers(&mut self, request: RequestId, window: u64, now: Nanos);

    /// Whether so much is sent up the link unpaced that what is known of the far queue may be the uplink's.
    fn uplink(&mut self, is_busy: bool, now: Nanos);

    /// The response is over: whole, or broken off by its sender. The id is free.
    fn ended(&mut self, request: RequestId, now: Nanos);

    /// The request is cancelled, waiting or outstanding. The id is free.
    fn cancel(&mut self, request: RequestId, now: Nanos);

    /// Unrequested units came down the link: for this class, or for an unknown one.
    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos);

    /// What is known of the link's far queue; `None` if that is nothing.
    fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos);

    /// What to do next, if anything may be done now: release a request, or let more of a response be taken in.
    fn dequeue(&mut self, now: Nanos) -> Option<Turn>;

    /// When to ask again though nothing has happened by then.
    fn poll_at(&self) -> Option<Nanos>;

    /// The policy's own figures, by name.
    fn figures(&self, report: &mut dyn FnMut(&'static str, f64));

    /// The window in units that turns give a response at first, where the policy holds senders back by windows. Constant over
    /// its life.
    fn first_window(&self) -> Option<u64>;

    /// Changes knobs of the same policy at `now`; no request is lost.
    ///
    /// # Errors
    /// [`PolicyError`] naming the first knob that cannot be changed while it runs ([`Knob::retunable`](crate::entry::Knob)
    /// says which can), or that `knobs` are another policy's. Nothing has changed then.
    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError>;
}
