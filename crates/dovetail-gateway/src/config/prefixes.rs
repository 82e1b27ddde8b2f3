//! Longest-prefix matching of addresses.

use std::{collections::HashMap, fmt, net::IpAddr};

use ipnet::IpNet;

/// An address prefix such as `10.0.0.0/16`, or a single address.
pub type Prefix = IpNet;

/// Values by prefix. A lookup is O(lengths of prefixes), using keyed hashes.
#[derive(Clone)]
pub struct Prefixes<V> {
    // Longest first.
    entries: Vec<(IpNet, V)>,
    places: HashMap<IpNet, usize>,
    // The prefix lengths in use, longest first: of IPv4 and of IPv6.
    lengths: [Vec<u8>; 2],
}

impl<V: fmt::Debug> fmt::Debug for Prefixes<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|(prefix, value)| (prefix, value))).finish()
    }
}

impl<V> Default for Prefixes<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: HashMap::new(), lengths: Default::default() }
    }
}

impl<V> Prefixes<V> {
    /// Builds the map. Of equal prefixes the first counts.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = (Prefix, V)>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.prefix_len()));
        let mut places = HashMap::new();
        let mut lengths: [Vec<u8>; 2] = Default::default();
        for (place, (prefix, _)) in entries.iter().enumerate() {
            places.entry(prefix.trunc()).or_insert(place);
            let lengths = &mut lengths[usize::from(prefix.addr().is_ipv6())];
            if lengths.last() != Some(&prefix.prefix_len()) {
                lengths.push(prefix.prefix_len());
            }
        }
        Self { entries, places, lengths }
    }

    /// The value of the longest prefix that contains the address. IPv4-mapped IPv6 addresses count as IPv4.
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<&V> {
        self.longest(IpNet::from(address.to_canonical())).map(|(_, value)| value)
    }

    /// The longest prefix that contains all of `within`, and its value.
    #[must_use]
    pub fn longest(&self, within: Prefix) -> Option<(&Prefix, &V)> {
        let lengths = &self.lengths[usize::from(within.addr().is_ipv6())];
        let shorter = lengths.iter().filter(|&&length| length <= within.prefix_len());
        let place = shorter
            .filter_map(|&length| IpNet::new(within.addr(), length).ok())
            .find_map(|prefix| self.places.get(&prefix.trunc()))?;
        self.entries.get(*place).map(|(prefix, value)| (prefix, value))
    }

    /// The prefixes, longest first.
    pub fn prefixes(&self) -> impl Iterator<Item = &Prefix> + Clone {
        self.entries.iter().map(|(prefix, _)| prefix)
    }

    /// Whether the address is in one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.find(address).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_prefix() -> impl Strategy<Value = IpNet> {
        // Few bits, so that prefixes overlap.
        let v4 = (0_u32..64, 24_u8..=32)
            .prop_map(|(low, length)| IpNet::new(IpAddr::from((0x0a00_0000 | low).to_be_bytes()), length));
        let v6 = (0_u128..64, 120_u8..=128)
            .prop_map(|(low, length)| IpNet::new(IpAddr::from((0xfd00 << 112 | low).to_be_bytes()), length));
        prop_oneof![v4, v6].prop_map(|prefix| prefix.expect("a length").trunc())
    }

    proptest! {
        #[test]
        fn the_longest_is_what_looking_at_each_finds(
            all in prop::collection::vec(any_prefix(), 0..20),
            within in any_prefix(),
        ) {
            let found = Prefixes::new(all.iter().copied().zip(0..));
            let expected = all.iter().filter(|prefix| prefix.contains(&within)).max_by_key(|prefix| prefix.prefix_len());
            prop_assert_eq!(found.longest(within).map(|(prefix, _)| prefix), expected);
            let first = expected.and_then(|expected| all.iter().position(|prefix| prefix == expected));
            prop_assert_eq!(found.longest(within).map(|(_, value)| *value), first);
        }
    }
}
