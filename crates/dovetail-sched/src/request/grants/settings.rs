//! The policy's parsed knobs.

use super::{age::Ageing, order::Order};
use crate::{Nanos, PolicyError, entry::Knobs};

/// The policy's knobs. Units are those of responses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) order: Order,
    pub(super) ageing: Ageing,
    pub(super) slack: u64,
    pub(super) user_lead: u64,
    pub(super) lag: u64,
    pub(super) lead: u64,
    pub(super) silence: Nanos,
    pub(super) delay: Nanos,
    pub(super) counts_users: bool,
    pub(super) learns: bool,
}

impl Settings {
    /// `window`: the initial window of a response, in units.
    pub(super) fn of(knobs: &Knobs<'_>, window: u64) -> Result<Self, PolicyError> {
        let most = 1_000_000_000;
        let or_inf = |key| if knobs.text(key) == "inf" { Ok(u64::MAX) } else { knobs.bytes(key, 0, most) };
        let (slack, user_lead) = (or_inf("slack")?, or_inf("user-lead")?);
        let lead = match knobs.text("lead").strip_suffix('w') {
            Some(windows) => windows
                .parse()
                .ok()
                .filter(|windows: &u64| *windows <= 1000)
                .map(|windows| windows.saturating_mul(window)),
            None => or_inf("lead").ok(),
        };
        let lead = lead.ok_or_else(|| {
            knobs.wrong("lead", format_args!("a size up to 1GB, first windows up to 1000w such as 8w, or inf"))
        })?;
        let lag = knobs.bytes("lag", 0, most)?;
        let counts_users = switch(knobs, "users", "count", "ignore")?;
        let learns = switch(knobs, "learn", "on", "off")?;
        let delay = knobs.time("delay")?;
        if !(Nanos::from_micros(1)..=Nanos::from_secs(10)).contains(&delay) {
            return Err(knobs.wrong("delay", format_args!("a time from 1us to 10s")));
        }
        let (order, ageing, silence) = (Order::read(knobs)?, Ageing::read(knobs)?, knobs.time("silence")?);
        Ok(Self { order, ageing, slack, user_lead, lag, lead, silence, delay, counts_users, learns })
    }
}

/// Parses a knob with two values; returns whether it has the first.
fn switch(knobs: &Knobs<'_>, key: &str, first: &str, second: &str) -> Result<bool, PolicyError> {
    match knobs.text(key) {
        value if value == first => Ok(true),
        value if value == second => Ok(false),
        _ => Err(knobs.wrong(key, format_args!("{first} or {second}"))),
    }
}
