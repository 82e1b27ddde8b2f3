//! How hosts send: a preset with knobs, as written in a scenario.
//!
//! `linux` is today's Linux, `2005` what hosts ran when many papers on queueing were written, `quic` another protocol. Knobs
//! follow a colon, as with policies: `linux:congestion=reno,initial_window=4`.

use std::{collections::HashSet, fmt, str::FromStr};

use dovetail_sched::{Nanos, units::parse_time};
use dovetail_tcp::{Config, Congestion};

use crate::workload::clip;

/// TCP and IP headers without options.
pub(super) const TCP_HEADERS_BYTES: u32 = 40;

/// UDP and IP headers.
pub(super) const UDP_HEADERS_BYTES: u32 = 28;
/// A QUIC connection id: RFC 9000 permits up to 20 bytes, and servers commonly use 8.
pub(super) const QUIC_ID_BYTES: usize = 8;
/// Overhead of a packet that QUIC fills in the middle of a transfer: besides UDP and IP headers a short header with an id and
/// one byte of packet number, a STREAM frame's type, id and offset (four bytes from 16 kB on), and the tag.
const QUIC_HEADERS_BYTES: u32 = UDP_HEADERS_BYTES + 1 + QUIC_ID_BYTES as u32 + 1 + 1 + 1 + 4 + 16;
/// A path must carry datagrams of 1,200 bytes for QUIC (RFC 9000, section 14).
pub(super) const QUIC_MIN_MTU_BYTES: u32 = 1200 + UDP_HEADERS_BYTES;
/// Jumbo frames; the library writes no Initial packets over 16 kB.
pub(super) const QUIC_MAX_MTU_BYTES: u32 = 9000;

/// The protocol of hosts' connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// QUIC over UDP, with one stream per connection.
    Quic,
}

/// How hosts send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// The protocol of connections.
    pub protocol: Protocol,
    /// TCP's settings; those of [`Config::linux`] by default. [`Config::segment_bytes`] follows from the MTU. With
    /// [`Protocol::Quic`] only [`Config::receive_bytes`] is used, and [`Config::congestion`], which must be
    /// [`Congestion::Reno`].
    pub tcp: Config,
    /// The largest IP packet, in bytes: TCP's segments carry 40 less, and still less with options.
    pub mtu_bytes: u32,
    /// A packet of a connection leaves its host later than the transport sent it by a random time from zero up to this, and
    /// never before an earlier one from the same end. At most [`MAX_JITTER`].
    ///
    /// With zero, the default, hosts respond at once, and which packets find a full queue is systematic: a packet triggered
    /// by an acknowledgement arrives just when the packet before it has left, and finds room, while one triggered by a timer
    /// does not (Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992). A jitter of a packet's
    /// time on the bottleneck, or more, prevents that.
    pub jitter: Nanos,
}

/// The longest delay of a packet in its host.
pub const MAX_JITTER: Nanos = Nanos::from_secs(1);

impl Default for Transport {
    fn default() -> Self {
        Self { protocol: Protocol::Tcp, tcp: Config::linux(), mtu_bytes: 1500, jitter: Nanos::ZERO }
    }
}

impl Transport {
    /// Hosts that run QUIC with NewReno, and otherwise the defaults.
    #[must_use]
    pub fn quic() -> Self {
        let Named { protocol, tcp } = Named::quic();
        Self { protocol, tcp, ..Self::default() }
    }

    /// Overhead of a full packet.
    pub(super) const fn headers_bytes(&self) -> u32 {
        match self.protocol {
            Protocol::Tcp => TCP_HEADERS_BYTES,
            Protocol::Quic => QUIC_HEADERS_BYTES,
        }
    }

    /// The settings of a host's TCP. No connection is ever abandoned: applications that try again are not modelled.
    #[must_use]
    pub const fn tcp(&self) -> Config {
        let mut tcp = self.tcp;
        (tcp.syn_retries, tcp.syn_ack_retries, tcp.retries) = (u32::MAX, u32::MAX, u32::MAX);
        tcp.segment_bytes = self.mtu_bytes.saturating_sub(TCP_HEADERS_BYTES);
        tcp
    }

    /// Bytes of the IP packets that carry `bytes` bytes, without handshakes, acknowledgements, options and retransmissions.
    #[must_use]
    pub const fn wire_bytes(&self, bytes: u64) -> u64 {
        let headers = self.headers_bytes();
        let segment = self.mtu_bytes.saturating_sub(headers) as u64;
        if segment == 0 { 0 } else { bytes + bytes.div_ceil(segment) * headers as u64 }
    }
}

/// How hosts send, as named in a scenario: `linux`, `2005` or `quic`, and knobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) protocol: Protocol,
    pub(super) tcp: Config,
}

impl Named {
    const fn quic() -> Self {
        Self { protocol: Protocol::Quic, tcp: Config { congestion: Congestion::Reno, ..Config::linux() } }
    }

    /// The knobs of this kind of hosts: for QUIC only the first.
    fn knobs(&self) -> &'static [Knob] {
        match self.protocol {
            Protocol::Tcp => &KNOBS,
            Protocol::Quic => &KNOBS[..1],
        }
    }
}

/// A knob, and its setter.
struct Knob {
    name: &'static str,
    /// Description of its values.
    values: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

const KNOBS: [Knob; 11] = [
    Knob {
        name: "congestion",
        values: "reno, cubic or bbr",
        set: |tcp, value| {
            tcp.congestion = algorithm(value)?;
            Some(())
        },
    },
    Knob {
        name: "initial_window",
        values: "segments from 1 to 1000",
        set: |tcp, value| {
            tcp.initial_window = value.parse().ok().filter(|segments| (1..=1000).contains(segments))?;
            Some(())
        },
    },
    Knob {
        name: "min_timeout",
        values: "a time from 1ms to 120s",
        set: |tcp, value| {
            let shortest = Nanos::from_millis(1);
            let longest = Nanos::from_secs(120);
            tcp.least_timeout = time(value).filter(|time| (shortest..=longest).contains(time))?;
            Some(())
        },
    },
    Knob {
        name: "delayed_ack",
        values: "a time up to 500ms, or 0s for none",
        set: |tcp, value| {
            // RFC 9293, section 3.8.6.3: less than half a second.
            tcp.ack_delay = time(value).filter(|&time| time <= Nanos::from_millis(500))?;
            Some(())
        },
    },
    Knob { name: "sack", values: "on or off", set: |tcp, value| switch(value).map(|is_on| tcp.sack = is_on) },
    Knob { name: "ecn", values: "on or off", set: |tcp, value| switch(value).map(|is_on| tcp.ecn = is_on) },
    Knob {
        name: "timestamps",
        values: "on or off",
        set: |tcp, value| switch(value).map(|is_on| tcp.timestamps = is_on),
    },
    Knob { name: "nagle", values: "on or off", set: |tcp, value| switch(value).map(|is_on| tcp.nagle = is_on) },
    Knob { name: "hystart", values: "on or off", set: |tcp, value| switch(value).map(|is_on| tcp.hystart = is_on) },
    Knob {
        name: "autotune",
        values: "on or off",
        set: |tcp, value| switch(value).map(|is_on| tcp.receive_grows = is_on),
    },
    Knob { name: "pacing", values: "on or off", set: |tcp, value| switch(value).map(|is_on| tcp.pacing = is_on) },
];

/// A congestion control algorithm by name.
pub(super) fn algorithm(name: &str) -> Option<Congestion> {
    Some(match name {
        "reno" => Congestion::Reno,
        "cubic" => Congestion::Cubic,
        "bbr" => Congestion::Bbr,
        _ => return None,
    })
}

fn switch(value: &str) -> Option<bool> {
    Some(match value {
        "on" | "true" => true,
        "off" | "false" => false,
        _ => return None,
    })
}

fn time(value: &str) -> Option<Nanos> {
    parse_time(value).ok()
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (preset, knobs) = text.split_once(':').unwrap_or((text, ""));
        let over_tcp = |tcp| Self { protocol: Protocol::Tcp, tcp };
        let mut named = match preset {
            "linux" => over_tcp(Config::linux()),
            "2005" => over_tcp(Config::year_2005()),
            "quic" => Self::quic(),
            other => return Err(format!("a transport is linux, 2005 or quic, not '{}'", clip(other))),
        };
        let mut given = HashSet::new();
        for knob in knobs.split(',').filter(|knob| !knob.is_empty()) {
            let (name, value) = knob.split_once('=').unwrap_or((knob, ""));
            let knobs = named.knobs();
            let Some(known) = knobs.iter().find(|known| known.name == name) else {
                let names: Vec<_> = knobs.iter().map(|known| known.name).collect();
                return Err(format!("'{}' is no knob of {preset}: it has {}", clip(name), names.join(", ")));
            };
            if !given.insert(name) {
                return Err(format!("'{name}' is given twice"));
            }
            (known.set)(&mut named.tcp, value)
                .ok_or_else(|| format!("{name} is {}, not '{}'", known.values, clip(value)))?;
        }
        Ok(named)
    }
}

impl fmt::Display for Transport {
    /// As a phrase for reports.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.protocol == Protocol::Quic {
            return f.write_str("QUIC, NewReno");
        }
        let Config { congestion, initial_window, least_timeout, ack_delay, sack, ecn, pacing, .. } = self.tcp;
        let name = match congestion {
            Congestion::Reno => "Reno",
            Congestion::Cubic => "CUBIC",
            Congestion::Bbr => "BBR",
            _ => "another congestion control",
        };
        write!(f, "{name}, first window {initial_window} segments, timeouts from {least_timeout}")?;
        write!(f, ", acknowledgements held back up to {ack_delay}")?;
        write!(f, ", {} SACK{}", if sack { "with" } else { "without" }, if ecn { ", ECN" } else { "" })?;
        write!(f, "{}", if pacing { ", paced" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_knobs() {
        let Named { tcp: plain, .. } = "linux".parse().expect("a preset");
        assert_eq!(plain, Config::linux());
        let Named { tcp: old, .. } = "2005:sack=on,min_timeout=200ms,initial_window=4".parse().expect("knobs");
        assert!(old.sack && old.initial_window == 4 && old.least_timeout == Nanos::from_millis(200));
        assert_eq!(old.congestion, Congestion::Reno);
        let Named { tcp: eager, .. } = "linux:delayed_ack=0s,congestion=reno,ecn=on".parse().expect("knobs");
        assert!(eager.ack_delay == Nanos::ZERO && eager.congestion == Congestion::Reno && eager.ecn);
        let Named { tcp: model, .. } = "linux:congestion=bbr".parse().expect("an algorithm");
        assert_eq!(model, Config { congestion: Congestion::Bbr, ..Config::linux() });
        let Named { tcp: grows, .. } = "linux:autotune=on".parse().expect("a knob");
        assert_eq!(grows, Config { receive_grows: true, ..Config::linux() });
        let Named { tcp: paced, .. } = "linux:pacing=on".parse().expect("a knob");
        assert_eq!(paced, Config { pacing: true, ..Config::linux() });
    }

    #[test]
    fn a_phrase_says_what_hosts_do() {
        let phrase = |text: &str| {
            let Named { protocol, tcp } = text.parse().expect("right");
            Transport { protocol, tcp, ..Transport::default() }.to_string()
        };
        let rest = "first window 10 segments, timeouts from 200ms, acknowledgements held back up to 40ms, with SACK";
        assert_eq!(phrase("linux:congestion=bbr"), format!("BBR, {rest}"));
        assert_eq!(phrase("quic"), "QUIC, NewReno");
        assert_eq!(phrase("linux:ecn=on,pacing=on"), format!("CUBIC, {rest}, ECN, paced"));
    }

    #[test]
    fn errors_say_what_is_possible() {
        let error = |text: &str| text.parse::<Named>().expect_err("wrong");
        assert_eq!(error("bsd"), "a transport is linux, 2005 or quic, not 'bsd'");
        assert_eq!(error("quic:initial_window=4"), "'initial_window' is no knob of quic: it has congestion");
        assert!(error("linux:windw=3").contains("no knob of linux: it has congestion, initial_window"));
        assert_eq!(error("linux:initial_window=0"), "initial_window is segments from 1 to 1000, not '0'");
        assert_eq!(error("linux:ecn"), "ecn is on or off, not ''");
        assert_eq!(error("linux:ecn=on,ecn=off"), "'ecn' is given twice");
        assert_eq!(error("linux:congestion=vegas"), "congestion is reno, cubic or bbr, not 'vegas'");
    }
}
