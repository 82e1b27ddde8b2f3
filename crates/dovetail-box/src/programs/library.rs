//! The set of compiled programs.

use std::{collections::BTreeMap, fmt, path::Path, sync::Arc};

use dovetail_sched::Nanos;
use ring::digest::{Digest, SHA256, digest};
use wasmtime::Engine;

use super::{
    compiled::{Compiled, Generation},
    engine::engine,
    error::{Flaw, FolderError, ProgramError, printable},
    folder,
    limits::ProgramLimits,
    measure::{LENGTHS, Measured, measure},
    program::Program,
};
use crate::functions::Processing;

/// Compiled programs by name. Cheap to clone; a clone does not change when the folder is loaded again.
#[derive(Clone)]
pub struct Library {
    engine: Engine,
    limits: ProgramLimits,
    programs: Arc<BTreeMap<String, Entry>>,
}

#[derive(Clone)]
struct Entry {
    compiled: Arc<Compiled>,
    digest: Digest,
    measured: Option<Arc<Measured>>,
}

/// Result of loading a folder.
#[derive(Debug)]
pub struct Load {
    /// The programs that can be run.
    pub library: Library,
    /// Errors of the others, in order of name.
    pub errors: Vec<ProgramError>,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.programs.values().map(|entry| &entry.compiled)).finish()
    }
}

impl Library {
    /// A library without programs.
    ///
    /// # Errors
    /// When programs cannot be compiled for this machine.
    pub fn new(limits: ProgramLimits) -> Result<Self, Flaw> {
        let engine = engine().map_err(|error| Flaw::Compiler(printable(format_args!("{error:#}"))))?;
        Ok(Self { engine, limits, programs: Arc::default() })
    }

    /// Loads the programs of a folder; see [`reload`](Self::reload).
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn load(folder: &Path, limits: ProgramLimits) -> Result<Load, FolderError> {
        let library = Self::new(limits).map_err(FolderError::NoCompiler)?;
        library.reload(folder, None)
    }

    /// Loads the current programs of the folder. A file that has not changed keeps its program and its generation. If a
    /// file cannot be run, that is an error of this file, and the program of its name in this library stays. With a `clock`
    /// each new program is measured, and rejected if it fails then.
    ///
    /// This compiles, which takes milliseconds for a small program and much longer for a large one: on a thread that
    /// forwards packets use a [`Loader`](super::Loader).
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn reload(&self, folder: &Path, mut clock: Option<&mut dyn FnMut() -> Nanos>) -> Result<Load, FolderError> {
        let (mut programs, mut errors) = (BTreeMap::new(), Vec::new());
        for path in folder::files(folder)? {
            let named = folder::name(&path).map(str::to_owned);
            let old = named.as_ref().ok().and_then(|name| self.programs.get_key_value(name));
            let made = named.and_then(|name| {
                let entry = self.entry(&name, &folder::read(&path)?, &mut clock)?;
                Ok((name, entry))
            });
            match made {
                Ok((name, entry)) => drop(programs.insert(name, entry)),
                Err(flaw) => {
                    errors.push(ProgramError { old_serves: old.is_some(), ..ProgramError::new(&path, flaw) });
                    programs.extend(old.map(|(name, entry)| (name.clone(), entry.clone())));
                }
            }
        }
        Ok(Load { library: Self { programs: Arc::new(programs), ..self.clone() }, errors })
    }

    /// Adds a program from memory, or replaces the one of this name, which stays if the new one cannot be run.
    ///
    /// # Errors
    /// Why it cannot be run.
    pub fn insert(
        &mut self,
        name: &str,
        module: &[u8],
        mut clock: Option<&mut dyn FnMut() -> Nanos>,
    ) -> Result<(), ProgramError> {
        let entry = if folder::is_name(name) { self.entry(name, module, &mut clock) } else { Err(Flaw::Name) };
        let old_serves = self.programs.contains_key(name);
        let entry = entry.map_err(|flaw| ProgramError { old_serves, ..ProgramError::new(Path::new(name), flaw) })?;
        Arc::make_mut(&mut self.programs).insert(name.to_owned(), entry);
        Ok(())
    }

    /// The entry of a program in the next library.
    fn entry(&self, name: &str, module: &[u8], clock: &mut Option<&mut dyn FnMut() -> Nanos>) -> Result<Entry, Flaw> {
        let digest = digest(&SHA256, module);
        if let Some(same) = self.programs.get(name).filter(|entry| entry.digest.as_ref() == digest.as_ref()) {
            return Ok(same.clone());
        }
        let compiled = Arc::new(Compiled::new(&self.engine, name, module, &self.limits)?);
        // Also verifies that it can be instantiated.
        let mut first = Program::new(compiled.clone(), self.limits, Processing::default())?;
        let measured = match clock {
            Some(clock) => Some(Arc::new(measure(&mut first, LENGTHS, clock)?)),
            None => None,
        };
        Ok(Entry { compiled, digest, measured })
    }

    /// The names of its programs, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.programs.keys().map(String::as_str)
    }

    /// The version of a program in this library. An instance with another [`Program::generation`] is stale: the program has
    /// been replaced, or removed if this is `None`.
    #[must_use]
    pub fn generation(&self, name: &str) -> Option<Generation> {
        Some(self.programs.get(name)?.compiled.generation)
    }

    /// The measured cost of a program, if it was measured.
    #[must_use]
    pub fn measured(&self, name: &str) -> Option<&Measured> {
        self.programs.get(name)?.measured.as_deref()
    }

    /// A new instance of a program.
    ///
    /// # Errors
    /// When there is no such program, or no memory for it.
    pub fn instantiate(&self, name: &str) -> Result<Program, ProgramError> {
        let error = |flaw| ProgramError::new(Path::new(name), flaw);
        let entry = self.programs.get(name).ok_or_else(|| error(Flaw::Unknown))?;
        let processing = entry.measured.as_ref().map_or_else(Processing::default, |known| known.program.processing);
        Program::new(entry.compiled.clone(), self.limits, processing).map_err(error)
    }
}
