//! Schedulers around schedulers.

/// Writes methods of [`Scheduler`](crate::Scheduler) that only pass on to a field which is one: `inner: dequeue, poll_at`.
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
///     forward_scheduler!(inner: dequeue, poll_at, feedback, interest, poll_evicted, set_weight, set_resource_weights,
///         forget, backlog, flow_backlog, retune, figures, learning, later_stages);
/// }
/// ```
#[macro_export]
macro_rules! forward_scheduler {
    ($field:ident: $($method:ident),+ $(,)?) => {
        $($crate::forward_scheduler!(@$method $field);)+
    };
    (@enqueue $field:ident) => {
        #[inline]
        fn enqueue(&mut self, packet: &$crate::Packet, now: $crate::Nanos) -> $crate::Admission {
            self.$field.enqueue(packet, now)
        }
    };
    (@dequeue $field:ident) => {
        #[inline]
        fn dequeue(&mut self, now: $crate::Nanos) -> ::core::option::Option<$crate::Dispatch> {
            self.$field.dequeue(now)
        }
    };
    (@poll_at $field:ident) => {
        fn poll_at(&self) -> ::core::option::Option<$crate::Nanos> {
            self.$field.poll_at()
        }
    };
    (@feedback $field:ident) => {
        #[inline]
        fn feedback(&mut self, event: &$crate::Feedback, now: $crate::Nanos) {
            self.$field.feedback(event, now);
        }
    };
    (@interest $field:ident) => {
        fn interest(&self) -> $crate::Interest {
            self.$field.interest()
        }
    };
    (@poll_evicted $field:ident) => {
        fn poll_evicted(&mut self) -> ::core::option::Option<$crate::Packet> {
            self.$field.poll_evicted()
        }
    };
    (@set_weight $field:ident) => {
        fn set_weight(&mut self, flow: $crate::FlowId, weight: $crate::Weight) {
            self.$field.set_weight(flow, weight);
        }
    };
    (@set_resource_weights $field:ident) => {
        fn set_resource_weights(&mut self, flow: $crate::FlowId, weights: &[$crate::Weight]) {
            self.$field.set_resource_weights(flow, weights);
        }
    };
    (@forget $field:ident) => {
        fn forget(&mut self, flow: $crate::FlowId) -> bool {
            self.$field.forget(flow)
        }
    };
    (@backlog $field:ident) => {
        fn backlog(&self) -> $crate::Backlog {
            self.$field.backlog()
        }
    };
    (@flow_backlog $field:ident) => {
        fn flow_backlog(&self, flow: $crate::FlowId) -> $crate::Backlog {
            self.$field.flow_backlog(flow)
        }
    };
    (@retune $field:ident) => {
        fn retune(
            &mut self,
            knobs: &$crate::Knobs<'_>,
            now: $crate::Nanos,
        ) -> ::core::result::Result<(), $crate::PolicyError> {
            self.$field.retune(knobs, now)
        }
    };
    (@figures $field:ident) => {
        fn figures(&self, report: &mut dyn FnMut(&'static str, f64)) {
            self.$field.figures(report);
        }
    };
    (@learning $field:ident) => {
        fn learning(&mut self) -> ::core::option::Option<&mut dyn $crate::Learning> {
            self.$field.learning()
        }
    };
    (@later_stages $field:ident) => {
        fn later_stages(&mut self) -> ::core::option::Option<&mut dyn $crate::LaterStages> {
            self.$field.later_stages()
        }
    };
}
