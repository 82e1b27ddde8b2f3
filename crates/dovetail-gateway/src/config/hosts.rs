//! Lists of hosts: names, subdomains, and addresses.
//!
//! ```text
//! example.com        that name
//! *.example.com      all names below it
//! .example.com       both, as proxies' lists have it
//! 203.0.113.0/24     addresses, where one is asked for by number
//! ```
//!
//! Names are compared like in the DNS: case-insensitive, internationalised ones in Punycode, without a trailing dot. The most
//! specific entry counts: the name itself, then the longest name that it is below. A lookup costs as many hashes as the name
//! has labels, regardless of the number of entries; the hash is keyed per process, so that clients cannot target it.

use std::{collections::HashMap, net::IpAddr, path::Path, sync::Arc};

use dovetail_sched::units::clip;
use dovetail_toml::{
    Fault, Section, read_text,
    values::{self, quoted},
};
use ipnet::IpNet;

use super::{
    path::path,
    prefixes::{Prefix, Prefixes},
};

/// Maximum number of entries of a list, including its files.
const MAX_ENTRIES: usize = 200_000;
/// Maximum length of a name in bytes (RFC 1035, section 2.3.4).
const MAX_NAME_BYTES: usize = 253;

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// A name.
    Name(Box<str>),
    /// All names below a name.
    Below(Box<str>),
    /// Addresses.
    Addresses(Prefix),
}

/// Parses a host entry; a name with a leading dot yields two patterns.
fn patterns(written: &str) -> Result<Vec<HostPattern>, String> {
    let wrong = |why: &str| Err(format!("{} is no host: {why}", quoted(written)));
    let prefix = written.parse::<IpNet>().ok().or_else(|| written.parse::<IpAddr>().ok().map(IpNet::from));
    if let Some(prefix) = prefix {
        let prefix = match prefix.addr() {
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => return wrong("write IPv4 as IPv4"),
            _ => prefix,
        };
        if prefix.trunc() != prefix {
            return wrong(&format!("it has bits beyond its length: write \"{}\"", prefix.trunc()));
        }
        return Ok(vec![HostPattern::Addresses(prefix)]);
    }
    let (is_itself, is_below, name) = if let Some(name) = written.strip_prefix("*.") {
        (false, true, name)
    } else if let Some(name) = written.strip_prefix('.') {
        (true, true, name)
    } else {
        (true, false, written)
    };
    if name.contains('*') {
        return wrong("a '*' stands for all labels before a name, as in \"*.example.com\", and nowhere else");
    }
    if name.contains([':', '/']) {
        return wrong("write a name or an address without a scheme, a port and a path");
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let Ok(ascii) = idna::domain_to_ascii(name) else { return wrong("it is not a name that the DNS can have") };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let has_labels = ascii.split('.').all(|label| (1..=63).contains(&label.len()));
    if ascii.len() > MAX_NAME_BYTES || !ascii.bytes().all(is_name) || !has_labels {
        return wrong("it is not a name that the DNS can have");
    }
    let (itself, below) = (HostPattern::Name(ascii.as_str().into()), HostPattern::Below(ascii.as_str().into()));
    Ok(is_itself.then_some(itself).into_iter().chain(is_below.then_some(below)).collect())
}

/// The hosts of a section: those in `hosts`, and those in the files in `hosts_file`, one per line.
pub(super) fn read(
    section: &mut Section<'_>,
    (hosts, hosts_file): (&'static str, &'static str),
    folder: &Path,
) -> Result<Arc<[HostPattern]>, Fault> {
    let written = |value: &toml::de::DeValue<'_>| {
        patterns(values::written(value, "a host such as \"*.example.com\" or \"203.0.113.0/24\"")?)
    };
    let mut all: Vec<_> = section.list(hosts, written)?.unwrap_or_default().into_iter().flatten().collect();
    for file in section.list(hosts_file, path(folder))?.unwrap_or_default() {
        let text = read_text(&file).map_err(|error| section.wrong(hosts_file, error.to_string()))?;
        for (number, line) in (1_u32..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let found = patterns(line);
            let found =
                found.map_err(|why| section.wrong(hosts_file, format!("{}, line {number}: {why}", file.display())))?;
            all.extend(found);
            if all.len() > MAX_ENTRIES {
                return Err(
                    section.wrong(hosts_file, format!("there are over {MAX_ENTRIES} hosts with {}", file.display()))
                );
            }
        }
    }
    Ok(all.into())
}

/// Values by host.
#[derive(Debug, Clone)]
pub struct HostIndex<V> {
    names: HashMap<Box<str>, V>,
    below: HashMap<Box<str>, V>,
    addresses: Prefixes<V>,
}

impl<V> Default for HostIndex<V> {
    fn default() -> Self {
        Self { names: HashMap::new(), below: HashMap::new(), addresses: Prefixes::default() }
    }
}

impl<V: Copy> HostIndex<V> {
    /// Builds the index. Of equal entries the first counts.
    #[must_use]
    pub fn new<'a>(entries: impl IntoIterator<Item = (&'a HostPattern, V)>) -> Self {
        let (mut names, mut below, mut addresses) = (HashMap::new(), HashMap::new(), Vec::new());
        for (pattern, value) in entries {
            match pattern {
                HostPattern::Name(name) => drop(names.entry(name.clone()).or_insert(value)),
                HostPattern::Below(name) => drop(below.entry(name.clone()).or_insert(value)),
                HostPattern::Addresses(prefix) => addresses.push((*prefix, value)),
            }
        }
        Self { names, below, addresses: Prefixes::new(addresses) }
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.below.is_empty() && self.addresses.prefixes().next().is_none()
    }

    /// The value of a host: a name in lower case without a trailing dot, or an address without brackets. O(labels).
    #[must_use]
    pub fn find(&self, host: &str) -> Option<V> {
        if self.is_empty() {
            return None;
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.addresses.find(address).copied();
        }
        if let Some(value) = self.names.get(host) {
            return Some(*value);
        }
        let mut rest = host;
        while let Some((_, below)) = rest.split_once('.') {
            if let Some(value) = self.below.get(below) {
                return Some(*value);
            }
            rest = below;
        }
        None
    }
}

/// The form of an entry in a file.
impl std::fmt::Display for HostPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(&clip(name)),
            Self::Below(name) => write!(f, "*.{}", clip(name)),
            Self::Addresses(prefix) => prefix.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(entries: &[&str]) -> HostIndex<usize> {
        let entries: Vec<_> =
            entries.iter().map(|entry| patterns(entry).unwrap_or_else(|why| panic!("{why}"))).collect();
        HostIndex::new(
            entries.iter().zip(0..).flat_map(|(patterns, at)| patterns.iter().map(move |pattern| (pattern, at))),
        )
    }

    #[test]
    fn the_most_specific_entry_counts() {
        let hosts = index(&[
            "*.Example.com",
            "a.example.com.",
            "*.b.example.com",
            ".dotted.example",
            "203.0.113.0/24",
            "2001:db8::/32",
            "*.bücher.example",
            "203.0.113.7",
        ]);
        for (host, found) in [
            ("example.com", None),
            ("x.example.com", Some(0)),
            ("y.x.example.com", Some(0)),
            ("a.example.com", Some(1)),
            ("x.a.example.com", Some(0)),
            ("b.example.com", Some(0)),
            ("x.b.example.com", Some(2)),
            ("notexample.com", None),
            ("example.com.evil.example", None),
            ("dotted.example", Some(3)),
            ("x.dotted.example", Some(3)),
            ("203.0.113.9", Some(4)),
            ("203.0.113.7", Some(7)),
            ("::ffff:203.0.113.9", Some(4)),
            ("203.0.114.9", None),
            ("2001:db8::1", Some(5)),
            ("www.xn--bcher-kva.example", Some(6)),
            ("", None),
            (".", None),
            ("..example.com", Some(0)),
        ] {
            assert_eq!(hosts.find(host), found, "{host}");
        }
        assert_eq!(HostIndex::<u8>::default().find("a"), None);
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for wrong in [
            "",
            "*",
            "*.",
            "a.*.b",
            "a*.b",
            "**.a",
            "http://a",
            "a:80",
            "a/b",
            "a..b",
            "a b",
            "203.0.113.1/24",
            "::ffff:10.0.0.1",
        ] {
            assert!(patterns(wrong).is_err(), "{wrong}");
        }
        assert!(patterns(&format!("{}.example", "a".repeat(64))).is_err());
        assert!(patterns(&vec!["a"; 200].join(".")).is_err());
    }

    proptest! {
        #[test]
        fn a_look_is_what_looking_at_each_finds(
            entries in prop::collection::vec("(\\*\\.)?[ab](\\.[ab]){0,3}", 0..12),
            host in "[ab](\\.[ab]){0,4}",
        ) {
            let texts: Vec<_> = entries.iter().map(String::as_str).collect();
            let specific = |entry: &str| match entry.strip_prefix("*.") {
                None => (*entry == host).then_some(usize::MAX),
                Some(name) => host.ends_with(&format!(".{name}")).then_some(name.len()),
            };
            let best = texts.iter().filter_map(|entry| specific(entry)).max();
            let expected = best.and_then(|best| texts.iter().position(|entry| specific(entry) == Some(best)));
            prop_assert_eq!(index(&texts).find(&host), expected);
        }
    }
}
