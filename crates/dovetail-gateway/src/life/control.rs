//! Commands to a running gateway, and its notices.

#[cfg(feature = "test-support")]
use tokio::sync::oneshot;

use crate::config::Config;

/// A command to a running gateway.
#[derive(Debug)]
pub enum Control {
    /// Goes on with another configuration.
    Reload(Box<Config>),
    /// Accepts nothing new, and ends when open requests have finished or the drain time is over.
    Drain,
    /// Ends at once: open requests are aborted.
    Stop,
    /// Takes the clock to be so much ahead, as if it had been set; for tests, and not stable.
    #[cfg(feature = "test-support")]
    SetClock(jiff::SignedDuration),
    /// Tells what there is at the moment; for tests, and not stable.
    #[cfg(feature = "test-support")]
    Look(oneshot::Sender<Counts>),
}

/// Current counts, for tests. All but `pooled` and `log_lost` are zero when no client is connected.
#[cfg(feature = "test-support")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests, waiting and outstanding.
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
