//! Every policy has its page in the book, and the page names its knobs with their defaults.

use std::fs;

use dovetail_house::{
    pages::links,
    repository::{assert_none, files, read, root, shown},
};
use dovetail_sched::{
    registry::{Knob, REGISTRY},
    request,
};

/// All policies, of packets and of requests, with their own knobs.
fn policies() -> impl Iterator<Item = (&'static str, &'static [Knob])> {
    let of_packets = REGISTRY.iter().map(|entry| (entry.name, entry.knobs));
    of_packets.chain(request::REGISTRY.iter().map(|entry| (entry.name, entry.knobs)))
}

#[test]
fn every_policy_has_a_page_that_names_its_knobs() {
    let folder = root().join("docs/policies");
    let listed = links(&read(&folder.join("README.md")));
    let mut wrong = Vec::new();
    for (policy, knobs) in policies() {
        let name = format!("{}.md", policy.replace('+', "-plus"));
        if !listed.contains(&name) {
            wrong.push(format!("docs/policies/README.md: add a line for {policy} that links to {name}"));
        }
        let Ok(page) = fs::read_to_string(folder.join(&name)) else {
            wrong.push(format!("docs/policies/{name}: write the page of {policy}"));
            continue;
        };
        for knob in knobs {
            let key = format!("`{}`", knob.key);
            if !page.lines().any(|line| line.contains(&key) && line.contains(knob.default)) {
                wrong.push(format!("docs/policies/{name}: add a line with {key} and its default, {}", knob.default));
            }
        }
    }
    for page in files(&folder, "md") {
        let stem = page.file_stem().expect("a file").to_string_lossy().replace("-plus", "+");
        if stem != "README" && policies().all(|(policy, _)| policy != stem) {
            wrong.push(format!("{}: there is no policy {stem}; remove the page or register it", shown(&page)));
        }
    }
    assert_none(&wrong);
}
