//! `wfq-split`: a separate weighted fair queueing in front of every resource.
//!
//! The comparison baseline of CBCS-WFQ (Sabrina and Jha, UNSW-CSE-TR-0306, 2003, section 4.2.1): a [`wfq`](super::wfq) for the
//! CPU orders packets by their estimated processing time and the flows' weights on the CPU; packets that leave the CPU wait for
//! the link in the queues of another, which goes by their true length and the weights on the link. Each one guarantees a flow
//! of rate `r` on a resource of rate `R` a delay of `L_i/r_i + L_max/R` (Parekh and Gallager, ToN 1993). Together they
//! guarantee the sum, eq. 13, to flows whose packets are spaced by at least the larger of `P/r_cpu` and `L/r_bw` of each (proof
//! and test in `tests/all/cbcs_delay.rs`).
//!
//! If nothing may wait between resources (`no-wait`), only the first of them ever orders anything. A flow's packets stay in
//! order: every stage is first in, first out for each flow. Limits apply to the first stage.
//!
//! Costs are estimated unless the policy string has `estimator=known`.
//!
//! O(log n) per packet and resource, amortised.
//!
//! # Worked example
//!
//! Flow 1 has four times flow 0's weight on the link and the same on the CPU. Both leave the CPU alternately, and the
//! link then takes two of flow 1 before the first of flow 0:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let mut split = "wfq-split:estimator=known".parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
//! let weights = |all: [f64; 2]| all.map(|weight| Weight::new(weight).expect("in range"));
//! split.set_resource_weights(FlowId(1), &weights([1.0, 4.0]));
//! let demand = Demand::new(&[Nanos(10), Nanos(10)])?;
//! for handle in 0..2 {
//!     for flow in [0, 1] {
//!         let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand };
//!         split.enqueue(&packet, Nanos::ZERO);
//!     }
//! }
//! let mut out_of_cpu = Vec::new();
//! while let Some(sent) = split.dequeue(Nanos::ZERO) {
//!     out_of_cpu.push(sent.packet.flow.0);
//!     let stages = split.later_stages().expect("it orders packets before the link too");
//!     assert!(stages.enqueue_before(1, &sent.packet, Nanos::ZERO).is_queued());
//! }
//! assert_eq!(out_of_cpu, [0, 1, 0, 1]);
//! let stages = split.later_stages().expect("as above");
//! let order: Vec<u32> =
//!     core::iter::from_fn(|| stages.dequeue_before(1, Nanos::ZERO)).map(|packet| packet.flow.0).collect();
//! assert_eq!(order, [1, 1, 0, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, vec::Vec};

use super::wfq::Wfq;
use crate::{
    Admission, Backlog, DropReason, Feedback, FlowId, Interest, LaterStages, Learning, Limits, Nanos, Packet,
    PolicyError, Queued, Scheduler, Setup, Weight,
    cost::LEARNS,
    entry::{Entry, Knobs, NO_CAUTION},
    forward_scheduler,
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "wfq-split",
    summary: "a separate WFQ before every resource, costs estimated",
    knobs: &[LEARNS],
    cost: "O(m log n) amortised",
    source: "the rival in Sabrina & Jha, UNSW-CSE-TR-0306, 2003",
    build: |_, setup| Ok(Box::new(WfqSplit::new(setup))),
    caution: NO_CAUTION,
};

/// Separate weighted fair queueing.
#[derive(Debug)]
pub struct WfqSplit {
    first: Queued<Wfq>,
    later: Vec<Queued<Wfq>>,
}

impl WfqSplit {
    /// One stage for each of the setup's resources.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let stage = |at, limits| Queued::new(Wfq::new(at), setup.resources, limits);
        let flows_only = Limits { flows: setup.limits.flows, ..Limits::UNLIMITED };
        Self { first: stage(0, setup.limits), later: (1..setup.resources).map(|at| stage(at, flows_only)).collect() }
    }

    fn before(&mut self, resource: usize) -> Option<&mut Queued<Wfq>> {
        self.later.get_mut(resource.checked_sub(1)?)
    }

    fn stages(&mut self) -> impl Iterator<Item = &mut Queued<Wfq>> {
        core::iter::once(&mut self.first).chain(&mut self.later)
    }
}

impl Scheduler for WfqSplit {
    fn feedback(&mut self, _event: &Feedback, _now: Nanos) {}

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn set_weight(&mut self, flow: FlowId, weight: Weight) {
        for stage in self.stages() {
            stage.set_weight(flow, weight);
        }
    }

    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]) {
        for stage in self.stages() {
            stage.set_resource_weights(flow, weights);
        }
    }

    fn forget(&mut self, flow: FlowId) -> bool {
        // All or none: an id that names another flow in only one stage would mix the two up.
        if self.stages().any(|stage| stage.flow_backlog(flow).packets > 0) {
            return false;
        }
        self.stages().all(|stage| stage.forget(flow))
    }

    fn retune(&mut self, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)
    }

    fn learning(&mut self) -> Option<&mut dyn Learning> {
        None
    }

    fn later_stages(&mut self) -> Option<&mut dyn LaterStages> {
        Some(self)
    }

    forward_scheduler!(first: enqueue, dequeue, poll_at, poll_evicted, discard, backlog, flow_backlog, lets_lone_pass,
        figures);
}

impl LaterStages for WfqSplit {
    fn enqueue_before(&mut self, resource: usize, packet: &Packet, now: Nanos) -> Admission {
        match self.before(resource) {
            Some(stage) => stage.enqueue(packet, now),
            None => Admission::refused(DropReason::WrongDemand),
        }
    }

    fn dequeue_before(&mut self, resource: usize, now: Nanos) -> Option<Packet> {
        Some(self.before(resource)?.dequeue(now)?.packet)
    }

    fn poll_at_before(&self, resource: usize) -> Option<Nanos> {
        self.later.get(resource.checked_sub(1)?)?.poll_at()
    }

    fn backlog_before(&self, resource: usize) -> Backlog {
        let stage = resource.checked_sub(1).and_then(|at| self.later.get(at));
        stage.map_or(Backlog::default(), Scheduler::backlog)
    }
}
