//! Longest-prefix match by binary search.
//!
//! Prefixes either nest or are disjoint, so they split the address space into ranges with one result each: the longest
//! prefix that contains the range. The ranges are computed once; a lookup is a binary search for the last range that starts
//! at or before the address, O(log n) for IPv4 and IPv6 alike.

/// Prefixes and their next hops.
#[derive(Debug, Clone)]
pub(crate) struct Routes {
    // Start of each range; the first is 0.
    starts: Vec<u128>,
    hops: Vec<u16>,
}

/// Marks ranges that no prefix covers.
const NOWHERE: u16 = u16::MAX;

/// A prefix: the first `length` bits of an address, and the number of the next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) address: u128,
    pub(crate) length: u32,
    pub(crate) hop: u16,
}

impl Routes {
    /// A table for addresses of `bits` bits. If a prefix is given twice, the later one counts; a length beyond `bits`
    /// counts as `bits`. O(n log n).
    pub(crate) fn new(bits: u32, routes: &[Route]) -> Self {
        let all = u128::MAX >> (128 - bits.clamp(1, 128));
        let mut ranges: Vec<_> = routes
            .iter()
            .map(|route| {
                let inside = all.checked_shr(route.length).unwrap_or(0);
                let first = route.address & all & !inside;
                (first, first | inside, route.length, route.hop)
            })
            .collect();
        ranges.sort_by_key(|&(first, _, length, _)| (first, length));
        let mut table = Self { starts: vec![0], hops: vec![NOWHERE] };
        // The prefixes that contain the current address, widest first.
        let mut around: Vec<(u128, u16)> = Vec::new();
        for (first, last, _, hop) in ranges {
            table.leave(&mut around, first);
            table.from(first, hop);
            around.push((last, hop));
        }
        table.leave(&mut around, all);
        table
    }

    /// Closes the prefixes that end before `to`: after each, the next wider one applies.
    fn leave(&mut self, around: &mut Vec<(u128, u16)>, to: u128) {
        while let Some(&(last, _)) = around.last()
            && last < to
        {
            around.pop();
            self.from(last + 1, around.last().map_or(NOWHERE, |&(_, hop)| hop));
        }
    }

    /// From this address on, `hop` applies.
    fn from(&mut self, start: u128, hop: u16) {
        if self.starts.last() == Some(&start) {
            self.hops.pop();
        } else {
            self.starts.push(start);
        }
        self.hops.push(hop);
    }

    /// The hop of the longest prefix that covers the address.
    pub(crate) fn find(&self, address: u128) -> Option<u16> {
        let behind = self.starts.partition_point(|&start| start <= address);
        self.hops.get(behind.checked_sub(1)?).copied().filter(|&hop| hop != NOWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation that tries every prefix and shares no code.
    fn longest(bits: u32, routes: &[Route], address: u128) -> Option<u16> {
        let same = |route: &&Route| {
            let cut = bits - route.length;
            route.length == 0 || route.address >> cut == address >> cut
        };
        routes.iter().filter(same).max_by_key(|route| route.length).map(|route| route.hop)
    }

    fn route(bits: u32) -> impl Strategy<Value = Route> {
        // Few bits vary, so that prefixes nest and coincide.
        let address = (0..64u128, 0..bits).prop_map(move |(low, shift)| (low << shift) & (u128::MAX >> (128 - bits)));
        (address, 0..=bits, 0..1000u16).prop_map(|(address, length, hop)| Route { address, length, hop })
    }

    proptest! {
        #[test]
        fn the_longest_prefix_answers(
            routes in prop::collection::vec(route(32), 0..40),
            wide in prop::collection::vec(route(128), 0..40),
            tried in prop::collection::vec((0..64u128, 0..128u32, -1i64..=1), 1..50),
        ) {
            let (table, wide_table) = (Routes::new(32, &routes), Routes::new(128, &wide));
            for (low, shift, off) in tried {
                let address = (low << shift).wrapping_add_signed(off.into());
                prop_assert_eq!(wide_table.find(address), longest(128, &wide, address));
                let address = address & u128::from(u32::MAX);
                prop_assert_eq!(table.find(address), longest(32, &routes, address));
            }
        }
    }
}
