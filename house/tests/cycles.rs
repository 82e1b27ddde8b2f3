//! No file of a crate imports one that imports it back, near or far.

use std::collections::BTreeSet;

use dovetail_house::{
    imports::{Cycle, cycles},
    repository::{assert_none, crates, root},
};

/// The crates that are held to it.
const HELD: &[&str] = &["dovetail-bed"];

/// Cycles that are better than what would avoid them: the crate, its files below `src`, and why.
const DEFENDED: &[(&str, &[&str], &str)] = &[];

fn files_below_src(cycle: &Cycle, name: &str) -> BTreeSet<String> {
    let src = root().join("crates").join(name).join("src");
    let below = cycle.files.iter().map(|file| file.strip_prefix(&src).unwrap_or(file));
    below.map(|file| file.display().to_string()).collect()
}

fn defence(cycle: &Cycle, name: &str) -> Option<usize> {
    let files = files_below_src(cycle, name);
    DEFENDED
        .iter()
        .position(|(of, defended, _)| *of == name && files == defended.iter().map(|f| f.to_string()).collect())
}

#[test]
fn no_files_import_each_other() {
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    let folders: Vec<_> =
        crates().into_iter().filter(|folder| HELD.iter().any(|name| folder.ends_with(name))).collect();
    assert_eq!(folders.len(), HELD.len(), "a crate that is held to it is elsewhere");
    for (folder, name) in folders.iter().map(|folder| (folder, folder.file_name().expect("a name").to_string_lossy())) {
        for cycle in cycles(&folder.join("src")).unwrap_or_else(|error| panic!("{error}")) {
            match defence(&cycle, &name) {
                Some(defended) => drop(needed.insert(defended)),
                None => wrong.push(cycle.seen_from(&root()).to_string()),
            }
        }
    }
    for (at, (name, files, _)) in DEFENDED.iter().enumerate() {
        if HELD.contains(name) && !needed.contains(&at) {
            wrong.push(format!("{name}: {files:?} import each other no more; remove the defence"));
        }
    }
    assert_none(&wrong);
}
