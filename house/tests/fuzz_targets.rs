//! Every fuzz target is run by default and has seeds to begin with.

use std::collections::BTreeSet;

use dovetail_house::repository::{assert_none, files, read, root};

#[test]
fn every_target_is_run_from_its_seeds() {
    let folder = root().join("fuzz");
    let targets = files(&folder.join("targets"), "rs");
    let targets: BTreeSet<_> = targets.iter().map(|file| file.file_stem().expect("a file").to_string_lossy()).collect();
    let script = read(&folder.join("run.sh"));
    let listed = script.split("|| set -- ").nth(1).and_then(|rest| rest.lines().next()).expect("the list of targets");
    let listed: BTreeSet<_> = listed.split_whitespace().map(Into::into).collect();
    let mut wrong = Vec::new();
    for target in targets.symmetric_difference(&listed) {
        wrong.push(format!("fuzz/run.sh: its list and fuzz/targets differ in {target}"));
    }
    for target in &targets {
        // A scenario's seeds are those that come with the command.
        if target != "scenario" && !folder.join("seeds").join(&**target).is_dir() {
            wrong.push(format!("fuzz/seeds/{target}: add inputs to begin with"));
        }
    }
    assert_none(&wrong);
}
