//! Classes at work: which packet is of which, what is done with it, and what that costs.

use dovetail_sched::{
    Nanos, Weight,
    cost::{Processing, Program, ProgramTable},
};

use super::clock;
use crate::{
    config::{self, Effect, Marks},
    functions::{NetworkFunction, Verdict},
};

/// Seed of the keys and tables of functions, which are examples.
const SEED: u64 = 1;

/// The classes of a box.
pub(super) struct Classes {
    classes: Vec<Class>,
    /// Which part of a CPU functions have.
    share: f64,
    /// For frames that are to go on as they came.
    scratch: Vec<u8>,
}

struct Class {
    config: config::Class,
    chain: Vec<Box<dyn NetworkFunction>>,
    /// What a packet's work took lately, unstretched.
    usual: Option<f64>,
}

/// What the work on a frame came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Worked {
    /// How long it takes the CPU that the policy shares out.
    pub took: Nanos,
    /// Whether the frame goes on.
    pub goes_on: bool,
    /// Whether something else ran in between, and the usual time stands for the measured one.
    pub is_preempted: bool,
}

impl Classes {
    pub(super) fn new(config: &config::Config) -> Self {
        let class = |class: &config::Class| Class {
            chain: class.functions.iter().map(|entry| entry.example(SEED)).collect(),
            config: class.clone(),
            usual: None,
        };
        Self { classes: config.classes.iter().map(class).collect(), share: config.cpu.share, scratch: Vec::new() }
    }

    /// The first class that a packet fits. O(what classes match).
    pub(super) fn of(&self, marks: &Marks) -> u16 {
        let last = self.classes.len() - 1;
        self.classes[..last].iter().position(|class| class.config.matches.fits(marks)).unwrap_or(last) as u16
    }

    pub(super) fn weight(&self, class: u16) -> Weight {
        self.classes[usize::from(class)].config.weight
    }

    /// What the policy is told of the programs that packets run: one for each class.
    pub(super) fn programs(&self) -> ProgramTable {
        let program = |class: &Class| {
            let reads_all = class.chain.iter().any(|function| function.processing() == Processing::Payload);
            let processing = if reads_all { Processing::Payload } else { Processing::Header };
            Program { processing, ..Program::new(&class.config.name) }
        };
        ProgramTable::new(self.classes.iter().map(program).collect())
    }

    /// From now on functions have a whole CPU.
    pub(super) fn hurry(&mut self) {
        self.share = 1.0;
        for class in &mut self.classes {
            class.config.cost = 1.0;
        }
    }

    /// Does a class's work on a frame, and times it.
    pub(super) fn work(&mut self, class: u16, frame: &mut Vec<u8>) -> Worked {
        let class = &mut self.classes[usize::from(class)];
        let bytes = frame.len() as u32;
        let counted = |ns: f64| Nanos::from_f64(ns * class.config.cost / self.share);
        let given = class.config.time.map(|time| counted(time.mean_ns(bytes.into())));
        if class.chain.is_empty() {
            return Worked { took: given.unwrap_or(Nanos::ZERO), goes_on: true, is_preempted: false };
        }
        let started = clock::now();
        let goes_on = match class.config.effect {
            Effect::Apply => class.run(frame),
            Effect::Discard => {
                self.scratch.clear();
                self.scratch.extend_from_slice(frame);
                class.run(&mut self.scratch);
                true
            }
        };
        if let Some(took) = given {
            return Worked { took, goes_on, is_preempted: false };
        }
        let measured = (clock::now() - started).as_f64();
        let (usual, is_preempted) = class.usual_for(measured);
        Worked { took: Nanos::from_f64(usual * class.config.cost / self.share), goes_on, is_preempted }
    }
}

impl Class {
    fn run(&mut self, frame: &mut Vec<u8>) -> bool {
        self.chain.iter_mut().all(|function| !matches!(function.process(frame), Verdict::Drop(_)))
    }

    /// A measured time, or the usual one where the thread was interrupted while it measured, and which it is.
    fn usual_for(&mut self, measured: f64) -> (f64, bool) {
        /// More than this many times the usual is no work: on a busy machine, the longest that functions took themselves
        /// was below.
        const PREEMPTED: f64 = 4.0;
        /// What an interruption takes at least, in nanoseconds: shorter times are the function's own, such as a table that
        /// is not in the cache.
        const SHORTEST: f64 = 20_000.0;
        /// Weight of the newest time.
        const GAIN: f64 = 1.0 / 16.0;
        let Some(usual) = self.usual else {
            self.usual = Some(measured);
            return (measured, false);
        };
        if measured > SHORTEST.max(PREEMPTED * usual) {
            // A lasting change of cost is followed all the same, a little with each packet.
            self.usual = Some(usual * (1.0 + GAIN));
            return (usual, true);
        }
        self.usual = Some(usual + GAIN * (measured - usual));
        (measured, false)
    }
}
