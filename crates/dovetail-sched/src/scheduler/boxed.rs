//! A boxed scheduler is a scheduler.

use alloc::boxed::Box;

use super::contract::Scheduler;
use crate::forward_scheduler;

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    forward_scheduler!(*: enqueue, dequeue, poll_at, feedback, interest, poll_evicted, discard, set_weight,
        set_resource_weights, forget, backlog, flow_backlog, upcoming, lets_lone_pass, retune, figures, learning, later_stages);
}
