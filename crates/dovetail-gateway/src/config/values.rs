//! Values as they are written: addresses, prefixes, times, sizes, rates and probes.

use std::{
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    sync::Arc,
    time::Duration,
};

use dovetail_sched::{
    Nanos,
    units::{Rate, parse_bytes, parse_rate, parse_time, split_unit},
};
use ipnet::IpNet;
use toml::de::DeValue;

use super::{model::Probe, prefixes::Prefix, section::quoted};

/// The narrowest and the widest link there may be.
const RATES_BPS: RangeInclusive<f64> = 1e3..=1e12;

/// A text, or what is expected instead of what is there.
fn text<'v>(value: &'v DeValue<'_>, expected: &str) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("this is not {expected}; it goes in quotes"))
}

/// An address to listen at.
pub(super) fn address(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    let expected = "an address and a port such as \"127.0.0.1:3128\" or \"[::1]:3128\"";
    let text = text(value, expected)?;
    text.parse().map_err(|_| format!("{} is not {expected}", quoted(text)))
}

/// An address, with a port unless it is 53.
pub(super) fn nameserver(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    let expected = "a name server's address such as \"10.0.0.53\" or \"10.0.0.53:5353\"";
    let text = text(value, expected)?;
    let alone = text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 53));
    let found = alone.or_else(|| text.parse().ok()).filter(|found| is_host(found.ip()) && found.port() != 0);
    found.ok_or_else(|| format!("{} is not {expected}", quoted(text)))
}

/// Whether packets can be sent to that address as to one host.
fn is_host(address: IpAddr) -> bool {
    !address.is_unspecified() && !address.is_multicast()
}

/// Addresses that start with the same bits; an address alone is all of its bits.
pub(super) fn prefix(value: &DeValue<'_>) -> Result<Prefix, String> {
    let expected = "an address prefix such as \"10.0.0.0/8\", \"192.168.1.7\" or \"2001:db8::/32\"";
    let text = text(value, expected)?;
    let found: Option<IpNet> = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let prefix = found.ok_or_else(|| format!("{} is not {expected}", quoted(text)))?;
    if prefix.trunc() != prefix {
        let whole = prefix.trunc();
        return Err(format!("{} has bits beyond its length: write \"{whole}\" or a longer prefix", quoted(text)));
    }
    match prefix.addr() {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
            Err(format!("{} is IPv4 written as IPv6: write it as IPv4", quoted(text)))
        }
        _ => Ok(prefix),
    }
}

/// A time. Minutes may be written `m` and hours `h`, beside the units of policy strings.
pub(super) fn time(range: RangeInclusive<Duration>) -> impl Fn(&DeValue<'_>) -> Result<Duration, String> {
    move |value| {
        let expected = "a time such as \"50ms\", \"10s\", \"2m\" or \"1h\"";
        let text = text(value, expected)?;
        let found = match split_unit(text) {
            Ok((number, unit @ ("m" | "h"))) => {
                let seconds = number * if unit == "m" { 60.0 } else { 3600.0 };
                Duration::try_from_secs_f64(seconds).ok()
            }
            _ => parse_time(text).ok().map(|nanos| Duration::from_nanos(nanos.0)),
        };
        let found = found.ok_or_else(|| format!("{} is not {expected}", quoted(text)))?;
        let (least, most) = (written_time(*range.start()), written_time(*range.end()));
        let wrong = || format!("{} is out of range: from {least} to {most}", quoted(text));
        range.contains(&found).then_some(found).ok_or_else(wrong)
    }
}

/// A time as it may be written, in the largest unit that leaves a whole number.
pub(super) fn written_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (time.subsec_nanos(), seconds) {
        (0, 1..) if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        (0, 1..) if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => Nanos::from(time).to_string(),
    }
}

/// A size, as a number of bytes or with a unit.
pub(super) fn bytes(range: RangeInclusive<u64>) -> impl Fn(&DeValue<'_>) -> Result<usize, String> {
    move |value| {
        let expected = "a size such as \"16kB\"";
        let (written, found) = match value {
            DeValue::Integer(number) => (number.to_string(), u64::from_str_radix(number.as_str(), number.radix()).ok()),
            other => {
                let text = text(other, expected)?;
                (quoted(text), parse_bytes(text).ok())
            }
        };
        let found = found.ok_or_else(|| format!("{written} is not {expected}"))?;
        let (least, most) = range.clone().into_inner();
        let wrong = || format!("{written} is out of range: from {least} to {most} bytes");
        range.contains(&found).then_some(found as usize).ok_or_else(wrong)
    }
}

/// What a link carries.
pub(super) fn rate(value: &DeValue<'_>) -> Result<Rate, String> {
    let expected = "a rate such as \"2Mbps\"";
    let text = text(value, expected)?;
    let found = parse_rate(text).map_err(|why| format!("{}: {why}; write {expected}", quoted(text)))?;
    let wrong = || format!("{} is out of range: from 1kbps to 1Tbps", quoted(text));
    RATES_BPS.contains(&found.bps()).then_some(found).ok_or_else(wrong)
}

/// How the far queue is measured.
pub(super) fn probe(value: &DeValue<'_>) -> Result<Probe, String> {
    let expected = "\"tcp\", \"off\", an address such as \"10.99.0.1\", \"udp://10.99.0.1:7\", \"hop:2\" or \
                    \"hop:2@192.0.2.1\"";
    let text = text(value, expected)?;
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

/// A text of this many characters, each of which is allowed.
pub(super) fn name(
    longest: usize,
    allowed: fn(char) -> bool,
    expected: &'static str,
) -> impl Fn(&DeValue<'_>) -> Result<Arc<str>, String> {
    move |value| {
        let text = text(value, expected)?;
        let fits = (1..=longest).contains(&text.chars().count()) && text.chars().all(allowed);
        fits.then(|| text.into()).ok_or_else(|| format!("{} is not {expected}", quoted(text)))
    }
}
