//! A proxy auto-configuration file: which URLs a browser fetches through the gateway, and which directly.
//!
//! It is the same for all clients and under any host name: browsers request it before they know of a proxy, from `wpad` in
//! their domain or from where DHCP says. It resolves no names: a browser that first queries a name server for each host
//! discloses what a proxy would conceal. It is written in the oldest JavaScript that browsers evaluate such files with
//! (ECMAScript 3).

use std::net::{IpAddr, SocketAddr};

use dovetail_admin::{Answer, typed};
use http::uri::Authority;
use serde_json::{Value, json};

use super::visit::Visit;
use crate::{
    config::{Config, Direct, PacProxy, Prefix, host},
    wanted::Met,
};

const FILE: &str = include_str!("proxy.pac.js");

/// The port of `https` where none is named.
const HTTPS: u16 = 443;

/// The file.
pub(super) fn file(visit: &Visit<'_>, by: Option<&Authority>) -> Answer {
    Ok(typed("application/x-ns-proxy-autoconfig", text(visit.config, visit.met, by)))
}

/// The file for a client that reached the gateway there, by this host and port if it says so.
fn text(config: &Config, met: Met, by: Option<&Authority>) -> String {
    let pac = &config.pac;
    let is_plain = pac.direct.contains(&Direct::PlainNames);
    let of = |which: fn(&Direct) -> Option<String>| Value::from_iter(pac.direct.iter().filter_map(which));
    let hosts = of(|direct| if let Direct::Host(host) = direct { Some(host.to_string()) } else { None });
    let domains = of(|direct| if let Direct::Domain(domain) = direct { Some(format!(".{domain}")) } else { None });
    let prefixes = of(|direct| if let Direct::Prefix(prefix) = direct { Some(bits(prefix)) } else { None });
    // JSON is JavaScript: no value can break out of its literal.
    [
        ("own", json!(&*config.pages.host)),
        ("proxy", json!(proxies(config, met, by))),
        ("plain", json!(is_plain)),
        ("hosts", hosts),
        ("domains", domains),
        ("prefixes", prefixes),
    ]
    .into_iter()
    .fold(FILE.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), &value.to_string()))
}

/// The proxies for browsers to use.
fn proxies(config: &Config, met: Met, by: Option<&Authority>) -> String {
    let pac = &config.pac;
    let own = || {
        let at = SocketAddr::new(met.at.ip().to_canonical(), met.at.port());
        // The certificate has the name that the client used; it need not have the address.
        let by = by.filter(|_| met.is_tls).and_then(named);
        vec![PacProxy { is_tls: met.is_tls, at: by.unwrap_or_else(|| at.to_string()).into() }]
    };
    let named = if pac.proxy.is_empty() { own() } else { pac.proxy.clone() };
    let words = named.iter().map(|proxy| format!("{} {}", if proxy.is_tls { "HTTPS" } else { "PROXY" }, proxy.at));
    words.chain(pac.falls_back.then(|| "DIRECT".to_owned())).collect::<Vec<_>>().join("; ")
}

/// A host name and its port, if it is a name.
fn named(by: &Authority) -> Option<String> {
    let port = by.port_u16().unwrap_or(HTTPS);
    host(by.host().trim_end_matches('.')).map(|name| format!("{name}:{port}"))
}

/// A prefix in the form of the file's `addressBits`.
fn bits(prefix: &Prefix) -> String {
    let all = match prefix.addr() {
        IpAddr::V4(address) => format!("4:{:032b}", u32::from(address)),
        IpAddr::V6(address) => format!("6:{:0128b}", u128::from(address)),
    };
    all[..2 + usize::from(prefix.prefix_len())].to_owned()
}
