//! How hosts send: a preset, with knobs, as it is written in a scenario.
//!
//! `linux` is today's Linux, `2005` what hosts ran when many papers on queueing were written. A knob follows a colon, as with
//! policies: `linux:congestion=reno,initial_window=4`.

use std::{fmt, str::FromStr};

use dovetail_sched::{
    Nanos,
    units::{clip, parse_time},
};
use dovetail_tcp::{Config, Congestion};

/// TCP and IP headers without options.
pub(super) const TCP_HEADERS_BYTES: u32 = 40;

/// How hosts send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transport {
    /// TCP's settings; those of [`Config::linux`] by default. [`Config::segment_bytes`] follows from the MTU.
    pub tcp: Config,
    /// The largest IP packet, in bytes: TCP's segments carry 40 less, and less again with options.
    pub mtu_bytes: u32,
}

impl Default for Transport {
    fn default() -> Self {
        Self { tcp: Config::linux(), mtu_bytes: 1500 }
    }
}

impl Transport {
    /// The settings of a host's TCP. No connection is given up: applications that try again are not modelled.
    #[must_use]
    pub const fn tcp(&self) -> Config {
        let mut tcp = self.tcp;
        (tcp.syn_retries, tcp.retries) = (u32::MAX, u32::MAX);
        tcp.segment_bytes = self.mtu_bytes.saturating_sub(TCP_HEADERS_BYTES);
        tcp
    }

    /// The bytes of the IP packets that carry `bytes` bytes over TCP, acknowledgements, options and repetitions aside.
    #[must_use]
    pub const fn wire_bytes(&self, bytes: u64) -> u64 {
        let segment = self.mtu_bytes.saturating_sub(TCP_HEADERS_BYTES) as u64;
        if segment == 0 { 0 } else { bytes + bytes.div_ceil(segment) * TCP_HEADERS_BYTES as u64 }
    }
}

/// TCP as a scenario names it: `linux` or `2005`, and knobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named(pub(super) Config);

/// A knob, and what it sets.
struct Knob {
    name: &'static str,
    /// What its values look like.
    values: &'static str,
    set: fn(&mut Config, &str) -> Option<()>,
}

const KNOBS: [Knob; 10] = [
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
    Knob { name: "pacing", values: "on or off", set: |tcp, value| switch(value).map(|is_on| tcp.pacing = is_on) },
];

/// A congestion control by its name.
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
        let mut tcp = match preset {
            "linux" => Config::linux(),
            "2005" => Config::year_2005(),
            other => return Err(format!("a transport is linux or 2005, not '{}'", clip(other))),
        };
        for knob in knobs.split(',').filter(|knob| !knob.is_empty()) {
            let (name, value) = knob.split_once('=').unwrap_or((knob, ""));
            let Some(known) = KNOBS.iter().find(|known| known.name == name) else {
                let names: Vec<_> = KNOBS.iter().map(|known| known.name).collect();
                return Err(format!("'{}' is no knob of a transport: there are {}", clip(name), names.join(", ")));
            };
            (known.set)(&mut tcp, value).ok_or_else(|| format!("{name} is {}, not '{}'", known.values, clip(value)))?;
        }
        Ok(Self(tcp))
    }
}

impl fmt::Display for Transport {
    /// In a phrase, for those who look at a run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
        let Named(plain) = "linux".parse().expect("a preset");
        assert_eq!(plain, Config::linux());
        let Named(old) = "2005:sack=on,min_timeout=200ms,initial_window=4".parse().expect("knobs");
        assert!(old.sack && old.initial_window == 4 && old.least_timeout == Nanos::from_millis(200));
        assert_eq!(old.congestion, Congestion::Reno);
        let Named(eager) = "linux:delayed_ack=0s,congestion=reno,ecn=on".parse().expect("knobs");
        assert!(eager.ack_delay == Nanos::ZERO && eager.congestion == Congestion::Reno && eager.ecn);
        let Named(model) = "linux:congestion=bbr".parse().expect("an algorithm");
        assert_eq!(model, Config { congestion: Congestion::Bbr, ..Config::linux() });
        let Named(paced) = "linux:pacing=on".parse().expect("a knob");
        assert_eq!(paced, Config { pacing: true, ..Config::linux() });
    }

    #[test]
    fn a_phrase_says_what_hosts_do() {
        let phrase = |text: &str| {
            let Named(tcp) = text.parse().expect("right");
            Transport { tcp, ..Transport::default() }.to_string()
        };
        let rest = "first window 10 segments, timeouts from 200ms, acknowledgements held back up to 40ms, with SACK";
        assert_eq!(phrase("linux:congestion=bbr"), format!("BBR, {rest}"));
        assert_eq!(phrase("linux:ecn=on,pacing=on"), format!("CUBIC, {rest}, ECN, paced"));
    }

    #[test]
    fn errors_say_what_is_possible() {
        let error = |text: &str| text.parse::<Named>().expect_err("wrong");
        assert_eq!(error("bsd"), "a transport is linux or 2005, not 'bsd'");
        assert!(error("linux:windw=3").contains("there are congestion, initial_window"));
        assert_eq!(error("linux:initial_window=0"), "initial_window is segments from 1 to 1000, not '0'");
        assert_eq!(error("linux:ecn"), "ecn is on or off, not ''");
        assert_eq!(error("linux:congestion=vegas"), "congestion is reno, cubic or bbr, not 'vegas'");
    }
}
