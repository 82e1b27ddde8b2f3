//! The trait that a gateway drives.

use core::fmt;

use super::{
    far::FarDelay,
    model::{ClassId, Request, RequestId, Turn, UserId},
};
use crate::{Knobs, Nanos, PolicyError, Weight};

/// Decides which request is released next and which response may continue.
pub trait RequestScheduler: fmt::Debug + Send {
    /// Adds a class, or changes its weight. Set classes before users, and users before their requests.
    fn set_class(&mut self, class: ClassId, weight: Weight, now: Nanos);

    /// Adds a user, or moves them to another class with all their requests. Ignored if the class has not been
    /// [set](Self::set_class): the user stays unknown, or in their class.
    fn set_user(&mut self, user: UserId, class: ClassId, now: Nanos);

    /// The user's id is free. Ignored while a request of theirs is waiting or outstanding.
    fn forget_user(&mut self, user: UserId);

    /// Sets the link's rate in units per second. One out of [range](super::RequestSetup::is_rate) is ignored.
    fn set_rate(&mut self, units_per_s: f64, now: Nanos);

    /// A request arrived. Ignored if its user has not been [set](Self::set_user), or if its id belongs to a request that is
    /// neither [ended](Self::ended) nor [cancelled](Self::cancel). A request that was ignored is never released.
    fn enqueue(&mut self, request: &Request, now: Nanos);

    /// The response's length in units, as its sender states it, or as observed once all that is left waits. If more arrives
    /// after that, the length is unknown again.
    fn length(&mut self, request: RequestId, units: u64, now: Nanos);

    /// This many more units of the response were taken in.
    fn received(&mut self, request: RequestId, units: u64, now: Nanos);

    /// This many units of the response, in all, have arrived and were not taken in yet, whether they may be or not. Reported by
    /// environments that see more of a response than they take in: what its sender sends is then charged when it arrives.
    fn unread(&mut self, request: RequestId, units: u64, now: Nanos);

    /// Units of the response are waiting that may not be taken in yet.
    fn ready(&mut self, request: RequestId, now: Nanos);

    /// The response's connection offers its sender a window of this many units regardless of turns, because of earlier
    /// responses on it. Reported before or after the release.
    fn offers(&mut self, request: RequestId, window: u64, now: Nanos);

    /// The round trip on the response's connection, as measured by its transport. Without it the scheduler may assume too short
    /// a round trip, if the first units to arrive belong to an earlier response. Reported before or after the release, if at
    /// all.
    fn round_trip(&mut self, request: RequestId, takes: Nanos, now: Nanos);

    /// How long after its next turn the first units of the response reach the link, as far as known: a round trip to the server,
    /// and more as long as a connection to it has to be established. Without it they count as there at once. Reported before or
    /// after the release, again whenever it changes. The least of several round trips will do: what the far queue added to it,
    /// up to that queue's target, does no harm.
    fn distance(&mut self, request: RequestId, takes: Nanos, now: Nanos);

    /// Whether so much unpaced traffic is sent up the link that the reported far queue may be the uplink's.
    fn uplink(&mut self, is_busy: bool, now: Nanos);

    /// The response is over: complete, or broken off by its sender. The id is free.
    fn ended(&mut self, request: RequestId, now: Nanos);

    /// The request is cancelled, waiting or outstanding. The id is free.
    fn cancel(&mut self, request: RequestId, now: Nanos);

    /// Unrequested units came down the link: for this class, or for an unknown one.
    fn stray(&mut self, class: Option<ClassId>, units: u64, now: Nanos);

    /// The delay of the link's far queue; `None` if it is not known.
    fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos);

    /// Takes the next turn, if there is one now: release a request, or take in more of a response.
    fn dequeue(&mut self, now: Nanos) -> Option<Turn>;

    /// When to call [`dequeue`](Self::dequeue) again if nothing happens before.
    fn poll_at(&self) -> Option<Nanos>;

    /// The policy's own figures, by name.
    fn figures(&self, report: &mut dyn FnMut(&'static str, f64));

    /// The initial window of a response in units, if the policy limits senders by windows. Constant over the scheduler's
    /// life.
    fn first_window(&self) -> Option<u64>;

    /// Changes knobs of the same policy at `now`; no request is lost.
    ///
    /// # Errors
    /// [`PolicyError`] naming the first knob that cannot be changed while it runs ([`Knob::retunable`](crate::entry::Knob) says
    /// which can), or reporting that `knobs` are another policy's. Nothing has changed then.
    fn retune(&mut self, knobs: &Knobs<'_>, now: Nanos) -> Result<(), PolicyError>;
}
