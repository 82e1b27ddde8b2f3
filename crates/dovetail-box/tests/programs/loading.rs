//! Programs that are replaced and removed while they run.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use dovetail_box::{
    functions::{NetworkFunction, Reason, Verdict},
    programs::{FolderError, Library, Load, Loader, Program, ProgramLimits},
};
use dovetail_sched::Nanos;

use crate::writing::{handling, wasm};

fn write(folder: &Path, name: &str, body: &str) {
    fs::write(folder.join(name).with_extension("wasm"), wasm(&handling(body))).unwrap();
}

const UNTOUCHED: &str = "(i64.const 0)";
const DROP: &str = "(i64.const 0x0200000000000000)";

fn verdict(program: &mut Program) -> Verdict {
    program.process(&mut vec![0; 60])
}

fn reload(library: &Library, folder: &Path) -> Load {
    library.reload(folder, None).unwrap()
}

#[test]
fn what_has_changed_is_new_and_what_has_not_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "kept", UNTOUCHED);
    write(folder.path(), "replaced", UNTOUCHED);
    write(folder.path(), "removed", UNTOUCHED);
    let first = reload(&Library::new(ProgramLimits::default()).unwrap(), folder.path()).library;
    let mut old = first.instantiate("replaced").unwrap();
    assert_eq!(Some(old.generation()), first.generation("replaced"));

    write(folder.path(), "replaced", DROP);
    write(folder.path(), "added", DROP);
    fs::remove_file(folder.path().join("removed.wasm")).unwrap();
    let second = reload(&first, folder.path()).library;
    assert_eq!(second.names().collect::<Vec<_>>(), ["added", "kept", "replaced"]);
    assert_eq!(second.generation("kept"), first.generation("kept"));
    assert!(second.generation("replaced") > first.generation("replaced"));
    assert_eq!(second.generation("removed"), None);
    // The old instance keeps running until its owner takes the new one, whatever happens to the libraries.
    drop(first);
    assert_ne!(Some(old.generation()), second.generation("replaced"));
    assert_eq!(verdict(&mut old), Verdict::Untouched);
    let mut new = second.instantiate("replaced").unwrap();
    drop(second);
    assert_eq!(verdict(&mut new), Verdict::Drop(Reason::Refused));
}

#[test]
fn a_broken_replacement_leaves_the_old_version() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "program", UNTOUCHED);
    let first = reload(&Library::new(ProgramLimits::default()).unwrap(), folder.path()).library;
    fs::write(folder.path().join("program.wasm"), b"half of it").unwrap();
    let Load { library, errors } = reload(&first, folder.path());
    assert_eq!(library.generation("program"), first.generation("program"));
    let said = errors[0].to_string();
    assert!(said.ends_with("; the previous version stays in use"), "{said}");
    assert_eq!(verdict(&mut library.instantiate("program").unwrap()), Verdict::Untouched);
    // Restored to the original: still no new version.
    write(folder.path(), "program", UNTOUCHED);
    assert_eq!(reload(&library, folder.path()).library.generation("program"), first.generation("program"));
}

#[test]
fn quarantine_ends_with_another_version() {
    let limits = ProgramLimits { traps: 1, ..ProgramLimits::default() };
    let mut library = Library::new(limits).unwrap();
    library.insert("program", &wasm(&handling("unreachable")), None).unwrap();
    let mut program = library.instantiate("program").unwrap();
    verdict(&mut program);
    assert!(program.is_quarantined());
    library.insert("program", &wasm(&handling("unreachable")), None).unwrap();
    assert_eq!(library.generation("program"), Some(program.generation()), "the same is no other version");
    library.insert("program", &wasm(&handling(UNTOUCHED)), None).unwrap();
    assert!(library.generation("program") > Some(program.generation()));
    assert!(!library.instantiate("program").unwrap().is_quarantined());
}

#[test]
fn a_clone_does_not_change_with_the_library() {
    let mut library = Library::new(ProgramLimits::default()).unwrap();
    let before = library.clone();
    library.insert("program", &wasm(&handling(UNTOUCHED)), None).unwrap();
    assert_eq!((before.names().count(), library.names().count()), (0, 1));
    assert!(library.insert("no name", &wasm(&handling(UNTOUCHED)), None).is_err());
}

/// The loader's next result, with a timeout for a hanging test.
fn next(loader: &Loader) -> Result<Load, FolderError> {
    let begun = Instant::now();
    loop {
        if let Some(load) = loader.poll() {
            return load;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "the loader never answers");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_loader_compiles_beside_the_loop() {
    let folder = tempfile::tempdir().unwrap();
    let mut time = 0;
    let clock = move || {
        time += 1000;
        Nanos(time)
    };
    let empty = Library::new(ProgramLimits::default()).unwrap();
    let loader = Loader::start(empty, Some(Box::new(clock))).unwrap();
    assert!(loader.poll().is_none());
    write(folder.path(), "program", UNTOUCHED);
    assert!(loader.reload(folder.path()));
    let first = next(&loader).unwrap().library;
    assert!(first.measured("program").is_some());
    // Meanwhile a thread runs the old version.
    let mut running = first.instantiate("program").unwrap();
    write(folder.path(), "program", DROP);
    assert!(loader.reload(folder.path()));
    let second = loop {
        assert_eq!(verdict(&mut running), Verdict::Untouched);
        if let Some(load) = loader.poll() {
            break load.unwrap().library;
        }
    };
    let mut running = second.instantiate("program").unwrap();
    assert_eq!(verdict(&mut running), Verdict::Drop(Reason::Refused));
    // A folder that cannot be read changes nothing.
    assert!(loader.reload(&folder.path().join("nowhere")));
    assert!(next(&loader).is_err());
    assert!(loader.reload(folder.path()));
    assert_eq!(next(&loader).unwrap().library.generation("program"), Some(running.generation()));
}

#[test]
fn asking_a_loader_never_waits_and_its_last_answer_is_the_last_state() {
    let folder = tempfile::tempdir().unwrap();
    let loader = Loader::start(Library::new(ProgramLimits::default()).unwrap(), None).unwrap();
    let mut accepted = 0;
    for number in 0..50 {
        write(folder.path(), &format!("p{number}"), UNTOUCHED);
        accepted += usize::from(loader.reload(folder.path()));
    }
    assert!(accepted >= 1);
    let loads: Vec<Load> = (0..accepted).map(|_| next(&loader).unwrap()).collect();
    assert!(loader.poll().is_none());
    let counts: Vec<usize> = loads.iter().map(|load| load.library.names().count()).collect();
    assert!(counts.is_sorted(), "{counts:?}");
    // A load requested after the last program was written includes it.
    assert!(loader.reload(folder.path()));
    assert_eq!(next(&loader).unwrap().library.names().count(), 50);
}
