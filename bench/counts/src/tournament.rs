//! Finds the next packet over all flows: a tournament tree of losers, as the simulator has for scenarios, of integers only.
//!
//! Every flow has a leaf. An inner node keeps the later of the two times that met there, and the root the earliest of all.
//! The path from a leaf to the root is known in advance, and no branch depends on a time.

/// Bits of the flow below the time, so that entries compare as one integer: 18 minutes of nanoseconds fit.
pub const FLOW_BITS: u32 = 24;

/// A node where two entries are still to meet.
const VACANT: u64 = u64::MAX;
/// The entry of a leaf without a flow.
const NEVER: u64 = VACANT - 1;

/// The next packets of all flows, by time, ties by flow.
#[derive(Debug)]
pub struct Tournament {
    // The earliest entry, then the inner nodes: node `i` is the parent of nodes `2i` and `2i + 1`, and flow `f` is where node
    // `len + f` would be. The length is a power of two, so that all paths are equally long and a processor predicts their end.
    nodes: Vec<u64>,
}

impl Tournament {
    /// A tree with the first time of each flow, of which there must be at least one.
    pub fn new(first: impl ExactSizeIterator<Item = u64>) -> Self {
        let leaves = first.len().next_power_of_two();
        let mut nodes = vec![VACANT; leaves];
        let entries = (0..).zip(first).map(|(flow, time)| entry(time, flow));
        for (leaf, mut entry) in entries.chain(std::iter::repeat(NEVER)).take(leaves).enumerate() {
            let mut at = (leaves + leaf) / 2;
            // Of the two entries that reach a node, the first waits there for the second.
            while at > 0 && nodes[at] != VACANT {
                (nodes[at], entry) = (nodes[at].max(entry), nodes[at].min(entry));
                at /= 2;
            }
            nodes[at] = entry;
        }
        Self { nodes }
    }

    /// The earliest time, and its flow.
    #[inline]
    pub fn first(&self) -> (u64, u32) {
        let first = self.nodes[0];
        (first >> FLOW_BITS, first as u32 & ((1 << FLOW_BITS) - 1))
    }

    /// Sets the next time of `flow`, which must be the earliest one.
    #[inline]
    pub fn replace_first(&mut self, flow: u32, time: u64) {
        let nodes = &mut self.nodes[..];
        let mut entry = entry(time, flow);
        let mut at = (nodes.len() + flow as usize) / 2;
        while at > 0 {
            let other = nodes[at];
            nodes[at] = other.max(entry);
            entry = other.min(entry);
            at /= 2;
        }
        nodes[0] = entry;
    }
}

#[inline]
fn entry(time: u64, flow: u32) -> u64 {
    time << FLOW_BITS | u64::from(flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_sorted_set() {
        for flows in [1u32, 2, 3, 37, 64] {
            let first = (0..flows).map(|flow| u64::from(flow * 7 % 5));
            let mut sorted: BTreeSet<(u64, u32)> = first.clone().zip(0..).collect();
            let mut tournament = Tournament::new(first);
            for step in 0..1_000 {
                let expected = sorted.pop_first();
                assert_eq!(Some(tournament.first()), expected, "{flows} flows, step {step}");
                let (time, flow) = tournament.first();
                let again = time + step * 13 % 11;
                tournament.replace_first(flow, again);
                sorted.insert((again, flow));
            }
        }
    }
}
