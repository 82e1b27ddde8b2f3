//! An instance with its counters: the network function.

use std::{fmt, sync::Arc};

use super::{
    compiled::{Compiled, Generation},
    error::{Failure, Flaw, Why},
    instance::{Handled, Instance},
    limits::{ProgramLimits, Quarantined},
};
use crate::functions::{NetworkFunction, Processing, Reason, Verdict, frame::ETHERNET};

/// One instance of a program, for one core. Its memory keeps the program's state from packet to packet.
pub struct Program {
    compiled: Arc<Compiled>,
    limits: ProgramLimits,
    processing: Processing,
    /// `None` in quarantine.
    instance: Option<Instance>,
    /// Failures that have not been forgotten.
    held_against: u32,
    handled_since: u32,
    counts: Counts,
    last_failure: Option<Why>,
    /// Fuel that the last packet took.
    fuel: u64,
}

/// Outcomes of a program's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets handled, whatever the verdict.
    pub handled: u64,
    /// Of those: packets dropped.
    pub refused: u64,
    /// Packets on which it trapped.
    pub trapped: u64,
    /// Packets that ran out of fuel.
    pub out_of_fuel: u64,
    /// Packets for which it returned an invalid answer.
    pub bad_answers: u64,
    /// Packets that arrived while it was quarantined.
    pub quarantined: u64,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Program");
        shown.field("name", &self.name()).field("generation", &self.generation()).field("counts", &self.counts);
        shown.field("is_quarantined", &self.is_quarantined()).finish_non_exhaustive()
    }
}

impl Program {
    pub(super) fn new(compiled: Arc<Compiled>, limits: ProgramLimits, processing: Processing) -> Result<Self, Flaw> {
        let instance = Some(Instance::new(&compiled.engine, &compiled.module, &limits)?);
        let counts = Counts::default();
        Ok(Self {
            compiled,
            limits,
            processing,
            instance,
            held_against: 0,
            handled_since: 0,
            counts,
            last_failure: None,
            fuel: 0,
        })
    }

    /// The version of the program.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.compiled.generation
    }

    /// Its resource limits.
    #[must_use]
    pub const fn limits(&self) -> &ProgramLimits {
        &self.limits
    }

    /// Its counters.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether it is quarantined because it has failed too often.
    #[must_use]
    pub const fn is_quarantined(&self) -> bool {
        self.instance.is_none()
    }

    /// How it failed last, with the runtime's reason, unless a failure of this version was returned before, by whichever
    /// instance: for a log that a program cannot fill.
    pub fn first_failure(&mut self) -> Option<String> {
        let why = self.last_failure?;
        self.compiled.tells().then(|| why.to_string())
    }

    /// How it failed last.
    pub(super) const fn last_failure(&self) -> Option<Why> {
        self.last_failure
    }

    /// Fuel that the last packet took, of [`ProgramLimits::fuel_per_packet`].
    #[must_use]
    pub const fn fuel(&self) -> u64 {
        self.fuel
    }

    fn succeeded(&mut self) {
        self.counts.handled += 1;
        if self.held_against == 0 {
            return;
        }
        self.handled_since += 1;
        if self.handled_since == self.limits.packets_to_forget_a_trap {
            self.handled_since = 0;
            self.held_against -= 1;
        }
    }

    fn failed(&mut self, why: Why) -> Verdict {
        let failure = why.failure();
        self.last_failure = Some(why);
        let count = match failure {
            Failure::Trapped => &mut self.counts.trapped,
            Failure::OutOfFuel => &mut self.counts.out_of_fuel,
            Failure::BadAnswer => &mut self.counts.bad_answers,
        };
        *count += 1;
        self.held_against = self.held_against.saturating_add(1);
        // The old instance's memory is released before the new one's is allocated.
        self.instance = None;
        if self.held_against < self.limits.traps {
            // If it worked at first and does not now, the machine has no memory for it: quarantine as well.
            self.instance = Instance::new(&self.compiled.engine, &self.compiled.module, &self.limits).ok();
        }
        Verdict::Drop(failure.reason())
    }
}

impl NetworkFunction for Program {
    fn name(&self) -> &str {
        &self.compiled.name
    }

    fn processing(&self) -> Processing {
        self.processing
    }

    fn process(&mut self, frame: &mut Vec<u8>) -> Verdict {
        let Some(instance) = &mut self.instance else {
            self.counts.quarantined += 1;
            return match self.limits.quarantined {
                Quarantined::Drop => Verdict::Drop(Reason::Quarantined),
                Quarantined::Forward => Verdict::Untouched,
            };
        };
        if frame.len() < ETHERNET {
            return Verdict::Drop(Reason::Malformed);
        }
        if frame.len() > self.limits.frame_bytes {
            return Verdict::Drop(Reason::TooLong);
        }
        let handled = instance.process(frame, &self.limits);
        self.fuel = instance.fuel_used(&self.limits);
        let handled = match handled {
            Ok(handled) => handled,
            Err(why) => return self.failed(why),
        };
        self.succeeded();
        match handled {
            Handled::Untouched => Verdict::Untouched,
            Handled::Forward => Verdict::Forward,
            Handled::Drop => {
                self.counts.refused += 1;
                Verdict::Drop(Reason::Refused)
            }
        }
    }
}
