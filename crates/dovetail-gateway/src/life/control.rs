//! Commands to a running gateway.

#[cfg(feature = "test-support")]
use tokio::sync::oneshot;

use crate::config::Config;

/// A command to a running gateway.
#[derive(Debug)]
pub enum Control {
    /// Applies another configuration.
    Reload(Box<Config>),
    /// Accepts nothing new, and ends when open requests have finished or the drain time is over.
    Drain,
    /// Ends at once: open requests are aborted.
    Stop,
    /// Shifts the clock, as if it had been set; for tests, and not stable.
    #[cfg(feature = "test-support")]
    SetClock(jiff::SignedDuration),
    /// Requests the current counts; for tests, and not stable.
    #[cfg(feature = "test-support")]
    Look(oneshot::Sender<Counts>),
}

/// Current counts, for tests. All but `pooled` and `log_lost` are zero when no client is connected.
#[cfg(feature = "test-support")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests, queued and in flight.
    pub requests: usize,
    /// Exchanges and tunnels that are watched for stalls.
    pub watched: usize,
    /// Connections of clients, tunnels included.
    pub connections: usize,
    /// Idle connections to servers.
    pub pooled: usize,
    /// Lines of the access log that could not be written since the start.
    pub log_lost: u64,
}
