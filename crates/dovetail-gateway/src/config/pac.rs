//! Reads the settings of the proxy auto-configuration file.

use std::net::{IpAddr, SocketAddr};

use dovetail_toml::{
    Fault, Section,
    values::{prefix, quoted, word, written},
};
use toml::de::DeValue;

use super::{
    model::{Direct, Pac, PacProxy},
    pages::host,
    prefixes::Prefix,
};

/// The users' own networks, which the gateway refuses to reach unless allowed.
const OWN_NETWORK: [&str; 8] = [
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "169.254.0.0/16",
    "127.0.0.0/8",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
];

/// `[pac]`
pub(super) fn pac(mut section: Section<'_>) -> Result<Pac, Fault> {
    let pac = Pac {
        proxy: section.list("proxy", proxy)?.unwrap_or_default(),
        direct: section.list("direct", direct)?.unwrap_or_else(own_network),
        falls_back: section.one("fallback", word(&[("none", false), ("direct", true)]))?.unwrap_or(false),
    };
    section.end()?;
    Ok(pac)
}

fn own_network() -> Vec<Direct> {
    let prefixes = OWN_NETWORK.iter().filter_map(|text| text.parse().ok()).map(Direct::Prefix);
    [Direct::PlainNames].into_iter().chain(prefixes).collect()
}

/// A proxy, over TLS if written as `https://`.
fn proxy(value: &DeValue<'_>) -> Result<PacProxy, String> {
    let expected = "a proxy such as \"gateway.home:3128\", \"10.0.0.1:3128\" or \"https://gateway.example.org:3129\"";
    let text = written(value, expected)?;
    let (is_tls, rest) = text.strip_prefix("https://").map_or((false, text), |rest| (true, rest));
    let found = place(rest).ok_or_else(|| format!("{} is not {expected}", quoted(text)))?;
    Ok(PacProxy { is_tls, at: found.into() })
}

/// A host and a port.
fn place(text: &str) -> Option<String> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        return (address.port() != 0).then(|| address.to_string());
    }
    let (name, port) = text.split_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0);
    host(name).filter(|_| is_port).map(|name| format!("{name}:{port}"))
}

/// A destination that is fetched directly.
fn direct(value: &DeValue<'_>) -> Result<Direct, String> {
    let expected = "a host such as \"intranet.example.org\", a domain such as \".example.org\", a prefix such as \
                    \"10.0.0.0/8\" or \"<local>\" for all names without a dot";
    let text = written(value, expected)?;
    if text == "<local>" {
        return Ok(Direct::PlainNames);
    }
    if text.parse::<Prefix>().is_ok() || text.parse::<IpAddr>().is_ok() {
        return prefix(value).map(Direct::Prefix);
    }
    let (is_domain, name) = text.strip_prefix('.').map_or((false, text), |name| (true, name));
    let name = host(name).ok_or_else(|| format!("{} is not {expected}", quoted(text)))?;
    Ok(if is_domain { Direct::Domain(name.into()) } else { Direct::Host(name.into()) })
}
