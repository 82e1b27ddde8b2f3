//! Reads the settings of the gateway's own pages.

use std::net::IpAddr;

use dovetail_toml::{Fault, Section, values::text};

use super::{
    model::{Pages, Proxy},
    name::is_in_name,
};

/// Maximum length of a host name (RFC 1035, section 2.3.4).
const MAX_HOST_BYTES: usize = 253;

/// `[pages]`
pub(super) fn pages(mut section: Section<'_>, proxy: &Proxy) -> Result<Pages, Fault> {
    let host = section.one("host", text("a host's name such as \"gateway.home\"", host))?;
    section.end()?;
    Ok(Pages { host: host.unwrap_or_else(|| proxy.name.to_ascii_lowercase()).into() })
}

/// A host name in lower case. An address is not a name.
pub(crate) fn host(text: &str) -> Option<String> {
    let is_name = (1..=MAX_HOST_BYTES).contains(&text.len()) && text.chars().all(is_in_name);
    let is_whole = !text.starts_with(['.', '-']) && !text.ends_with(['.', '-']) && !text.contains("..");
    (is_name && is_whole && text.parse::<IpAddr>().is_err()).then(|| text.to_ascii_lowercase())
}
