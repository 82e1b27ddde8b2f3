//! TCP settings of a host.

use dovetail_sched::Nanos;

use crate::ticks::Timers;

/// A host's settings. Two presets: [`linux`](Self::linux), which is also the default, and
/// [`year_2005`](Self::year_2005).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// The largest segment in bytes, without headers; at least 1.
    pub segment_bytes: u32,
    /// Receive buffer for data not yet read, and so the largest window. Up to 1 GiB (RFC 7323, section 2.3).
    pub receive_bytes: u32,
    /// Whether the window starts at 82,944 bytes and grows up to `receive_bytes` with what the application reads in a round
    /// trip (`tcp_moderate_rcvbuf`). Otherwise the whole buffer is available from the start, and the window grows by two
    /// segments for each one received.
    pub receive_grows: bool,
    /// Send buffer for data not yet acknowledged.
    pub send_bytes: u64,
    /// The congestion control algorithm.
    pub congestion: Congestion,
    /// Initial congestion window in segments, at least 1 (RFC 6928: 10).
    pub initial_window: u32,
    /// Lower bound for the retransmission timeout (`TCP_RTO_MIN`); `timeout_floors_variance` selects what it bounds.
    pub least_timeout: Nanos,
    /// What `least_timeout` bounds: if `true`, as in Linux, the term added to the smoothed round-trip time; if `false`, as in
    /// RFC 6298, section 2.4, the timeout itself.
    pub timeout_floors_variance: bool,
    /// How long an acknowledgement of in-order data may be delayed; zero: not at all.
    pub ack_delay: Nanos,
    /// Whether the first segments are acknowledged one by one, without delay (`TCP_MAX_QUICKACKS`, and while the window
    /// grows).
    pub quick_acks: bool,
    /// Whether acknowledgements of out-of-order segments, after the third duplicate, are merged within up to a millisecond
    /// (`tcp_comp_sack_delay_ns`).
    pub compressed_acks: bool,
    /// RFC 2018; includes loss detection by RACK and tail loss probes (RFC 8985), proportional rate reduction (RFC 6937), and
    /// undoing of spurious reductions. Without it: RFC 6582.
    pub sack: bool,
    /// RFC 7323, section 3.
    pub timestamps: bool,
    /// RFC 3168.
    pub ecn: bool,
    /// Whether a partial segment waits while another is in flight (RFC 896 with Minshall's modification).
    pub nagle: bool,
    /// Whether slow start ends when round trips grow, as in Linux's CUBIC.
    pub hystart: bool,
    /// Whether segments are paced rather than sent in bursts, also with Reno and CUBIC; BBR always paces.
    pub pacing: bool,
    /// Whether an unused window shrinks after a timeout without data (RFC 7661, `tcp_slow_start_after_idle`).
    pub validates_window: bool,
    /// Granularity of timers.
    pub timers: Timers,
    /// Retransmissions of a SYN before the connection is abandoned (`tcp_syn_retries`, preceded by the
    /// `tcp_syn_linear_timeouts`).
    pub syn_retries: u32,
    /// Retransmissions of a SYN-ACK before the connection is abandoned (`tcp_synack_retries`).
    pub syn_ack_retries: u32,
    /// Consecutive timeouts after which a connection is abandoned, and probes of a closed window without an answer
    /// (`tcp_retries2`).
    pub retries: u32,
    /// How long the end that closed first waits for stray segments (`TCP_TIMEWAIT_LEN`).
    pub time_wait: Nanos,
}

impl Config {
    /// Linux 6.12 with its default settings, except for timestamps.
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
            syn_ack_retries: 5,
            retries: 15,
            time_wait: Nanos::from_secs(60),
        }
    }

    /// Hosts of papers around 2005: Reno with RFC 6582's recovery, an initial window of RFC 3390 (three segments of 1,460
    /// bytes), a minimum timeout of a second.
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
