//! The programs of a running box: a folder that is compiled on another thread, and one instance for each class.

use std::path::PathBuf;

use dovetail_sched::{cost, nearest, or_meant};

use super::{LiveError, clock, counters::ProgramCounters, elsewhere::elsewhere, privileges};
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
                tracing::warn!("{error}; the previous programs stay in use");
                true
            }
            None if self.loader.has_ended() => {
                tracing::warn!("programs can no longer be compiled; the previous ones stay in use");
                true
            }
            None => false,
        }
    }
}

/// The measured costs of the programs, and the warnings that a box with this configuration would log.
///
/// # Errors
/// Same as for [`Programs::open`].
pub(super) fn check(config: &Config) -> Result<(String, Vec<String>), LiveError> {
    let Some((Programs { library, .. }, errors)) = load(config)? else { return Ok(Default::default()) };
    let missing = config.classes.iter().filter_map(|class| {
        let name = class.program.as_deref()?;
        library.generation(name).is_none().then(|| missing(&class.name, name, Some(&library)))
    });
    let mut costs = String::new();
    for (name, measured) in library.names().filter_map(|name| Some((name, library.measured(name)?))) {
        if costs.is_empty() {
            costs.push_str("\nprograms, measured on this machine:\n");
        }
        costs.push_str(&format!("  {name:<17} {measured}\n"));
    }
    Ok((costs, errors.into_iter().chain(missing).collect()))
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
    let loader = elsewhere(start).map_err(|wrong| LiveError::Programs(wrong.to_string()))?;
    loader.reload(&found.folder);
    let ended = || LiveError::Programs("the compiler's thread ended".into());
    let Load { library, errors } = loader.wait().ok_or_else(ended)?.map_err(error)?;
    let errors = errors.into_iter().map(|error| error.to_string()).collect();
    Ok(Some((Programs { folder: found.folder.clone(), loader, library }, errors)))
}

fn missing(class: &str, program: &str, library: Option<&Library>) -> String {
    const MAX_NAMED: usize = 10;
    let known: Vec<_> = library.into_iter().flat_map(Library::names).collect();
    let meant = or_meant(nearest(program, known.iter().copied()));
    let mut list = known.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if list.is_empty() {
        list.push_str("nor any other");
    } else {
        list.insert_str(0, "only ");
    }
    if let Some(more @ 1..) = known.len().checked_sub(MAX_NAMED) {
        list.push_str(&format!(" and {more} more"));
    }
    format!("class {class}: there is no program {program}{meant}, {list}: {PASSING}")
}

/// What happens to the packets of a class whose program does not run.
const PASSING: &str = "its packets pass without a program";

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
        let Some(found) = library.filter(|_| self.generation.is_some()) else {
            tracing::warn!("{}", missing(class, &self.name, library));
            return;
        };
        match found.instantiate(&self.name) {
            Ok(instance) => self.instance = Some(instance),
            Err(error) => tracing::warn!("class {class}: {error}: {PASSING}"),
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
        let failed = matches!(verdict, Verdict::Drop(Reason::Trapped | Reason::OutOfFuel | Reason::BadAnswer));
        if let Some(how) = if failed { program.first_failure() } else { None } {
            tracing::warn!(
                "program {} fails on a frame of {} bytes: it {how}; further failures of this version are only counted",
                self.name,
                frame.len()
            );
        }
        if !was_quarantined && program.is_quarantined() {
            tracing::warn!("program {} has failed too often, and is quarantined until its file changes", self.name);
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fmt::{Debug, Write},
        fs,
        path::Path,
        sync::{Arc, Mutex},
    };

    use tracing::{
        Event, Metadata, Subscriber,
        field::{Field, Visit},
        span::{Attributes, Id, Record},
    };

    use super::*;

    /// Keeps the messages that are logged.
    #[derive(Clone, Default)]
    struct Heard(Arc<Mutex<Vec<String>>>);

    struct Message(String);

    impl Visit for Message {
        fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
            write!(self.0, "{value:?}").unwrap();
        }
    }

    impl Subscriber for Heard {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut message = Message(String::new());
            event.record(&mut message);
            self.0.lock().unwrap().push(message.0);
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// A program whose `dv_process` has this body.
    fn write(folder: &Path, name: &str, body: &str) {
        let text = format!(
            r#"(module (memory (export "memory") 3)
                (func (export "dv_abi") (result i32) (i32.const 1))
                (func (export "dv_buffer") (param i32) (result i32) (i32.const 1024))
                (func (export "dv_process") (param $frame i32) (param $length i32) (param $most i32) (result i64) {body}))"#
        );
        fs::write(folder.join(name).with_extension("wasm"), wat::parse_str(text).unwrap()).unwrap();
    }

    fn config(folder: &Path, program: &str) -> Config {
        let folder = folder.display();
        Config::parse(&format!(
            "[box]\ninside = \"eth1\"\noutside = \"eth2\"\npolicy = \"drfq\"\n[link]\nrate = \"200Mbps\"\n\
             [programs]\nfolder = \"{folder}\"\ntraps = 3\n[[class]]\nname = \"some\"\nports = [1]\nprogram = \"{program}\"\n"
        ))
        .unwrap()
    }

    #[test]
    fn costs_are_shown_and_a_missing_program_has_a_suggestion() {
        let folder = tempfile::tempdir().unwrap();
        let (costs, warnings) = check(&config(folder.path(), "mrak")).unwrap();
        let passing = "its packets pass without a program";
        assert_eq!(
            (costs.as_str(), warnings),
            ("", vec![format!("class some: there is no program mrak, nor any other: {passing}")])
        );
        write(folder.path(), "mark", "(i64.const 0)");
        write(folder.path(), "seal", "(i64.const 0)");
        let (costs, warnings) = check(&config(folder.path(), "mrak")).unwrap();
        let said = "class some: there is no program mrak (did you mean mark?), only mark, seal";
        assert_eq!(warnings, [format!("{said}: {passing}")]);
        // The figures are the machine's.
        let digits: String = costs.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let line = "ns per byte + ns per packet, up to fuel per packet";
        let words: Vec<_> = digits.split_whitespace().filter(|word| *word != ".").collect();
        assert_eq!(words.join(" "), format!("programs, measured on this machine: mark {line} seal {line}"));
        for number in 0..20 {
            write(folder.path(), &format!("other{number}"), "(i64.const 0)");
        }
        let (_, warnings) = check(&config(folder.path(), "unlike")).unwrap();
        assert!(warnings[0].starts_with("class some: there is no program unlike, only mark, other0, "), "{warnings:?}");
        assert!(warnings[0].ends_with(&format!(" and 12 more: {passing}")), "{warnings:?}");
        assert_eq!(check(&config(folder.path(), "mark")).unwrap().1, [""; 0]);
    }

    #[test]
    fn the_first_failure_and_the_quarantine_are_logged() {
        let folder = tempfile::tempdir().unwrap();
        // Frames that it is measured with are longer.
        let short = "(i32.lt_u (local.get $length) (i32.const 30))";
        write(folder.path(), "mark", &format!("(if {short} (then unreachable)) (i64.const 0)"));
        let programs = Programs::open(&config(folder.path(), "mark")).unwrap();
        let mut counters = ProgramCounters::default();
        let heard = Heard::default();
        tracing::subscriber::with_default(heard.clone(), || {
            // As of two workers.
            for _ in 0..2 {
                let mut slot = Slot::new("mark", programs.as_ref());
                slot.fill("some", programs.as_ref().map(Programs::library), None);
                for _ in 0..5 {
                    slot.process(&mut vec![0; 20], &mut counters);
                }
            }
        });
        assert_eq!((counters.trapped, counters.quarantined), (6, 4));
        let quarantined = "program mark has failed too often, and is quarantined until its file changes";
        assert_eq!(
            *heard.0.lock().unwrap(),
            [
                "program mark fails on a frame of 20 bytes: it traps (wasm trap: wasm `unreachable` instruction executed); \
                 further failures of this version are only counted",
                quarantined,
                quarantined
            ]
        );
    }
}
