//! Reads what the downlink has carried so far.

use std::time::Instant;

use dovetail_netns::{Namespace, tool};
use serde_json::Value;

use super::wires::DOWNLINK;
use crate::{BedError, LinkUse};

/// The counters of the downlink's token bucket, and when they were read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counters {
    at: Instant,
    bytes: u64,
    pub(super) packets: u64,
    drops: u64,
    /// What is queued.
    pub(super) queued_bytes: u64,
    pub(super) queued_packets: u64,
}

impl Counters {
    /// Reads the counters.
    ///
    /// # Errors
    /// If `tc` fails or its output has no token bucket.
    pub(super) fn read(provider: &Namespace) -> Result<Self, BedError> {
        let words = format!("-n {} -j -s qdisc show dev {DOWNLINK}", provider.name());
        let printed = tool("tc", &words)?;
        let at = Instant::now();
        Self::parse(&printed, at).ok_or_else(|| BedError::Refused {
            command: format!("tc {words}"),
            said: "printed no counters of a token bucket in JSON".into(),
        })
    }

    fn parse(printed: &[u8], at: Instant) -> Option<Self> {
        let document: Value = serde_json::from_slice(printed).ok()?;
        let bucket = document.as_array()?.iter().find(|one| one["kind"] == "tbf")?;
        let counter = |name: &str| bucket[name].as_u64();
        Some(Self {
            at,
            bytes: counter("bytes")?,
            packets: counter("packets")?,
            drops: counter("drops")?,
            queued_bytes: counter("backlog")?,
            queued_packets: counter("qlen")?,
        })
    }

    /// When it was read.
    pub(super) fn at(&self) -> Instant {
        self.at
    }

    /// What was carried from an earlier reading to this one, on a link of this many bits per second.
    pub(super) fn since(self, earlier: Self, rate_bps: f64) -> LinkUse {
        let seconds = (self.at - earlier.at).as_secs_f64();
        let bytes = self.bytes - earlier.bytes;
        LinkUse {
            seconds,
            bytes,
            packets: self.packets - earlier.packets,
            drops: self.drops - earlier.drops,
            utilisation: bytes as f64 * 8.0 / seconds / rate_bps,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn counters_of_the_bucket() {
        let printed =
            br#"[{"kind":"tbf","handle":"1:","root":true,"bytes":3028,"packets":2,"drops":1,"backlog":4542,"qlen":3},
            {"kind":"pfifo","handle":"10:","parent":"1:1","bytes":9,"packets":9,"drops":9}]"#;
        let now = Instant::now();
        let earlier = Counters { at: now, bytes: 0, packets: 0, drops: 0, queued_bytes: 0, queued_packets: 0 };
        let later = Counters::parse(printed, now + Duration::from_secs(2)).unwrap();
        let seen = later.since(earlier, 24_224.0);
        assert_eq!(seen, LinkUse { seconds: 2.0, bytes: 3028, packets: 2, drops: 1, utilisation: 0.5 });
        assert_eq!((later.queued_bytes, later.queued_packets), (4542, 3));
        assert!(Counters::parse(b"[]", now).is_none() && Counters::parse(b"tbf", now).is_none());
    }
}
