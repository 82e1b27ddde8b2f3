//! No file of a crate imports one that imports it back, near or far.

use std::collections::BTreeSet;

use dovetail_house::{
    imports::{Cycle, cycles},
    repository::{assert_none, package, root},
};

/// The crates that are held to it, by their folders' names.
const HELD: &[&str] = &[
    "bench",
    "bench/counts",
    "bindings/c",
    "bindings/python",
    "dovetail-admin",
    "dovetail-bed",
    "dovetail-box",
    "dovetail-cli",
    "dovetail-compare",
    "dovetail-experiments",
    "dovetail-gateway",
    "dovetail-hugepages",
    "dovetail-netns",
    "dovetail-sched",
    "dovetail-sim",
    "dovetail-stats",
    "dovetail-tcp",
    "dovetail-tower",
    "house",
];

/// Cycles that are better than what would avoid them: the crate, its files below `src`, and why.
const DEFENDED: &[(&str, &[&str], &str)] = &[];

/// Which defence speaks for a cycle, whose files are named as below `src`.
fn defence(name: &str, cycle: &Cycle) -> Option<usize> {
    let files: BTreeSet<String> = cycle.files.iter().map(|file| file.display().to_string()).collect();
    let same = |defended: &[&str]| files == defended.iter().map(|&file| file.to_owned()).collect();
    DEFENDED.iter().position(|(of, defended, _)| *of == name && same(defended))
}

#[test]
fn no_files_import_each_other() {
    let mut wrong = Vec::new();
    let mut needed = BTreeSet::new();
    for name in HELD {
        let src = package(name).unwrap_or_else(|| panic!("{name} is elsewhere")).join("src");
        for cycle in cycles(&src).unwrap_or_else(|error| panic!("{error}")) {
            match defence(name, &cycle.clone().seen_from(&src)) {
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
