//! How a probe is written.

use std::net::SocketAddr;

use dovetail_toml::values::{is_host, quoted, written};
use toml::de::DeValue;

use super::model::Probe;

/// How the far queue is measured.
pub(super) fn probe(value: &DeValue<'_>) -> Result<Probe, String> {
    let expected = "\"tcp\", \"off\", an address such as \"10.99.0.1\", \"udp://10.99.0.1:7\", \"hop:2\" or \
                    \"hop:2@192.0.2.1\"";
    let text = written(value, expected)?;
    let host = |text: &str| text.parse().ok().filter(|&address| is_host(address));
    let found = match text {
        "off" => Some(Probe::Off),
        "tcp" => Some(Probe::Tcp),
        _ => {
            if let Some(address) = text.strip_prefix("udp://") {
                let address: Option<SocketAddr> = address.parse().ok();
                address.filter(|address| is_host(address.ip()) && address.port() != 0).map(Probe::Udp)
            } else if let Some(hop) = text.strip_prefix("hop:") {
                let (hops, towards) = match hop.split_once('@') {
                    Some((hops, address)) => (hops, Some(host(address))),
                    None => (hop, None),
                };
                let hops = hops.parse().ok().filter(|hops| (1..=64).contains(hops));
                match (hops, towards) {
                    (Some(hops), None) => Some(Probe::Hop { hops, towards: None }),
                    (Some(hops), Some(Some(address))) => Some(Probe::Hop { hops, towards: Some(address) }),
                    _ => None,
                }
            } else {
                host(text).map(Probe::Icmp)
            }
        }
    };
    found.ok_or_else(|| format!("{} is none of {expected}; hops are from 1 to 64", quoted(text)))
}
