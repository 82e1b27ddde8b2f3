//! The next link on a route with the fewest hops; in case of ties, the link declared first.

use std::collections::VecDeque;

use super::spec::Link;

const NONE: u32 = u32::MAX;

/// The link to take for every pair of nodes.
#[derive(Debug)]
pub(super) struct Routes {
    nodes: usize,
    next: Vec<u32>,
}

impl Routes {
    pub(super) fn new(nodes: usize, links: &[Link]) -> Self {
        let mut routes = Self { nodes, next: vec![NONE; nodes * nodes] };
        let mut to_node = vec![Vec::new(); nodes];
        for (at, link) in links.iter().enumerate() {
            to_node[link.to].push((at as u32, link.from));
        }
        for goal in 0..nodes {
            let mut near = VecDeque::from([goal]);
            while let Some(node) = near.pop_front() {
                for &(link, from) in &to_node[node] {
                    let next = &mut routes.next[from * nodes + goal];
                    if from != goal && *next == NONE {
                        *next = link;
                        near.push_back(from);
                    }
                }
            }
        }
        routes
    }

    /// The link from `from` towards `to`, if there is a route and the two differ.
    pub(super) fn next(&self, from: usize, to: usize) -> Option<usize> {
        Some(self.next[from * self.nodes + to]).filter(|&link| link != NONE).map(|link| link as usize)
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::{Limits, Nanos, units::Rate};

    use super::*;

    #[test]
    fn fewest_hops_and_no_way() {
        let link = |from, to| Link {
            from,
            to,
            rate: Rate::from_bps(1e6).expect("in range"),
            changes: [].into(),
            delay: Nanos::ZERO,
            policy: "fifo".parse().expect("known"),
            limits: Limits::UNLIMITED,
            mark_packets: None,
        };
        // 0 - 1 - 2 - 3 in both directions, a short cut 0 > 3, and 4, which only sends.
        let pairs = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (0, 3), (4, 0)];
        let routes = Routes::new(5, &pairs.map(|(from, to)| link(from, to)));
        assert_eq!(routes.next(0, 3), Some(6));
        assert_eq!(routes.next(0, 2), Some(0), "as far by 3, which was named later");
        assert_eq!(routes.next(3, 0), Some(5));
        assert_eq!(routes.next(4, 2), Some(7));
        assert_eq!((routes.next(0, 4), routes.next(2, 2)), (None, None));
    }
}
