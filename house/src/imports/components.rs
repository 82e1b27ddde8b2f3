//! Strongly connected components of a graph.

use std::collections::{BTreeMap, BTreeSet};

/// The components of more than one node, for the graph on `0..nodes` with these edges.
pub(super) fn components(nodes: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<BTreeSet<usize>> {
    let mut next: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().push(to);
    }
    // A crate has some hundred files, so that a search from each of them is fast.
    let reached: Vec<BTreeSet<usize>> = (0..nodes).map(|node| reachable(node, &next)).collect();
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    for node in 0..nodes {
        let known = found.iter().any(|component| component.contains(&node));
        if !known && reached[node].contains(&node) {
            found.push(reached[node].iter().copied().filter(|&other| reached[other].contains(&node)).collect());
        }
    }
    found.retain(|component| component.len() > 1);
    found
}

/// The nodes reachable by at least one edge.
fn reachable(from: usize, next: &BTreeMap<usize, Vec<usize>>) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(node) = waiting.pop() {
        for &other in next.get(&node).into_iter().flatten() {
            if reached.insert(other) {
                waiting.push(other);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reaches_each_other_is_a_component() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (4, 5), (5, 6), (6, 4), (3, 4)];
        assert_eq!(components(8, edges.into_iter()), [BTreeSet::from([1, 2]), BTreeSet::from([4, 5, 6])]);
    }
}
