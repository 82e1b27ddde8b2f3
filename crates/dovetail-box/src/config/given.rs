//! Configured tunnel keys and routes, which `ipsec` and `forwarding` use unless they run as a trial.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
    sync::Arc,
};

use dovetail_toml::{
    Fault, Section, path, read_secret,
    values::{self, is_host, quoted, text, whole, word},
};
use ipnet::IpNet;
use toml::de::DeValue;

use super::tunnel::{Direction, Tunnel};
use crate::functions::{
    forwarding::{NextHop, Table},
    ipsec::{Association, Keys},
};

/// Numbers up to 255 are reserved (RFC 4303, 2.1).
const FIRST_SPI: u64 = 256;

/// Tunnels, and the file that records used sequence numbers, if there is one.
#[derive(Debug, Default)]
pub(super) struct Tunnels {
    pub all: Vec<Arc<Tunnel>>,
    pub sequence_file: Option<PathBuf>,
}

impl Tunnels {
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Tunnel>> {
        self.all.iter().find(|tunnel| *tunnel.name == *name)
    }
}

/// The tunnels of a configuration. Their keys are in separate files, relative to `folder`.
pub(super) fn tunnels(sections: Vec<Section<'_>>, mut ipsec: Section<'_>, folder: &Path) -> Result<Tunnels, Fault> {
    let sequence_file = ipsec.one("sequence_file", path(folder))?;
    ipsec.end()?;
    let mut tunnels = Tunnels { all: Vec::new(), sequence_file };
    for mut section in sections {
        let tunnel = tunnel(&mut section, folder)?;
        if tunnels.find(&tunnel.name).is_some() {
            let name = quoted(&tunnel.name);
            return Err(section.wrong("name", format!("there are two tunnels {name}: names are unique")));
        }
        if let Some(other) = tunnels.all.iter().find(|other| other.association.keys == tunnel.association.keys) {
            let what = format!(
                "tunnel {} has this key as well: under one key, no two may encrypt (RFC 4106, 2)",
                quoted(&other.name)
            );
            return Err(section.wrong("key_file", what));
        }
        let is_found_by = |tunnel: &Tunnel| {
            let Association { spi, destination, .. } = tunnel.association;
            (tunnel.direction != Direction::Out).then_some((spi, destination))
        };
        let same = |other: &&Arc<Tunnel>| is_found_by(other).is_some() && is_found_by(other) == is_found_by(&tunnel);
        if let Some(other) = tunnels.all.iter().find(same) {
            let what = format!(
                "tunnel {} has this number and destination as well: by these the key of a packet is found",
                quoted(&other.name)
            );
            return Err(section.wrong("spi", what));
        }
        tunnels.all.push(Arc::new(tunnel));
    }
    if tunnels.all.iter().any(|tunnel| tunnel.direction == Direction::Out) && tunnels.sequence_file.is_none() {
        let what = "name a file for the sequence numbers that were used: under one key none may come again, also after a \
                    restart (RFC 4106, 3.1)";
        return Err(ipsec.wrong("sequence_file", what));
    }
    Ok(tunnels)
}

fn tunnel(section: &mut Section<'_>, folder: &Path) -> Result<Tunnel, Fault> {
    let name = section.one("name", named)?;
    let spi = section.one("spi", whole(FIRST_SPI..=u64::from(u32::MAX)))?;
    let source = section.one("source", end)?;
    let destination = section.one("destination", end)?;
    let key_file = section.one("key_file", path(folder))?;
    let is_in = section.one("direction", word(&[("out", false), ("in", true)]))?.unwrap_or(false);
    let prefixes = section.list("prefixes", values::prefix)?.unwrap_or_default();
    section.end()?;
    let lacks = |key: &str, what: &str| section.wrong(key, what);
    let direction = match (is_in, prefixes.is_empty()) {
        (true, false) => Direction::In { prefixes },
        (true, true) => {
            return Err(lacks("prefixes", "say which sources the other end speaks for, such as [\"10.8.0.0/16\"]"));
        }
        (false, true) => Direction::Out,
        (false, false) => {
            let what =
                "classes say what is encrypted: these are the sources of what is decrypted, with direction = \"in\"";
            return Err(lacks("prefixes", what));
        }
    };
    let name = name.ok_or_else(|| lacks("name", "a tunnel has a name"))?;
    let spi =
        spi.ok_or_else(|| lacks("spi", "give the number by which the other end finds the key, such as 0x1000"))?;
    let source = source.ok_or_else(|| lacks("source", "give the sending end's address, such as \"192.0.2.1\""))?;
    let destination = destination
        .ok_or_else(|| lacks("destination", "give the receiving end's address, such as \"198.51.100.1\""))?;
    let key_file = key_file.ok_or_else(|| {
        lacks("key_file", &format!("name a file with {}: a configuration has no keys itself", Keys::WRITTEN))
    })?;
    let keys = read_secret(&key_file, Keys::WRITTEN, Keys::MAX_DIGITS + 2, Keys::parse);
    let keys = keys.map_err(|what| section.wrong("key_file", what))?;
    let association = Association { keys, spi: spi as u32, source: source.octets(), destination: destination.octets() };
    Ok(Tunnel { name, association, direction })
}

/// The name of a class or of a tunnel.
pub(super) fn named(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let is_in_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    values::name(32, is_in_name, "a name of up to 32 letters, digits, '-', '_' and '.'")(value)
}

/// The address of a tunnel's end.
fn end(value: &DeValue<'_>) -> Result<Ipv4Addr, String> {
    let is_end = |text: &str| text.parse().ok().filter(|&address| is_host(IpAddr::V4(address)));
    text("the IPv4 address of a host, such as \"192.0.2.1\"", is_end)(value)
}

/// The table of a file's routes, if there are any.
pub(super) fn routes(sections: Vec<Section<'_>>) -> Result<Option<Arc<Table>>, Fault> {
    if sections.is_empty() {
        return Ok(None);
    }
    let (mut table, mut prefixes, mut hops) = (Table::default(), HashSet::new(), HashMap::new());
    for mut section in sections {
        let prefix = section.one("prefix", values::prefix)?;
        let (via, from) = (section.one("via", station)?, section.one("from", station)?);
        section.end()?;
        let lacks = |key: &str, what: &str| section.wrong(key, what);
        let prefix =
            prefix.ok_or_else(|| lacks("prefix", "say for which destinations, such as \"198.51.100.0/24\""))?;
        let destination = via.ok_or_else(|| lacks("via", &format!("give {STATION} of the next router")))?;
        let source = from.ok_or_else(|| lacks("from", &format!("give {STATION} that frames to it come from")))?;
        if !prefixes.insert(prefix) {
            return Err(section.wrong("prefix", format!("there is a route for {prefix} already")));
        }
        let hop = NextHop { destination, source };
        let number = match hops.get(&hop) {
            Some(&number) => number,
            None => {
                let number =
                    table.neighbour(hop).ok_or_else(|| section.wrong("via", "these are more than 65,534 routers"))?;
                *hops.entry(hop).or_insert(number)
            }
        };
        match prefix {
            IpNet::V4(prefix) => table.route_v4(prefix.addr().octets(), prefix.prefix_len(), number),
            IpNet::V6(prefix) => table.route_v6(prefix.addr().octets(), prefix.prefix_len(), number),
        }
    }
    Ok(Some(Arc::new(table)))
}

const STATION: &str = "an Ethernet address such as \"02:00:00:00:00:01\"";

/// A unicast Ethernet address.
fn station(value: &DeValue<'_>) -> Result<[u8; 6], String> {
    let read = |text: &str| {
        let parts = text.split(':').map(|part| {
            let is_byte = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_byte.then(|| u8::from_str_radix(part, 16).ok()).flatten()
        });
        let address: [u8; 6] = parts.collect::<Option<Vec<u8>>>()?.try_into().ok()?;
        // The lowest bit of the first byte marks group addresses (IEEE 802, 8.2.2).
        (address[0] & 1 == 0 && address != [0; 6]).then_some(address)
    };
    text("one station's Ethernet address, such as \"02:00:00:00:00:01\"", read)(value)
}
