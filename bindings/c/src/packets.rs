//! The operations of a packet scheduler's handle.

use dovetail_sched::{
    Admission, Backlog, Dispatch, FlowId, LaterStages, Learning, Limits, MAX_RESOURCES, Nanos, Packet, Peekable,
    PolicySpec, Scheduler, Setup, Weight,
    cost::{Program, ProgramId, ProgramTable},
};

use crate::{
    checks::Checks,
    convert,
    failure::Failure,
    structs::{dvt_event, dvt_packet, dvt_setup, dvt_status},
};

/// A packet scheduler that supports peeking. The fields that most calls read come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Packets {
    checks: Checks,
    resources: u32,
    flows: u32,
    scheduler: Peekable<Box<dyn Scheduler>>,
    // Snapshots of numbered lists, taken when their first item is requested.
    figures: Vec<(&'static str, f64)>,
    learnt: ProgramTable,
    programs: u32,
}

impl Packets {
    pub(crate) fn new(policy: &str, setup: &dvt_setup, programs: Vec<Program>) -> Result<Self, Failure> {
        let resources = setup.resources as usize;
        if !(1..=MAX_RESOURCES).contains(&resources) {
            return Err(convert::too_many(resources));
        }
        let limits = convert::limits(setup)?;
        let checks = Checks::new(setup.flags, resources)?;
        let (count, programs) = (programs.len() as u32, ProgramTable::new(programs));
        let spec: PolicySpec = policy.parse()?;
        let scheduler = spec.build(&Setup { programs, ..Setup::new(resources, limits) })?;
        Ok(Self { programs: count, ..Self::around(scheduler, resources, limits, checks) })
    }

    pub(crate) fn around(scheduler: Box<dyn Scheduler>, resources: usize, limits: Limits, checks: Checks) -> Self {
        let scheduler = Peekable::new(scheduler);
        let learnt = ProgramTable::EMPTY;
        let (resources, flows, figures) = (resources as u32, limits.flows, Vec::new());
        Self { checks, resources, flows, scheduler, figures, learnt, programs: 0 }
    }

    #[inline(always)]
    pub(crate) fn is_checked(&self) -> bool {
        self.checks.is_on()
    }

    /// Enqueues a packet and passes its admission to `give`.
    #[inline]
    pub(crate) fn enqueue(
        &mut self,
        given: &dvt_packet,
        now_ns: u64,
        give: impl FnOnce(Admission),
    ) -> Result<(), Failure> {
        match convert::short_packet(given) {
            Some(packet) if !self.is_checked() => {
                give(self.scheduler.enqueue(&packet, Nanos(now_ns)));
                Ok(())
            }
            _ => self.enqueue_checked(given, now_ns, give),
        }
    }

    /// Same as [`enqueue`](Self::enqueue) for checked handles and for packets over many resources.
    #[cold]
    #[inline(never)]
    fn enqueue_checked(
        &mut self,
        given: &dvt_packet,
        now_ns: u64,
        give: impl FnOnce(Admission),
    ) -> Result<(), Failure> {
        let packet = convert::packet(given)?;
        self.checks.is_new(0, packet.handle)?;
        let now = self.checks.time(now_ns)?;
        let admission = self.scheduler.enqueue(&packet, now);
        if admission.is_queued() {
            self.checks.queued(0, packet.handle);
        }
        give(admission);
        Ok(())
    }

    /// Dequeues a packet and passes it to `give`, if there is one.
    #[inline]
    pub(crate) fn dequeue(&mut self, now_ns: u64, give: impl FnOnce(&Dispatch)) -> Result<bool, Failure> {
        if self.is_checked() {
            return self.dequeue_checked(now_ns, give);
        }
        let next = self.scheduler.dequeue(Nanos(now_ns));
        Ok(next.as_ref().map(give).is_some())
    }

    #[cold]
    #[inline(never)]
    fn dequeue_checked(&mut self, now_ns: u64, give: impl FnOnce(&Dispatch)) -> Result<bool, Failure> {
        let now = self.checks.time(now_ns)?;
        let next = self.scheduler.dequeue(now);
        let Some(next) = &next else { return Ok(false) };
        self.checks.left(0, next.packet.handle);
        give(next);
        Ok(true)
    }

    #[inline]
    pub(crate) fn peek(&mut self, now_ns: u64) -> Result<Option<&Packet>, Failure> {
        let now = self.checks.time(now_ns)?;
        Ok(self.scheduler.peek(now))
    }

    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        self.scheduler.poll_at()
    }

    pub(crate) fn poll_evicted(&mut self) -> Option<Packet> {
        let lost = self.scheduler.poll_evicted()?;
        self.checks.left(0, lost.handle);
        Some(lost)
    }

    pub(crate) fn discard(&mut self, flow: u32) -> Result<bool, Failure> {
        let flow = self.flow(flow)?;
        Ok(self.scheduler.discard(flow))
    }

    #[inline]
    pub(crate) fn feedback(&mut self, given: &dvt_event, now_ns: u64) -> Result<(), Failure> {
        let event = convert::event(given, self.resources)?;
        self.flow(event.flow.0)?;
        let now = self.checks.time(now_ns)?;
        self.scheduler.feedback(&event, now);
        Ok(())
    }

    pub(crate) fn interest(&self) -> u32 {
        self.scheduler.interest().bits().into()
    }

    pub(crate) fn set_weight(&mut self, flow: u32, weight: f64) -> Result<(), Failure> {
        let (flow, weight) = (self.flow(flow)?, convert::weight(weight)?);
        self.scheduler.set_weight(flow, weight);
        Ok(())
    }

    pub(crate) fn set_resource_weights(&mut self, flow: u32, weights: &[f64]) -> Result<(), Failure> {
        let flow = self.flow(flow)?;
        if weights.len() != self.resources as usize {
            let text = format!("there must be {} weights, one per resource, not {}", self.resources, weights.len());
            return Err(Failure::range(text));
        }
        let weights: Vec<Weight> = weights.iter().map(|&weight| convert::weight(weight)).collect::<Result<_, _>>()?;
        self.scheduler.set_resource_weights(flow, &weights);
        Ok(())
    }

    pub(crate) fn retune(&mut self, policy: &str, now_ns: u64) -> Result<(), Failure> {
        let spec: PolicySpec = policy.parse()?;
        self.checks.time_of(now_ns, |now| Ok(self.scheduler.retune(&spec.knobs(), now)?))
    }

    pub(crate) fn forget(&mut self, flow: u32) -> Result<bool, Failure> {
        let flow = self.flow(flow)?;
        Ok(self.scheduler.forget(flow))
    }

    /// Whether the flow's id may be reused: nothing is known of the flow, or its state has just been forgotten.
    pub(crate) fn retire(&mut self, flow: FlowId) -> bool {
        flow.0 >= self.flows || self.scheduler.forget(flow)
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.scheduler.backlog()
    }

    pub(crate) fn flow_backlog(&self, flow: u32) -> Result<Backlog, Failure> {
        Ok(self.scheduler.flow_backlog(self.flow(flow)?))
    }

    /// The figure with this number; number 0 takes a snapshot of all.
    pub(crate) fn figure(&mut self, at: u32) -> Option<(&'static str, f64)> {
        if at == 0 {
            self.figures.clear();
            let figures = &mut self.figures;
            self.scheduler.figures(&mut |name, value| figures.push((name, value)));
        }
        self.figures.get(at as usize).copied()
    }

    pub(crate) fn set_program(&mut self, flow: u32, program: u32) -> Result<(), Failure> {
        let (flow, programs) = (self.flow(flow)?, self.programs);
        let learning = self.learning()?;
        if program >= programs {
            return Err(Failure::range(format!(
                "there is no program {program}: the setup has {programs}, numbered from 0"
            )));
        }
        learning.set_program(flow, ProgramId(program));
        Ok(())
    }

    /// The program with this number; number 0 takes a snapshot of all.
    pub(crate) fn learnt(&mut self, at: u32) -> Result<Option<&Program>, Failure> {
        let learning = self.learning()?;
        if at == 0 {
            self.learnt = learning.learnt();
        }
        Ok(self.learnt.find(ProgramId(at)))
    }

    pub(crate) fn enqueue_before(
        &mut self,
        resource: u32,
        given: &dvt_packet,
        now_ns: u64,
    ) -> Result<Admission, Failure> {
        let at = self.later(resource)?;
        let packet = convert::packet(given)?;
        self.checks.is_new(at, packet.handle)?;
        let now = self.checks.time(now_ns)?;
        let admission = self.stages()?.enqueue_before(at, &packet, now);
        if admission.is_queued() {
            self.checks.queued(at, packet.handle);
        }
        Ok(admission)
    }

    pub(crate) fn dequeue_before(&mut self, resource: u32, now_ns: u64) -> Result<Option<Packet>, Failure> {
        let at = self.later(resource)?;
        let now = self.checks.time(now_ns)?;
        let next = self.stages()?.dequeue_before(at, now);
        if let Some(packet) = &next {
            self.checks.left(at, packet.handle);
        }
        Ok(next)
    }

    pub(crate) fn poll_at_before(&mut self, resource: u32) -> Result<Option<Nanos>, Failure> {
        let at = self.later(resource)?;
        Ok(self.stages()?.poll_at_before(at))
    }

    pub(crate) fn backlog_before(&mut self, resource: u32) -> Result<Backlog, Failure> {
        let at = self.later(resource)?;
        Ok(self.stages()?.backlog_before(at))
    }

    /// Checks that a flow's id is small enough to index tables.
    #[inline]
    fn flow(&self, flow: u32) -> Result<FlowId, Failure> {
        if flow < self.flows {
            return Ok(FlowId(flow));
        }
        Err(no_such_flow(flow, self.flows))
    }

    /// A resource after the first, for a scheduler that orders packets before such.
    fn later(&mut self, resource: u32) -> Result<usize, Failure> {
        self.stages()?;
        convert::resource(resource, 1, self.resources)
    }

    fn stages(&mut self) -> Result<&mut dyn LaterStages, Failure> {
        let text = "the policy does not order packets before later resources";
        self.scheduler.later_stages().ok_or_else(|| Failure::new(dvt_status::DVT_ERROR_UNSUPPORTED, text))
    }

    fn learning(&mut self) -> Result<&mut dyn Learning, Failure> {
        let text = "the scheduler does not learn costs: name an estimator, as in drfq:estimator=ses";
        self.scheduler.learning().ok_or_else(|| Failure::new(dvt_status::DVT_ERROR_UNSUPPORTED, text))
    }
}

#[cold]
#[inline(never)]
fn no_such_flow(flow: u32, flows: u32) -> Failure {
    Failure::range(format!("flow ids are below {flows}, not {flow}"))
}
