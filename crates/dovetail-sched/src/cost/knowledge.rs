//! What a node knows about its programs, and learns from all their packets.
//!
//! Each flow has its own estimators; they start from what is known here. A sender that lies about its program spoils the
//! starting point of others, not their estimates: their first measured packet replaces it, and the error until then is settled.

use alloc::{format, vec::Vec};

use super::{Cost, Estimator, Method, Processing, Program, ProgramId, ProgramTable};

/// More programs than this are treated as unknown, because program names come from packets.
const MAX_PROGRAMS: usize = 4096;
/// The number of packets in the window of a program's own line.
const PROGRAM_WINDOW: usize = 256;
/// Gain of a program's means: over some 32 packets of all its flows.
const PROGRAM_GAIN: f64 = 1.0 / 32.0;

/// A node's knowledge of its programs: as configured, and as learnt from the packets of all flows.
#[derive(Debug)]
pub(super) struct Knowledge {
    programs: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    program: Program,
    seen: Option<Estimator>,
}

impl Knowledge {
    pub(super) fn new(table: &ProgramTable) -> Self {
        let known = |program: &Program| Known { program: program.clone(), seen: None };
        Self { programs: table.programs().iter().map(known).collect() }
    }

    pub(super) fn expansion(&self, id: ProgramId) -> f64 {
        let known = self.programs.get(id.index());
        known.map_or(1.0, |known| known.seen.as_ref().map_or(known.program.expansion, Estimator::expansion))
    }

    /// The length that the program's cost depends on.
    #[inline]
    pub(super) fn length(&self, id: ProgramId, bytes: u32) -> u32 {
        match self.programs.get(id.index()) {
            Some(Known { program: Program { processing: Processing::Header, .. }, .. }) => 0,
            _ => bytes,
        }
    }

    /// The cost by the configured line.
    pub(super) fn configured(&self, id: ProgramId, bytes: u32) -> Option<f64> {
        let cost = self.programs.get(id.index())?.program.cost?;
        Some(cost.mean_ns(f64::from(bytes)))
    }

    /// The initial estimate for a flow that references the program for the first time: from other flows' packets, or else the
    /// configured line.
    pub(super) fn seed(&self, id: ProgramId, bytes: u32) -> Option<f64> {
        let seen = self.programs.get(id.index())?.seen.as_ref();
        seen.and_then(|seen| seen.estimate(self.length(id, bytes))).or_else(|| self.configured(id, bytes))
    }

    /// Records that a packet of some flow took `nanos`; the cost depends on its [`length`](Self::length).
    pub(super) fn observe(&mut self, id: ProgramId, length: u32, nanos: u64) {
        if let Some(seen) = self.seen(id) {
            seen.observe(length, nanos);
        }
    }

    pub(super) fn observe_expansion(&mut self, id: ProgramId, ratio: f64) {
        if let Some(seen) = self.seen(id) {
            seen.observe_expansion(ratio);
        }
    }

    fn seen(&mut self, id: ProgramId) -> Option<&mut Estimator> {
        if id.index() >= MAX_PROGRAMS {
            return None;
        }
        while self.programs.len() <= id.index() {
            let program = Program::new(&format!("program-{}", self.programs.len()));
            self.programs.push(Known { program, seen: None });
        }
        let known = &mut self.programs[id.index()];
        let method = Method::LeastSquares { window: PROGRAM_WINDOW, gain: PROGRAM_GAIN };
        Some(known.seen.get_or_insert_with(|| Estimator::new(method, known.program.expansion)))
    }

    /// The programs as known now.
    pub(super) fn table(&self) -> ProgramTable {
        let learnt = |known: &Known| {
            let Some(seen) = &known.seen else { return known.program.clone() };
            let line = seen.plausible_line();
            let cost = line.and_then(|(per_byte, per_packet)| Cost::new(per_byte, per_packet).ok());
            Program { cost: cost.or(known.program.cost), expansion: seen.expansion(), ..known.program.clone() }
        };
        ProgramTable::new(self.programs.iter().map(learnt).collect())
    }
}
