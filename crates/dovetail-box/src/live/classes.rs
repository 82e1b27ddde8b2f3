//! Classes at work: which packet is of which, what is done with it, and what that costs.

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

/// Seed of the keys and tables of functions, which are examples; other workers have those after it.
const SEED: u64 = 1;

/// The functions of each class of a configuration, for one who does work.
pub(super) struct Chains(Vec<Vec<Box<dyn NetworkFunction>>>);

impl Chains {
    /// Those of each worker, with the configuration's keys and routes where it has some. Builds their tables, which may take
    /// longer than the box may be silent: not for its own thread while it runs. No two workers have the same example's keys.
    ///
    /// # Errors
    /// That sequence numbers cannot be kept.
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

    /// For who does no work.
    pub(super) fn none(config: &config::Config) -> Self {
        Self(config.classes.iter().map(|_| Vec::new()).collect())
    }
}

/// The classes of a box.
pub(super) struct Classes {
    classes: Vec<Class>,
    /// Which part of a CPU functions have.
    share: f64,
    /// How many workers there are, which are one CPU to the policy.
    workers: f64,
    /// Whether any of them takes packets by the names that they carry.
    look_for_names: bool,
    /// For frames that are to go on as they came.
    scratch: Vec<u8>,
}

struct Class {
    config: config::Class,
    chain: Vec<Box<dyn NetworkFunction>>,
    /// Whether it works on copies: what it may change is to go on as it came.
    needs_copy: bool,
    /// What comes after it.
    program: Option<Slot>,
    /// What a packet's work took lately, unstretched.
    usual: Option<f64>,
}

/// Who ends a frame's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Function(Ended),
    Program,
}

/// How a function ends a frame's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub reason: Reason,
    /// Whether no function before it has changed the frame: what its sender sent.
    pub is_as_it_came: bool,
}

/// What the work on a frame came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Worked {
    /// How long it takes the CPU that the policy shares out.
    pub took: Nanos,
    /// Who ended the frame's way, if it does not go on.
    pub ended_by: Option<By>,
    /// Whether something else ran in between, and the usual time stands for the measured one.
    pub is_preempted: bool,
    /// When it had been done, if the clock was read.
    pub ended: Option<Nanos>,
}

impl Classes {
    /// Classes whose programs still lack instances: [`fill`](Self::fill) gives them some.
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

    /// Gives each class the instance of its program: the one that ran in the same class before, where that is the same
    /// version, and else a new one.
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

    /// Whether the class of this name does the same work in both, down to the version of its program.
    pub(super) fn does_the_same(&self, before: &Self, name: &str) -> bool {
        let [new, old] = [self, before].map(|all| all.classes.iter().find(|class| *class.config.name == *name));
        new.zip(old).is_some_and(|(new, old)| new.does_the_same(old))
    }

    /// Whether every class does the same work in both.
    pub(super) fn all_do_the_same(&self, before: &Self) -> bool {
        self.classes.iter().all(|class| self.does_the_same(before, &class.config.name))
    }

    /// By how much functions and programs may make a packet longer.
    pub(super) fn growth_bytes(&self) -> u32 {
        self.classes.iter().map(Class::growth_bytes).max().unwrap_or(0)
    }

    /// By how much the work of a class makes a packet longer at most, if what it makes goes on.
    pub(super) fn grows_by(&self, class: u16) -> u32 {
        let class = &self.classes[usize::from(class)];
        if class.config.effect == Effect::Apply { class.growth_bytes() } else { 0 }
    }

    /// Whether any of them takes packets by the names that they carry.
    pub(super) fn look_for_names(&self) -> bool {
        self.look_for_names
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

    /// From now on functions have a whole CPU.
    pub(super) fn finish_fast(&mut self) {
        self.share = 1.0;
        for class in &mut self.classes {
            class.config.cost = 1.0;
            class.config.time = None;
        }
    }

    /// Does a class's work on a frame, and times it.
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
        // A packet on which a program fails may take far longer than others, and that is the program's own time.
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

    fn growth_bytes(&self) -> u32 {
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

    /// What a packet's work takes with this share of a CPU, where it is that of a program alone, which was measured to take
    /// `program`.
    fn known_cost(&self, program: Cost, share: f64) -> Option<Cost> {
        let factor = self.config.cost / share;
        let is_alone = self.config.functions.is_empty() && self.config.time.is_none();
        let stretched = || Cost::new(program.per_byte_ns() * factor, program.per_packet_ns() * factor).ok();
        is_alone.then(stretched).flatten()
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
