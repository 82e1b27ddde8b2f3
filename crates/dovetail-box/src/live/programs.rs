//! The programs of a running box: a folder that is compiled on another thread, and one instance for each class.

use std::{path::PathBuf, thread};

use dovetail_sched::cost;

use super::{LiveError, clock, counters::ProgramCounters, privileges};
pub(super) use crate::programs::Library;
use crate::{
    config::Config,
    functions::{NetworkFunction, Reason, Verdict},
    programs::{FolderError, Generation, Load, Loader, Program},
};

/// The folder and its compiled programs.
#[derive(Debug)]
pub(super) struct Programs {
    folder: PathBuf,
    loader: Loader,
    library: Library,
}

impl Programs {
    /// Loads the folder, if the configuration has one, and warns of files that cannot be run. Blocks until compilation
    /// ends.
    ///
    /// # Errors
    /// When the folder does not exist, or nothing can be compiled.
    pub(super) fn open(config: &Config) -> Result<Option<Self>, LiveError> {
        let Some(opened) = load(config)? else { return Ok(None) };
        let (programs, errors) = opened;
        for error in errors {
            tracing::warn!("{error}");
        }
        Ok(Some(programs))
    }

    /// The compiled programs.
    pub(super) fn library(&self) -> &Library {
        &self.library
    }

    /// Starts loading the folder again. Does not block: [`poll`](Self::poll) tells when that has ended.
    pub(super) fn reload(&mut self) {
        self.loader.reload(&self.folder);
    }

    /// Whether a load has ended. Classes are filled with its programs from then on.
    pub(super) fn poll(&mut self) -> bool {
        match self.loader.poll() {
            Some(Ok(Load { library, errors })) => {
                for error in errors {
                    tracing::warn!("{error}");
                }
                self.library = library;
                true
            }
            Some(Err(error)) => {
                tracing::warn!("{error}; the programs from before stay in use");
                true
            }
            None if self.loader.has_ended() => {
                tracing::warn!("programs can no longer be compiled; those from before stay in use");
                true
            }
            None => false,
        }
    }
}

/// Warnings that a box with this configuration would log.
///
/// # Errors
/// Same as for [`Programs::open`].
pub(super) fn check(config: &Config) -> Result<Vec<String>, LiveError> {
    let Some((programs, errors)) = load(config)? else { return Ok(Vec::new()) };
    let missing = config.classes.iter().filter_map(|class| {
        let name = class.program.as_deref()?;
        programs.library.generation(name).is_none().then(|| missing(&class.name, name))
    });
    Ok(errors.into_iter().chain(missing).collect())
}

fn load(config: &Config) -> Result<Option<(Programs, Vec<String>)>, LiveError> {
    let Some(found) = &config.programs else { return Ok(None) };
    let error = |error: FolderError| LiveError::Programs(error.to_string());
    let library = Library::new(found.limits).map_err(|flaw| error(FolderError::NoCompiler(flaw)))?;
    // Threads inherit capabilities: a compiler needs none.
    let start = || {
        privileges::drop_capabilities();
        Loader::start(library, Some(Box::new(clock::now)))
    };
    let loader =
        thread::scope(|scope| scope.spawn(start).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    let loader = loader.map_err(|wrong| LiveError::Programs(wrong.to_string()))?;
    loader.reload(&found.folder);
    let ended = || LiveError::Programs("the compiler's thread ended".into());
    let Load { library, errors } = loader.wait().ok_or_else(ended)?.map_err(error)?;
    let errors = errors.into_iter().map(|error| error.to_string()).collect();
    Ok(Some((Programs { folder: found.folder.clone(), loader, library }, errors)))
}

fn missing(class: &str, program: &str) -> String {
    format!("class {class}: there is no program {program}: its packets go on without")
}

/// The program of a class.
#[derive(Debug)]
pub(super) struct Slot {
    name: String,
    generation: Option<Generation>,
    facts: Option<cost::Program>,
    growth_bytes: u32,
    instance: Option<Program>,
}

impl Slot {
    /// A slot for the current version of a program, without an instance.
    pub(super) fn new(name: &str, programs: Option<&Programs>) -> Self {
        let library = programs.map(|programs| &programs.library);
        let measured = library.and_then(|library| library.measured(name));
        let growth = |measured: &crate::programs::Measured| {
            let grown = measured.samples.iter().filter_map(|one| Some(one.bytes_out?.saturating_sub(one.bytes)));
            grown.max().unwrap_or(0)
        };
        Self {
            name: name.to_owned(),
            generation: library.and_then(|library| library.generation(name)),
            facts: measured.map(|measured| measured.program.clone()),
            growth_bytes: measured.map_or(0, growth),
            instance: None,
        }
    }

    /// Whether it is the same version of the same program.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.name, self.generation) == (&other.name, other.generation)
    }

    /// Takes over the previous instance if it is of the same version, or creates one.
    pub(super) fn fill(&mut self, class: &str, library: Option<&Library>, before: Option<&mut Self>) {
        let before = before.filter(|before| self.is_same(before));
        self.instance = before.and_then(|before| before.instance.take());
        if self.instance.is_some() {
            return;
        }
        let Some(library) = library.filter(|_| self.generation.is_some()) else {
            tracing::warn!("{}", missing(class, &self.name));
            return;
        };
        match library.instantiate(&self.name) {
            Ok(instance) => self.instance = Some(instance),
            Err(error) => tracing::warn!("class {class}: {error}: its packets go on without"),
        }
    }

    /// Measurements of the program.
    pub(super) fn facts(&self) -> Option<&cost::Program> {
        self.facts.as_ref()
    }

    /// Maximum observed growth of a packet in bytes.
    pub(super) fn growth_bytes(&self) -> u32 {
        self.growth_bytes
    }

    /// Runs it on a frame. A missing program leaves the frame unchanged.
    pub(super) fn process(&mut self, frame: &mut Vec<u8>, counters: &mut ProgramCounters) -> Verdict {
        let Some(program) = &mut self.instance else {
            counters.missing += 1;
            return Verdict::Untouched;
        };
        let was_quarantined = program.is_quarantined();
        counters.quarantined += u64::from(was_quarantined);
        let verdict = program.process(frame);
        match verdict {
            Verdict::Drop(Reason::Refused) => counters.refused += 1,
            Verdict::Drop(Reason::Trapped) => counters.trapped += 1,
            Verdict::Drop(Reason::OutOfFuel) => counters.out_of_fuel += 1,
            Verdict::Drop(Reason::BadAnswer) => counters.bad_answers += 1,
            _ => {}
        }
        if !was_quarantined && program.is_quarantined() {
            tracing::warn!("program {} has failed too often, and is not run until its file is another", self.name);
        }
        verdict
    }
}
