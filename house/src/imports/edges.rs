//! The import graph of a crate's files.

use std::collections::BTreeMap;

use super::{mentions::mentions, tree::Tree};

/// For each pair of files, by index, where the first mentions the second: one path by which it does.
pub(super) fn edges(tree: &Tree) -> BTreeMap<(usize, usize), String> {
    let mut edges = BTreeMap::new();
    for (number, module) in tree.modules.iter().enumerate() {
        for (file, path) in mentions(tree, number) {
            edges.entry((module.file, file)).or_insert(path);
        }
    }
    edges
}
