//! A compiled program, ready to run.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use wasmtime::{Engine, Module};

use super::{
    error::{Flaw, printable},
    inspect::inspect,
    limits::ProgramLimits,
};

/// Version of a program: each compilation gets a new number, greater than all before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(u64);

impl Generation {
    fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Machine code and its program's name.
pub(super) struct Compiled {
    pub(super) name: Arc<str>,
    pub(super) generation: Generation,
    pub(super) engine: Engine,
    pub(super) module: Module,
    /// Whether the first failure of an instance has been told.
    has_told: AtomicBool,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("name", &self.name)
            .field("generation", &self.generation)
            .finish_non_exhaustive()
    }
}

impl Compiled {
    /// Compiles a module, unless that would take too long.
    pub(super) fn new(engine: &Engine, name: &str, module: &[u8], limits: &ProgramLimits) -> Result<Self, Flaw> {
        inspect(module, limits)?;
        // A panic would be the compiler's own fault. It must not end the thread on which the other programs are compiled.
        let compile = || Module::from_binary(engine, module);
        let module = match catch_unwind(AssertUnwindSafe(compile)) {
            Ok(Ok(module)) => module,
            Ok(Err(error)) => return Err(Flaw::Invalid(printable(format_args!("{error:#}")))),
            Err(_) => return Err(Flaw::Compiler("it panicked".to_owned())),
        };
        Ok(Self {
            name: name.into(),
            generation: Generation::next(),
            engine: engine.clone(),
            module,
            has_told: AtomicBool::new(false),
        })
    }

    /// Whether this is the first failure that any instance tells; the next ones are not.
    pub(super) fn tells(&self) -> bool {
        !self.has_told.swap(true, Ordering::Relaxed)
    }
}
