//! What a host's TCP is set to.

use dovetail_sched::Nanos;

use crate::ticks::Timers;

/// A host's settings. Two presets: [`linux`](Self::linux), which is also the default, and
/// [`year_2005`](Self::year_2005).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The largest segment in bytes, headers aside, from 1 on.
    pub segment_bytes: u32,
    /// Room for what was received and not read: the longest window. Up to 1 GiB (RFC 7323, section 2.3).
    pub receive_bytes: u32,
    /// Whether the window begins at 82,944 bytes and grows up to `receive_bytes` with what the application reads in a round
    /// trip (`tcp_moderate_rcvbuf`). Without it there is room for all from the start, and the window grows by two segments
    /// for each that comes.
    pub receive_grows: bool,
    /// Room for what was written and not acknowledged.
    pub send_bytes: u64,
    /// Who says how much may be in flight.
    pub congestion: Congestion,
    /// In segments, from 1 on (RFC 6928: 10).
    pub initial_window: u32,
    /// The least retransmission timeout's distance from the round-trip time (`TCP_RTO_MIN`).
    pub least_timeout: Nanos,
    /// How `least_timeout` is meant: `true` as Linux does, as the least of what is added to the smoothed round-trip time;
    /// `false` as RFC 6298, section 2.4, does, as the least timeout of all.
    pub timeout_floors_variance: bool,
    /// How long an acknowledgement of in-order data may be held back; zero: never.
    pub ack_delay: Nanos,
    /// Whether the first segments are each acknowledged at once (`TCP_MAX_QUICKACKS`, and while the window grows).
    pub quick_acks: bool,
    /// Whether acknowledgements of segments out of order, after the third that says so, wait for one another up to a
    /// millisecond (`tcp_comp_sack_delay_ns`).
    pub compressed_acks: bool,
    /// RFC 2018; and with it loss detection by RACK and probes of the tail (RFC 8985), proportional rate reduction (RFC
    /// 6937), and the undoing of reductions that were not due. Without it: RFC 6582.
    pub sack: bool,
    /// RFC 7323, section 3.
    pub timestamps: bool,
    /// RFC 3168.
    pub ecn: bool,
    /// Whether a segment that is not full waits while another such is in flight (RFC 896 as Minshall changed it).
    pub nagle: bool,
    /// Whether slow start ends when round trips grow, as Linux's CUBIC has it.
    pub hystart: bool,
    /// Whether segments leave one by one and not in bursts, also with Reno and CUBIC; BBR always paces.
    pub pacing: bool,
    /// Whether a window that was not used falls after a timeout without data (RFC 7661, `tcp_slow_start_after_idle`).
    pub validates_window: bool,
    /// When timers run.
    pub timers: Timers,
    /// How often a SYN or its answer is sent again before the connection is given up (`tcp_syn_retries`, and the
    /// `tcp_syn_linear_timeouts` before them).
    pub syn_retries: u32,
    /// Timeouts in a row after which a connection is given up (`tcp_retries2`).
    pub retries: u32,
    /// How long the end that closed first waits for stragglers (`TCP_TIMEWAIT_LEN`).
    pub time_wait: Nanos,
}

impl Config {
    /// Linux 6.12 as it is installed, but for timestamps.
    #[must_use]
    pub const fn linux() -> Self {
        Self {
            segment_bytes: 1460,
            receive_bytes: 1 << 18,
            receive_grows: false,
            send_bytes: 1 << 22,
            congestion: Congestion::Cubic,
            initial_window: 10,
            least_timeout: Nanos::from_millis(200),
            timeout_floors_variance: true,
            ack_delay: Nanos::from_millis(40),
            quick_acks: true,
            compressed_acks: true,
            sack: true,
            timestamps: false,
            ecn: false,
            nagle: true,
            hystart: true,
            pacing: false,
            validates_window: true,
            timers: Timers::Wheel { phase: Nanos::ZERO },
            syn_retries: 10,
            retries: 15,
            time_wait: Nanos::from_secs(60),
        }
    }

    /// What hosts of papers around 2005 ran: Reno with RFC 6582's recovery, an initial window of RFC 3390 (three segments
    /// of 1,460 bytes), timeouts of a second.
    #[must_use]
    pub const fn year_2005() -> Self {
        Self {
            congestion: Congestion::Reno,
            initial_window: 3,
            least_timeout: Nanos::from_secs(1),
            timeout_floors_variance: false,
            ack_delay: Nanos::from_millis(100),
            quick_acks: false,
            compressed_acks: false,
            sack: false,
            hystart: false,
            validates_window: false,
            timers: Timers::Exact,
            ..Self::linux()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::linux()
    }
}

/// Congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Version 1 (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
}
