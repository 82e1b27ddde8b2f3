//! Checks whether this machine has what a gateway uses, and what to do if something is missing.

use std::{fs, io, os::fd::AsFd};

use rustix::process::{Resource, getrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use crate::{config::Limits, descriptors::Descriptors, sys};

/// A window may grow to what the link carries in this many seconds (`RequestSetup`).
const MAX_WINDOW_S: f64 = 1.4;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What it is needed for.
    pub what: &'static str,
    /// The finding.
    pub found: String,
    /// What to do about it, if anything.
    pub advice: Option<String>,
}

/// Runs all checks, for a link with a payload rate of this many bytes per second, if that is known.
pub(super) fn examine(bytes_per_s: Option<f64>, limits: &Limits) -> Vec<Check> {
    let mut checks = vec![windows(read("/proc/sys/net/core/rmem_max"), bytes_per_s)];
    checks.extend(scaling(read("/proc/sys/net/ipv4/tcp_window_scaling")));
    checks.extend(kernel(&read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into())));
    checks.push(files(limits));
    checks.push(icmp(&Permitted::try_out()));
    checks
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Whether buffers may be as long as the windows in use.
fn windows(rmem_max: Option<String>, bytes_per_s: Option<f64>) -> Check {
    let what = "receive windows";
    let Some(most) = rmem_max.as_deref().and_then(|most| most.parse::<u64>().ok()) else {
        let found = "net.core.rmem_max cannot be seen here: look at it outside of the container".into();
        return Check { what, found, advice: None };
    };
    let found = format!("net.core.rmem_max is {most}");
    let Some(bytes_per_s) = bytes_per_s else {
        return Check { what, found: format!("{found}; what is needed depends on the link's rate"), advice: None };
    };
    let needed = (bytes_per_s * MAX_WINDOW_S) as u64;
    let advice = (most < needed).then(|| {
        let to = needed.next_power_of_two();
        format!(
            "sysctl -w net.core.rmem_max={to}, and the same in /etc/sysctl.d: until then the kernel tunes windows that are \
             longer, and responses from far away are held back less exactly"
        )
    });
    Check { what, found: format!("{found}, the longest window of this link {needed}"), advice }
}

fn scaling(of: Option<String>) -> Option<Check> {
    let is_off = of? == "0";
    is_off.then(|| Check {
        what: "window scaling",
        found: "net.ipv4.tcp_window_scaling is 0".into(),
        advice: Some("sysctl -w net.ipv4.tcp_window_scaling=1: without it no window exceeds 64 KiB".into()),
    })
}

/// TCP features of the kernel, each tested on a socket.
fn kernel(release: &str) -> Vec<Check> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None);
    let has = |works: fn(&Socket) -> bool| socket.as_ref().is_ok_and(works);
    let check = |what, feature: &str, since: &str, works: bool, without: &str| {
        let advice = (!works).then(|| format!("upgrade the kernel to Linux {since} or later: without it {without}"));
        let found = format!("{} ({feature}, Linux {release})", if works { "yes" } else { "no" });
        Check { what, found, advice }
    };
    vec![
        check(
            "windows that stay as set",
            "SO_BUF_LOCK",
            "5.15",
            has(|socket| sys::fix_receive_buffer(socket.as_fd(), true).is_ok()),
            "a window that starts below 64 KiB stays below it",
        ),
        check(
            "windows seen closing",
            "TCP_INFO has the receive window",
            "6.2",
            has(|socket| sys::receive_window(socket.as_fd()).is_some()),
            "a tunnel asks for its turn a little later",
        ),
        check(
            "tunnels without delay",
            "SO_PEEK_OFF for TCP",
            "6.9",
            has(|socket| sys::peek_ahead(socket.as_fd()).is_ok()),
            "what has arrived in a tunnel waits for its turn in the kernel",
        ),
    ]
}

fn files(limits: &Limits) -> Check {
    let what = "open files";
    let most = getrlimit(Resource::Nofile).maximum;
    let found = format!("at most {}", most.map_or_else(|| "unlimited".into(), |most| most.to_string()));
    let advice = match Descriptors::of(most.unwrap_or(u64::MAX)) {
        Ok(descriptors) => descriptors.warning(limits),
        Err(error) => Some(error.to_string()),
    };
    Check { what, found, advice }
}

/// Which sockets this process may open.
#[derive(Debug, Clone, Copy)]
struct Permitted {
    echoes: bool,
    raw: bool,
}

impl Permitted {
    fn try_out() -> Self {
        let opens = |kind| -> io::Result<Socket> { Socket::new(Domain::IPV4, kind, Some(Protocol::ICMPV4)) };
        let raw = opens(Type::RAW).is_ok();
        Self { echoes: raw || opens(Type::DGRAM).is_ok(), raw }
    }
}

fn icmp(permitted: &Permitted) -> Check {
    let (found, advice) = match permitted {
        Permitted { raw: true, .. } => ("echoes, and echoes that expire at a hop", None),
        Permitted { echoes: true, .. } => (
            "echoes to an address",
            Some(
                "hop: probes need root or CAP_NET_RAW, which the packaged unit gives; an address as the probe needs neither",
            ),
        ),
        Permitted { .. } => (
            "none",
            Some(
                "give the gateway CAP_NET_RAW, as the packaged unit does, or its group a place in net.ipv4.ping_group_range",
            ),
        ),
    };
    Check { what: "ICMP probes", found: found.into(), advice: advice.map(Into::into) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rmem_max_is_held_against_the_longest_window() {
        // 10 Mbit/s: 1.2 MB/s, 1.7 MB in 1.4 s.
        let of = |most: &str, rate| windows(Some(most.into()), rate);
        let short = of("212992", Some(1.2e6));
        assert!(short.found.contains("212992") && short.found.contains("1680000"), "{short:?}");
        assert!(short.advice.is_some_and(|what| what.contains("rmem_max=2097152,")));
        assert_eq!(of("1680000", Some(1.2e6)).advice, None);
        assert_eq!(of("212992", None).advice, None);
        assert_eq!(windows(None, Some(1.2e6)).advice, None);
    }

    #[test]
    fn what_is_missing_has_advice() {
        assert_eq!(scaling(Some("1".into())), None);
        assert!(scaling(Some("0".into())).is_some_and(|check| check.advice.is_some()));
        let of = |echoes, raw| icmp(&Permitted { echoes, raw }).advice;
        assert_eq!(of(true, true), None);
        assert!(of(true, false).is_some_and(|what| what.contains("CAP_NET_RAW")));
        assert!(of(false, false).is_some_and(|what| what.contains("ping_group_range")));
    }

    #[test]
    fn this_machine_is_examined() {
        let config = crate::config::Config::parse("[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n");
        let checks = examine(None, &config.expect("a configuration").limits);
        assert!(checks.len() >= 6 && checks.iter().all(|check| !check.found.is_empty()), "{checks:?}");
    }
}
