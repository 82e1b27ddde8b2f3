//! Parses probes.

use std::{net::SocketAddr, str::FromStr};

use dovetail_toml::values::{is_host, quoted, written};
use toml::de::DeValue;

use super::model::Probe;

/// The valid forms of a probe.
const EXPECTED: &str = "\"tcp\", \"off\", an address such as \"10.99.0.1\", \"udp://10.99.0.1:7\", \"hop:2\" or \
                        \"hop:2@192.0.2.1\"";

/// How the far queue is measured.
pub(super) fn probe(value: &DeValue<'_>) -> Result<Probe, String> {
    written(value, EXPECTED)?.parse()
}

impl Probe {
    /// Its form in a configuration, without quotes.
    #[must_use]
    pub fn written(&self) -> String {
        match self {
            Self::Off => "off".into(),
            Self::Tcp => "tcp".into(),
            Self::Icmp(address) => address.to_string(),
            Self::Udp(address) => format!("udp://{address}"),
            Self::Hop { hops, towards: None } => format!("hop:{hops}"),
            Self::Hop { hops, towards: Some(address) } => format!("hop:{hops}@{address}"),
        }
    }
}

impl FromStr for Probe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let host = |text: &str| text.parse().ok().filter(|&address| is_host(address));
        let found = match text {
            "off" => Some(Self::Off),
            "tcp" => Some(Self::Tcp),
            _ => {
                if let Some(address) = text.strip_prefix("udp://") {
                    let address: Option<SocketAddr> = address.parse().ok();
                    address.filter(|address| is_host(address.ip()) && address.port() != 0).map(Self::Udp)
                } else if let Some(hop) = text.strip_prefix("hop:") {
                    let (hops, towards) = match hop.split_once('@') {
                        Some((hops, address)) => (hops, Some(host(address))),
                        None => (hop, None),
                    };
                    let hops = hops.parse().ok().filter(|hops| (1..=64).contains(hops));
                    match (hops, towards) {
                        (Some(hops), None) => Some(Self::Hop { hops, towards: None }),
                        (Some(hops), Some(Some(address))) => Some(Self::Hop { hops, towards: Some(address) }),
                        _ => None,
                    }
                } else {
                    host(text).map(Self::Icmp)
                }
            }
        };
        found.ok_or_else(|| format!("{} is none of {EXPECTED}; hops are from 1 to 64", quoted(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_are_written_as_they_are_read() {
        for text in ["off", "tcp", "10.99.0.1", "2001:db8::1", "udp://10.99.0.1:7", "hop:2", "hop:2@192.0.2.1"] {
            assert_eq!(text.parse::<Probe>().map(|probe| probe.written()), Ok(text.to_owned()));
        }
        assert!("hop:0".parse::<Probe>().is_err_and(|why| why.contains("hops are from 1 to 64")));
    }
}
