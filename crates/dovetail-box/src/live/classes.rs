//! Classes at run time: classification, processing, and its cost.

use dovetail_sched::{
    Nanos, Weight,
    cost::{Cost, Processing, Program, ProgramTable},
};

use super::{
    LiveError, clock,
    counters::ProgramCounters,
    ledger::Ledger,
    programs::{Library, Programs, Slot},
};
use crate::{
    config::{self, Effect, Marks},
    functions::{
        Entry, NetworkFunction, Reason, Verdict,
        forwarding::{self, Forwarding},
        ipsec::{self, Ipsec},
    },
};

/// Seed of the example keys and tables of functions; further workers use the seeds after it.
const SEED: u64 = 1;

/// The functions of each class of a configuration, for one worker.
pub(super) struct Chains(Vec<Vec<Box<dyn NetworkFunction>>>);

impl Chains {
    /// The chains of each worker, with the configured keys and routes where there are some. Builds the functions' tables,
    /// which may take longer than the box may stay silent: do not call this on its thread while it runs. No two workers
    /// share an example's keys.
    ///
    /// # Errors
    /// When sequence numbers cannot be recorded.
    pub(super) fn build(config: &config::Config, ledger: &Ledger) -> Result<Vec<Self>, LiveError> {
        let forwarding = config.routes.as_deref().map(Forwarding::new);
        let function = |class: &config::Class, entry: &Entry, seed| -> Result<Box<dyn NetworkFunction>, LiveError> {
            Ok(match (entry.name, &class.tunnel, &forwarding) {
                (ipsec::NAME, Some(tunnel), _) => {
                    Box::new(Ipsec::new(tunnel.association, ledger.numbers(&tunnel.association.keys)?))
                }
                (forwarding::NAME, _, Some(forwarding)) => Box::new(forwarding.clone()),
                _ => entry.example(seed),
            })
        };
        let chain = |class: &config::Class, seed| {
            class.functions.iter().map(|entry| function(class, entry, seed)).collect::<Result<_, _>>()
        };
        let of_worker = |worker: u16| {
            let seed = SEED + u64::from(worker);
            Ok(Self(config.classes.iter().map(|class| chain(class, seed)).collect::<Result<_, LiveError>>()?))
        };
        (0..config.cpu.workers.max(1)).map(of_worker).collect()
    }

    /// Empty chains, for a thread that does no work.
    pub(super) fn none(config: &config::Config) -> Self {
        Self(config.classes.iter().map(|_| Vec::new()).collect())
    }
}

/// The classes of a box.
pub(super) struct Classes {
    classes: Vec<Class>,
    /// Share of a CPU that functions get.
    share: f64,
    /// Number of workers; to the policy they are one CPU.
    workers: f64,
    /// Whether any class matches packets by the names that they carry.
    look_for_names: bool,
    /// Copies of frames that are forwarded unchanged.
    scratch: Vec<u8>,
}

struct Class {
    config: config::Class,
    chain: Vec<Box<dyn NetworkFunction>>,
    /// Whether it works on copies: it may change frames, but the original is forwarded.
    needs_copy: bool,
    /// The program that runs after the functions.
    program: Option<Slot>,
    /// Recent processing time per packet, before scaling.
    usual: Option<f64>,
}

/// What dropped a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Function(Ended),
    Program,
}

/// How a function dropped a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub reason: Reason,
    /// Whether the frame is still as its sender sent it: no function before this one has changed it.
    pub is_as_it_came: bool,
}

/// Result of the work on a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Worked {
    /// Processing time, as counted for the CPU that the policy schedules.
    pub took: Nanos,
    /// What dropped the frame, if it is not forwarded.
    pub ended_by: Option<By>,
    /// Whether the thread was preempted meanwhile, so that the usual time replaces the measured one.
    pub is_preempted: bool,
    /// When the work ended, if the clock was read.
    pub ended: Option<Nanos>,
}

impl Classes {
    /// Classes without program instances: [`fill`](Self::fill) adds those.
    pub(super) fn new(config: &config::Config, chains: Chains, programs: Option<&Programs>) -> Self {
        let class = |(class, chain): (&config::Class, _)| Class {
            chain,
            needs_copy: class.effect == Effect::Discard
                && (class.program.is_some() || class.functions.iter().any(|entry| entry.changes_frames)),
            program: class.program.as_deref().map(|name| Slot::new(name, programs)),
            config: class.clone(),
            usual: None,
        };
        let classes = config.classes.iter().zip(chains.0).map(class).collect();
        let look_for_names = config.classes.iter().any(|class| !class.matches.named.is_empty());
        let (share, workers) = (config.cpu.share, f64::from(config.cpu.workers.max(1)));
        Self { classes, share, workers, look_for_names, scratch: Vec::new() }
    }

    /// Gives each class an instance of its program: the one that ran in the same class in `before` if it is the same
    /// version, else a new one.
    pub(super) fn fill(&mut self, programs: Option<&Library>, mut before: Option<&mut Self>) {
        for class in &mut self.classes {
            if let Some(slot) = &mut class.program {
                let name = &class.config.name;
                let before = before.as_deref_mut().and_then(|before| before.named_mut(name)?.program.as_mut());
                slot.fill(name, programs, before);
            }
        }
    }

    fn named_mut(&mut self, name: &str) -> Option<&mut Class> {
        self.classes.iter_mut().find(|class| *class.config.name == *name)
    }

    /// Whether the class of this name does the same work in both sets, down to the version of its program.
    pub(super) fn does_the_same(&self, before: &Self, name: &str) -> bool {
        let [new, old] = [self, before].map(|all| all.classes.iter().find(|class| *class.config.name == *name));
        new.zip(old).is_some_and(|(new, old)| new.does_the_same(old))
    }

    /// Whether every class does the same work in both sets.
    pub(super) fn all_do_the_same(&self, before: &Self) -> bool {
        self.classes.iter().all(|class| self.does_the_same(before, &class.config.name))
    }

    /// Maximum growth of a packet by functions and programs, over all classes.
    pub(super) fn growth_bytes(&self) -> u32 {
        self.classes.iter().map(Class::forwarded_growth).max().unwrap_or(0)
    }

    /// Maximum growth of a packet of this class, if the processed frame is forwarded.
    pub(super) fn grows_by(&self, class: u16) -> u32 {
        self.classes[usize::from(class)].forwarded_growth()
    }

    /// Whether any class matches packets by the names that they carry.
    pub(super) fn look_for_names(&self) -> bool {
        self.look_for_names
    }

    /// The first class that a packet matches. Linear in the values that the classes list.
    pub(super) fn of(&self, marks: &Marks) -> u16 {
        let last = self.classes.len() - 1;
        self.classes[..last].iter().position(|class| class.config.matches.fits(marks)).unwrap_or(last) as u16
    }

    pub(super) fn weight(&self, class: u16) -> Weight {
        self.classes[usize::from(class)].config.weight
    }

    /// The program table for the policy: one entry per class.
    pub(super) fn programs(&self) -> ProgramTable {
        let program = |class: &Class| {
            let measured = class.program.as_ref().and_then(Slot::facts);
            let reads_all = class.config.functions.iter().any(|entry| entry.processing == Processing::Payload)
                || measured.is_some_and(|program| program.processing == Processing::Payload);
            let processing = if reads_all { Processing::Payload } else { Processing::Header };
            let applied = measured.filter(|_| class.config.effect == Effect::Apply);
            Program {
                processing,
                cost: measured.and_then(|program| class.known_cost(program.cost?, self.share * self.workers)),
                expansion: applied.map_or(1.0, |program| program.expansion),
                ..Program::new(&class.config.name)
            }
        };
        ProgramTable::new(self.classes.iter().map(program).collect())
    }

    /// Removes scaling: functions get a whole CPU from here on.
    pub(super) fn finish_fast(&mut self) {
        self.share = 1.0;
        for class in &mut self.classes {
            class.config.cost = 1.0;
            class.config.time = None;
        }
    }

    /// Runs a class's functions and program on a frame and measures the time.
    pub(super) fn work(&mut self, class: u16, frame: &mut Vec<u8>, counters: &mut ProgramCounters) -> Worked {
        let class = &mut self.classes[usize::from(class)];
        let bytes = frame.len() as u32;
        let counted = |ns: f64| Nanos::from_f64(ns * class.config.cost / self.share);
        let given = class.config.time.map(|time| counted(time.mean_ns(bytes.into())));
        if class.chain.is_empty() && class.program.is_none() {
            return Worked { took: given.unwrap_or(Nanos::ZERO), ended_by: None, is_preempted: false, ended: None };
        }
        let failed = counters.failed();
        let frame = if class.needs_copy {
            self.scratch.clear();
            self.scratch.extend_from_slice(frame);
            &mut self.scratch
        } else {
            frame
        };
        let started = clock::now();
        let ended_by = class.run(frame, counters).filter(|_| class.config.effect == Effect::Apply);
        if let Some(took) = given {
            return Worked { took, ended_by, is_preempted: false, ended: None };
        }
        let ended = clock::now();
        let measured = (ended - started).as_f64();
        // A packet on which a program fails may take far longer than others, and that time is the program's own.
        let has_failed = counters.failed() > failed;
        let (usual, is_preempted) = if has_failed { (measured, false) } else { class.usual_for(measured) };
        let took = Nanos::from_f64(usual * class.config.cost / self.share);
        Worked { took, ended_by, is_preempted, ended: Some(ended) }
    }
}

impl Class {
    fn run(&mut self, frame: &mut Vec<u8>, counters: &mut ProgramCounters) -> Option<By> {
        let mut is_as_it_came = true;
        for (function, entry) in self.chain.iter_mut().zip(&self.config.functions) {
            if let Verdict::Drop(reason) = function.process(frame) {
                return Some(By::Function(Ended { reason, is_as_it_came }));
            }
            is_as_it_came &= !entry.changes_frames;
        }
        let program = self.program.as_mut()?;
        matches!(program.process(frame, counters), Verdict::Drop(_)).then_some(By::Program)
    }

    /// Maximum growth of a forwarded packet: none where frames leave as they came.
    fn forwarded_growth(&self) -> u32 {
        if self.config.effect == Effect::Discard {
            return 0;
        }
        let functions: u32 = self.config.functions.iter().map(|entry| entry.growth_bytes).sum();
        functions + self.program.as_ref().map_or(0, Slot::growth_bytes)
    }

    fn does_the_same(&self, before: &Self) -> bool {
        let names = |class: &Self| class.config.functions.iter().map(|entry| entry.name).collect::<Vec<_>>();
        let is_same_program = match (&self.program, &before.program) {
            (Some(new), Some(old)) => new.is_same(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        is_same_program && names(self) == names(before)
    }

    /// Processing time of a packet at this share of a CPU, if the class only runs a program, measured to cost `program`.
    fn known_cost(&self, program: Cost, share: f64) -> Option<Cost> {
        let factor = self.config.cost / share;
        let is_alone = self.config.functions.is_empty() && self.config.time.is_none();
        let stretched = || Cost::new(program.per_byte_ns() * factor, program.per_packet_ns() * factor).ok();
        is_alone.then(stretched).flatten()
    }

    /// The measured time, or the usual one if the thread was preempted during the measurement, and whether it was.
    fn usual_for(&mut self, measured: f64) -> (f64, bool) {
        /// A measurement above this multiple of the usual time counts as preempted: on a busy machine, the longest times of
        /// the functions themselves were below it.
        const PREEMPTED: f64 = 4.0;
        /// Minimum duration of a preemption in nanoseconds: shorter delays are the function's own, such as a table that is
        /// not in the cache.
        const MIN_PREEMPTION_NS: f64 = 20_000.0;
        /// Weight of the newest measurement.
        const GAIN: f64 = 1.0 / 16.0;
        let Some(usual) = self.usual else {
            self.usual = Some(measured);
            return (measured, false);
        };
        if measured > MIN_PREEMPTION_NS.max(PREEMPTED * usual) {
            // Still follow a lasting change of cost, a little with each packet.
            self.usual = Some(usual * (1.0 + GAIN));
            return (usual, true);
        }
        self.usual = Some(usual + GAIN * (measured - usual));
        (measured, false)
    }
}
