//! Which programs a flow's packets reference, and their costs for this flow.
//!
//! A flow keeps an estimator for each of the last [`MAX_PROGRAMS`] programs that it referenced, so its memory is bounded
//! however many programs a sender names in turn. A program that returns after that many others starts from the program table
//! again.

use alloc::vec::Vec;

use super::{Estimator, Method, ProgramId, knowledge::Knowledge};
use crate::{FlowId, flow::FlowMap, prefetch::prefetch};

/// The number of programs for which a flow keeps an estimator.
const MAX_PROGRAMS: usize = 8;

const NIL: u32 = u32::MAX;

/// Identifies an estimator for as long as it stays with its program and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    at: u32,
    serial: u32,
}

#[derive(Debug)]
struct Reference {
    program: ProgramId,
    serial: u32,
    // The flow's program before this one, or the next free entry.
    next: u32,
    estimator: Estimator,
}

/// The estimator of the flow's latest program; those of earlier ones are linked behind it.
#[derive(Debug, Clone, Copy)]
struct Latest(u32);

impl Default for Latest {
    fn default() -> Self {
        Self(NIL)
    }
}

/// Estimators by flow and program.
#[derive(Debug, Default)]
pub(super) struct References {
    flows: FlowMap<Latest>,
    references: Vec<Reference>,
    free: Vec<u32>,
}

impl References {
    /// The program of the flow's current packets, with its estimator.
    pub(super) fn current(&self, flow: FlowId) -> (ProgramId, Option<&Estimator>) {
        let latest = self.flows.peek(flow).and_then(|latest| self.references.get(latest.0 as usize));
        latest.map_or((ProgramId::UNKNOWN, None), |latest| (latest.program, Some(&latest.estimator)))
    }

    /// The program, and a slot by which to find the estimator when a measurement arrives.
    #[inline]
    pub(super) fn reference(&mut self, flow: FlowId, method: Method, knowledge: &Knowledge) -> (ProgramId, Slot) {
        if self.flows.at(flow).0 == NIL {
            self.set(flow, ProgramId::UNKNOWN, method, knowledge);
        }
        let at = self.flows.at(flow).0;
        let latest = &self.references[at as usize];
        (latest.program, Slot { at, serial: latest.serial })
    }

    /// Prefetches the head of the flow's list of estimators.
    #[inline]
    pub(super) fn prefetch_flow(&self, flow: FlowId) {
        self.flows.prefetch(flow);
    }

    /// Prefetches the flow's latest estimator; call [`prefetch_flow`](Self::prefetch_flow) some time before.
    #[inline]
    pub(super) fn prefetch_latest(&self, flow: FlowId) {
        if let Some(latest) = self.flows.peek(flow) {
            prefetch(&self.references, latest.0 as usize);
        }
    }

    /// The estimator, unless it has been reassigned to another program or flow.
    #[inline]
    pub(super) fn estimator(&self, slot: Slot) -> Option<&Estimator> {
        self.references.get(slot.at as usize).filter(|it| it.serial == slot.serial).map(|it| &it.estimator)
    }

    /// Same as [`estimator`](Self::estimator), mutable, to record a measurement.
    #[inline]
    pub(super) fn measured(&mut self, slot: Slot) -> Option<&mut Estimator> {
        self.references.get_mut(slot.at as usize).filter(|it| it.serial == slot.serial).map(|it| &mut it.estimator)
    }

    /// The flow's packets reference `program` from now on. O(1): a flow has few programs.
    pub(super) fn set(&mut self, flow: FlowId, program: ProgramId, method: Method, knowledge: &Knowledge) {
        let first = self.flows.at(flow).0;
        let (mut before, mut at, mut walked) = (NIL, first, 0);
        while at != NIL {
            walked += 1;
            let reference = &self.references[at as usize];
            let next = reference.next;
            if reference.program == program {
                self.bring_forward(flow, before, at);
                return;
            }
            if walked == MAX_PROGRAMS {
                self.give(at, program, Estimator::new(method, knowledge.expansion(program)));
                self.bring_forward(flow, before, at);
                return;
            }
            (before, at) = (at, next);
        }
        let estimator = Estimator::new(method, knowledge.expansion(program));
        let at = match self.free.pop() {
            Some(at) => {
                self.give(at, program, estimator);
                at
            }
            None => {
                self.references.push(Reference { program, serial: 0, next: NIL, estimator });
                (self.references.len() - 1) as u32
            }
        };
        self.references[at as usize].next = first;
        self.flows.at(flow).0 = at;
    }

    fn give(&mut self, at: u32, program: ProgramId, estimator: Estimator) {
        let reference = &mut self.references[at as usize];
        reference.program = program;
        reference.serial = reference.serial.wrapping_add(1);
        reference.estimator = estimator;
    }

    fn bring_forward(&mut self, flow: FlowId, before: u32, at: u32) {
        if before == NIL {
            return;
        }
        let next = self.references[at as usize].next;
        self.references[before as usize].next = next;
        self.references[at as usize].next = core::mem::replace(&mut self.flows.at(flow).0, at);
    }

    pub(super) fn forget(&mut self, flow: FlowId) {
        if self.flows.peek(flow).is_none() {
            return;
        }
        let mut at = core::mem::take(self.flows.at(flow)).0;
        while at != NIL {
            let reference = &mut self.references[at as usize];
            // Measurements still in flight no longer match this entry.
            reference.serial = reference.serial.wrapping_add(1);
            self.free.push(at);
            at = reference.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::ProgramTable;

    const SES: Method = Method::Smoothing { gain: 0.5 };

    #[test]
    fn a_flow_keeps_its_last_programs_and_no_more() {
        let knowledge = Knowledge::new(&ProgramTable::EMPTY);
        let mut references = References::default();
        let flow = FlowId(3);
        for program in 0..100 {
            references.set(flow, ProgramId(program), SES, &knowledge);
            let (_, slot) = references.reference(flow, SES, &knowledge);
            references.measured(slot).unwrap().observe(10, u64::from(program));
        }
        assert_eq!(references.references.len(), MAX_PROGRAMS);
        for program in (100 - MAX_PROGRAMS as u32..100).rev() {
            references.set(flow, ProgramId(program), SES, &knowledge);
            assert_eq!(references.current(flow).1.unwrap().estimate(10), Some(f64::from(program)));
        }
        references.set(flow, ProgramId(0), SES, &knowledge);
        assert_eq!(references.current(flow).1.unwrap().estimate(10), None, "forgotten long ago");
    }

    #[test]
    fn late_measurements_go_to_no_other_flow() {
        let knowledge = Knowledge::new(&ProgramTable::EMPTY);
        let mut references = References::default();
        let (_, slot) = references.reference(FlowId(0), SES, &knowledge);
        references.forget(FlowId(0));
        references.reference(FlowId(1), SES, &knowledge);
        assert!(references.measured(slot).is_none());
        assert_eq!(references.current(FlowId(1)).1.unwrap().estimate(1), None);
    }
}
