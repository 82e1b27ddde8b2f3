//! Address prefixes, and what goes with the longest that matches.

use std::net::IpAddr;

use ipnet::IpNet;

/// An address prefix such as `10.0.0.0/16`; a single address is one too.
pub type Prefix = IpNet;

/// Values by prefix. O(prefixes) a look.
#[derive(Debug, Clone, Default)]
pub struct Prefixes<V> {
    // The longest first.
    entries: Vec<(IpNet, V)>,
}

impl<V> Prefixes<V> {
    /// Of values by prefix. Of equal prefixes the first counts.
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = (Prefix, V)>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.prefix_len()));
        Self { entries }
    }

    /// The value of the longest prefix that the address is in. An IPv4 address that is written as an IPv6 one is an IPv4
    /// address.
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<&V> {
        let address = address.to_canonical();
        self.entries.iter().find(|(prefix, _)| prefix.contains(&address)).map(|(_, value)| value)
    }

    /// The prefixes, the longest first.
    pub fn prefixes(&self) -> impl Iterator<Item = &Prefix> + Clone {
        self.entries.iter().map(|(prefix, _)| prefix)
    }

    /// Whether the address is in one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.find(address).is_some()
    }
}
