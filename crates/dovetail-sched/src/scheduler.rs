//! What an environment drives, and the words that cross that border.

use alloc::boxed::Box;

use crate::{
    Demand, FlowId, Nanos, PolicyError, PolicySpec, Weight,
    cost::{ProgramId, ProgramTable},
};

/// One packet as a scheduler sees it: where it belongs, how large it is, what it costs. Its body stays with the
/// environment, which finds it again by `handle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The flow, a dense id.
    pub flow: FlowId,
    /// Length on the wire, in bytes.
    pub bytes: u32,
    /// When it arrived, on the environment's clock.
    pub arrival: Nanos,
    /// The environment's own name for the packet; no policy looks at it.
    pub handle: u64,
    /// Processing time on each resource, as far as it is known.
    pub demand: Demand,
}

/// A packet that a scheduler released to the first resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dispatch {
    /// The packet.
    pub packet: Packet,
    /// The policy's note on it, to be handed back in every [`Feedback`] about this packet.
    pub ticket: u64,
}

/// What became of a packet that was offered to [`Scheduler::enqueue`].
#[must_use = "a refused packet is the caller's to drop and count"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It waits in its flow's queue.
    Queued,
    /// It waits, and others had to go: collect them with [`Scheduler::poll_evicted`].
    Evicted,
    /// It was not taken. Others may still have had to go, where limits in packets and in bytes meet: collect them.
    Refused(DropReason),
}

/// Why a packet was refused or evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropReason {
    /// Its flow's queue is full.
    FlowFull,
    /// The scheduler's buffer is full.
    BufferFull,
    /// The flow's id is not below [`Limits::flows`](crate::Limits::flows).
    TooManyFlows,
    /// The packet's demand is not over the number of resources that the scheduler was built for.
    WrongDemand,
}

/// Whether a packet started or finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The packet started on the resource.
    Started,
    /// The packet finished on the resource.
    Finished,
}

/// Something that happened to a dispatched packet in the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The packet's flow.
    pub flow: FlowId,
    /// The note that came with its [`Dispatch`].
    pub ticket: u64,
    /// The resource, from 0 in pipeline order.
    pub resource: u8,
    /// What happened there.
    pub stage: Stage,
    /// For [`Stage::Finished`], the time that the packet really took on the resource; zero for [`Stage::Started`].
    pub took: Nanos,
}

/// The feedback that a scheduler wants; an environment may leave out all other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interest(u16);

impl Interest {
    /// No feedback at all.
    pub const NONE: Self = Self(0);

    /// `stage` on `resource` (from 0, below [`MAX_RESOURCES`](crate::MAX_RESOURCES)).
    #[must_use]
    pub const fn of(stage: Stage, resource: usize) -> Self {
        assert!(resource < crate::MAX_RESOURCES);
        match stage {
            Stage::Started => Self(1 << resource),
            Stage::Finished => Self(1 << (resource + crate::MAX_RESOURCES)),
        }
    }

    /// Both interests.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `stage` on `resource` is of interest.
    #[inline]
    #[must_use]
    pub const fn has(self, stage: Stage, resource: usize) -> bool {
        self.0 & Self::of(stage, resource).0 != 0
    }
}

/// Packets that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// How many.
    pub packets: u64,
    /// How many bytes they are.
    pub bytes: u64,
}

/// A packet scheduler: per-flow queues and the policy that orders them. See the crate's first page for who calls what
/// when.
pub trait Scheduler {
    /// Offers a packet that arrived at `now`. Cost: the policy's, see `dovetail policies`.
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission;

    /// The packet to start on the first resource at `now`, if the policy lets one go.
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch>;

    /// When to ask [`dequeue`](Self::dequeue) again after it answered `None`, should neither an arrival nor feedback
    /// come first. `None`: only they can change the answer.
    fn poll_at(&self) -> Option<Nanos>;

    /// Tells of an event in the pipeline at `now`. Events come in order of time.
    fn feedback(&mut self, event: &Feedback, now: Nanos);

    /// The feedback that this scheduler needs. Constant over its life.
    fn interest(&self) -> Interest;

    /// A packet that lost its place to a later one, until there are no more.
    fn poll_evicted(&mut self) -> Option<Packet>;

    /// Sets a flow's weight, from its next scheduling decision on. Default 1.
    fn set_weight(&mut self, flow: FlowId, weight: Weight);

    /// Sets a flow's weight on each resource. Policies that share out one resource take the weight on that one, policies
    /// that tell resources apart take all, and the others go by [`set_weight`](Self::set_weight) and do nothing here.
    fn set_resource_weights(&mut self, _flow: FlowId, _weights: &[Weight]) {}

    /// The flow's packets run this program from now on. For schedulers that [estimate](Self::estimates) costs.
    fn set_program(&mut self, _flow: FlowId, _program: ProgramId) {}

    /// Whether costs are estimated here, and what a packet says of its cost on the first resource is not looked at. On
    /// later resources the packet then states what it would cost at its length on arrival.
    fn estimates(&self) -> bool {
        false
    }

    /// The programs as the packets so far have shown them, where costs are estimated.
    fn learnt(&self) -> Option<ProgramTable> {
        None
    }

    /// The scheduler before `resource` (from 1), for policies that order packets there too. The environment offers it
    /// every packet that leaves the resource before, with its true demand, and asks it whenever `resource` could take one;
    /// it gets no feedback. `None`: packets cross that resource in the order in which they come.
    fn later(&mut self, _resource: usize) -> Option<&mut dyn Scheduler> {
        None
    }

    /// Changes the policy's knobs at `now` to those of `spec`, which names the same policy: no packet is lost or reordered.
    ///
    /// # Errors
    /// When the policy's knobs cannot be changed while it runs, or `spec` names another. Nothing has changed then.
    fn retune(&mut self, spec: &PolicySpec, _now: Nanos) -> Result<(), PolicyError> {
        Err(spec.knobs().fixed())
    }

    /// Forgets all that is known of an empty flow, so that its id can name another. False, and nothing changed, while
    /// the flow has packets waiting.
    fn forget(&mut self, flow: FlowId) -> bool;

    /// All that waits.
    fn backlog(&self) -> Backlog;

    /// What waits of one flow.
    fn flow_backlog(&self, flow: FlowId) -> Backlog;

    /// Reports the policy's own figures by name, such as how close a heuristic came to its bound.
    fn counters(&self, report: &mut dyn FnMut(&'static str, f64));
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    #[inline]
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        (**self).enqueue(packet, now)
    }
    #[inline]
    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        (**self).dequeue(now)
    }
    fn poll_at(&self) -> Option<Nanos> {
        (**self).poll_at()
    }
    #[inline]
    fn feedback(&mut self, event: &Feedback, now: Nanos) {
        (**self).feedback(event, now);
    }
    fn interest(&self) -> Interest {
        (**self).interest()
    }
    fn poll_evicted(&mut self) -> Option<Packet> {
        (**self).poll_evicted()
    }
    fn set_weight(&mut self, flow: FlowId, weight: Weight) {
        (**self).set_weight(flow, weight);
    }
    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]) {
        (**self).set_resource_weights(flow, weights);
    }
    fn set_program(&mut self, flow: FlowId, program: ProgramId) {
        (**self).set_program(flow, program);
    }
    fn estimates(&self) -> bool {
        (**self).estimates()
    }
    fn learnt(&self) -> Option<ProgramTable> {
        (**self).learnt()
    }
    fn later(&mut self, resource: usize) -> Option<&mut dyn Scheduler> {
        (**self).later(resource)
    }
    fn retune(&mut self, spec: &PolicySpec, now: Nanos) -> Result<(), PolicyError> {
        (**self).retune(spec, now)
    }
    fn forget(&mut self, flow: FlowId) -> bool {
        (**self).forget(flow)
    }
    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }
    fn flow_backlog(&self, flow: FlowId) -> Backlog {
        (**self).flow_backlog(flow)
    }
    fn counters(&self, report: &mut dyn FnMut(&'static str, f64)) {
        (**self).counters(report);
    }
}
