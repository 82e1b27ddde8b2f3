//! Policies of requests by name, written as those of packets are.

use alloc::{boxed::Box, format, vec::Vec};
use core::{fmt, str::FromStr};

use super::{RequestScheduler, delay_pools, grants, msf_rs, none};
use crate::{
    PolicyError,
    registry::{self, Knob, Knobs, Written, name_and_rest},
    units::clip,
};

/// Every policy of requests there is.
pub const REGISTRY: &[&RequestEntry] = &[&none::ENTRY, &msf_rs::ENTRY, &grants::ENTRY, &delay_pools::ENTRY];

/// Makes a request scheduler from the knobs that were given.
pub type RequestBuild = fn(&Knobs<'_>, &RequestSetup) -> Result<Box<dyn RequestScheduler>, PolicyError>;

/// A request policy's line in the registry.
#[derive(Debug)]
pub struct RequestEntry {
    /// Its name in policy strings.
    pub name: &'static str,
    /// What it does, in a phrase.
    pub summary: &'static str,
    /// What can be set.
    pub knobs: &'static [Knob],
    /// Work per event.
    pub cost: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Makes it.
    pub build: RequestBuild,
}

/// What every request scheduler is built with, whatever its policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestSetup {
    /// What the link can carry, in units a second: its goodput, not its raw rate.
    pub rate: f64,
    /// Units of a response that one turn lets in, where a policy deals them out.
    pub quantum: u64,
    /// Units that may be on their way beyond those that may be taken in, at first.
    pub window: u64,
    /// The most that a window may grow to.
    pub longest_window: u64,
    /// What comes with every response and is not part of its length: a header.
    pub overhead: u64,
}

impl RequestSetup {
    /// Whether a link may carry so many units a second.
    #[must_use]
    pub fn is_rate(units_per_s: f64) -> bool {
        (1e-3..=1e15).contains(&units_per_s)
    }

    /// For what a gateway itself sends up a link of `rate` bytes of payload a second: turns are leave to send two full segments,
    /// and nothing is on its way that was not sent by a turn. A twentieth is left for what is not scheduled: window updates, and
    /// segments that are sent again; `grants` leaves another, as it is told of no far queue.
    #[must_use]
    pub fn for_uplink(rate: f64) -> Self {
        Self { rate: 0.95 * rate, quantum: 2 * 1448, window: 0, longest_window: 0, overhead: 0 }
    }

    /// For HTTP over TCP: units are bytes, `rate` is the link's goodput in bytes a second.
    ///
    /// A turn is two full segments of Ethernet's size. A window is what the link carries in 34 ms, so that a dozen
    /// responses from far away fill it, and not under 8 KiB, the least that Linux makes of `SO_RCVBUF`'s usual floor; it
    /// may grow to what the link carries in 1.4 s: twice a satellite's round-trip time and some queue, for where half of a window
    /// is left unread.
    #[must_use]
    pub fn for_bytes(rate: f64) -> Self {
        let carries = |seconds: f64| (rate * seconds) as u64;
        let quantum = 2 * 1448;
        let window = carries(0.034).max(8192).next_multiple_of(1448);
        Self { rate, quantum, window, longest_window: carries(1.4).max(window), overhead: 330 }
    }
}

/// A request policy's string that has been read.
#[derive(Clone)]
pub struct RequestSpec {
    entry: &'static RequestEntry,
    written: Written,
}

impl RequestSpec {
    /// The policy's line in the registry.
    #[must_use]
    pub fn entry(&self) -> &'static RequestEntry {
        self.entry
    }

    /// The string as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.written.as_str()
    }

    /// Makes the scheduler.
    ///
    /// # Errors
    /// [`PolicyError`] when a value cannot be read or is out of its range, or the setup's rate or quantum is.
    pub fn build(&self, setup: &RequestSetup) -> Result<Box<dyn RequestScheduler>, PolicyError> {
        let RequestSetup { rate, quantum, window, longest_window, .. } = *setup;
        if !RequestSetup::is_rate(rate) {
            return Err(PolicyError(format!("a link carries from 0.001 to 10^15 units a second, not {rate}")));
        }
        if quantum == 0 || window > longest_window {
            return Err(PolicyError("a turn is at least a unit, and a window no longer than the longest".into()));
        }
        (self.entry.build)(&self.written.knobs(), setup)
    }
}

impl FromStr for RequestSpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (name, _) = name_and_rest(text);
        let entry = REGISTRY.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
            let names = names.join(", ");
            if registry::REGISTRY.iter().any(|entry| entry.name == name) {
                return PolicyError(format!("'{name}' orders packets, not requests: of these there are {names}"));
            }
            PolicyError(format!("unknown policy '{}' of requests: there are {names}", clip(name)))
        })?;
        let spec = Self { entry, written: Written::read(text, entry.name, entry.knobs, &[])? };
        // A value that no link could take is an error of the string, not of the run.
        spec.build(&RequestSetup::for_bytes(1e6))?;
        Ok(spec)
    }
}

impl fmt::Display for RequestSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestSpec({self})")
    }
}

/// Two are equal if they name the same policy with the same values.
impl PartialEq for RequestSpec {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}
