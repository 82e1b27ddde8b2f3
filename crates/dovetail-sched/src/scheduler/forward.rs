//! Forwarding for schedulers around schedulers.

/// Writes methods of [`Scheduler`](crate::Scheduler) that only forward to a field that is a scheduler:
/// `inner: dequeue, poll_at`. `*: dequeue, poll_at` forwards to the target of a pointer such as `Box<S>`.
///
/// ```
/// use dovetail_sched::{Admission, Nanos, Packet, Scheduler, forward_scheduler};
///
/// /// Counts what is offered.
/// #[derive(Debug)]
/// struct Counting<S> {
///     inner: S,
///     offered: u64,
/// }
///
/// impl<S: Scheduler> Scheduler for Counting<S> {
///     fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
///         self.offered += 1;
///         self.inner.enqueue(packet, now)
///     }
///     forward_scheduler!(inner: dequeue, poll_at, feedback, interest, poll_evicted, discard, set_weight,
///         set_resource_weights, forget, backlog, flow_backlog, upcoming, lets_lone_pass, retune, figures, learning, later_stages);
/// }
/// ```
#[macro_export]
macro_rules! forward_scheduler {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward_scheduler!(@$method $field);)+
    };
    (*: $($method:ident),+ $(,)?) => {
        $($crate::forward_scheduler!(@$method *);)+
    };
    (@to $this:ident *) => {
        (**$this)
    };
    (@to $this:ident $field:ident) => {
        $this.$field
    };
    (@enqueue $to:tt) => {
        #[inline]
        fn enqueue(&mut self, packet: &$crate::Packet, now: $crate::Nanos) -> $crate::Admission {
            $crate::forward_scheduler!(@to self $to).enqueue(packet, now)
        }
    };
    (@dequeue $to:tt) => {
        #[inline]
        fn dequeue(&mut self, now: $crate::Nanos) -> ::core::option::Option<$crate::Dispatch> {
            $crate::forward_scheduler!(@to self $to).dequeue(now)
        }
    };
    (@poll_at $to:tt) => {
        fn poll_at(&self) -> ::core::option::Option<$crate::Nanos> {
            $crate::forward_scheduler!(@to self $to).poll_at()
        }
    };
    (@feedback $to:tt) => {
        #[inline]
        fn feedback(&mut self, event: &$crate::Feedback, now: $crate::Nanos) {
            $crate::forward_scheduler!(@to self $to).feedback(event, now);
        }
    };
    (@interest $to:tt) => {
        fn interest(&self) -> $crate::Interest {
            $crate::forward_scheduler!(@to self $to).interest()
        }
    };
    (@poll_evicted $to:tt) => {
        fn poll_evicted(&mut self) -> ::core::option::Option<$crate::Packet> {
            $crate::forward_scheduler!(@to self $to).poll_evicted()
        }
    };
    (@discard $to:tt) => {
        fn discard(&mut self, flow: $crate::FlowId) -> bool {
            $crate::forward_scheduler!(@to self $to).discard(flow)
        }
    };
    (@set_weight $to:tt) => {
        fn set_weight(&mut self, flow: $crate::FlowId, weight: $crate::Weight) {
            $crate::forward_scheduler!(@to self $to).set_weight(flow, weight);
        }
    };
    (@set_resource_weights $to:tt) => {
        fn set_resource_weights(&mut self, flow: $crate::FlowId, weights: &[$crate::Weight]) {
            $crate::forward_scheduler!(@to self $to).set_resource_weights(flow, weights);
        }
    };
    (@forget $to:tt) => {
        fn forget(&mut self, flow: $crate::FlowId) -> bool {
            $crate::forward_scheduler!(@to self $to).forget(flow)
        }
    };
    (@backlog $to:tt) => {
        fn backlog(&self) -> $crate::Backlog {
            $crate::forward_scheduler!(@to self $to).backlog()
        }
    };
    (@flow_backlog $to:tt) => {
        fn flow_backlog(&self, flow: $crate::FlowId) -> $crate::Backlog {
            $crate::forward_scheduler!(@to self $to).flow_backlog(flow)
        }
    };
    (@upcoming $to:tt) => {
        #[inline]
        fn upcoming(&self, ahead: usize) -> ::core::option::Option<($crate::FlowId, u64)> {
            $crate::forward_scheduler!(@to self $to).upcoming(ahead)
        }
    };
    (@lets_lone_pass $to:tt) => {
        fn lets_lone_pass(&self) -> bool {
            $crate::forward_scheduler!(@to self $to).lets_lone_pass()
        }
    };
    (@retune $to:tt) => {
        fn retune(
            &mut self,
            knobs: &$crate::Knobs<'_>,
            now: $crate::Nanos,
        ) -> ::core::result::Result<(), $crate::PolicyError> {
            $crate::forward_scheduler!(@to self $to).retune(knobs, now)
        }
    };
    (@figures $to:tt) => {
        fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
            $crate::forward_scheduler!(@to self $to).figures(report);
        }
    };
    (@learning $to:tt) => {
        fn learning(&mut self) -> ::core::option::Option<&mut dyn $crate::Learning> {
            $crate::forward_scheduler!(@to self $to).learning()
        }
    };
    (@later_stages $to:tt) => {
        fn later_stages(&mut self) -> ::core::option::Option<&mut dyn $crate::LaterStages> {
            $crate::forward_scheduler!(@to self $to).later_stages()
        }
    };
}
