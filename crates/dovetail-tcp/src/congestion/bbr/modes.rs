//! The modes of BBR (draft-00, section 4.3).
//!
//! - *Startup* paces at 2.89 times the bandwidth, which doubles the delivery rate each round trip, until three round trips in
//!   a row have brought less than a quarter more.
//! - *Drain* paces at the inverse of that until the queue that startup built is gone.
//! - *Probe bandwidth* cycles through eight phases of a round trip: 5/4, 3/4 to drain the resulting queue, and six times 1.
//!   Flows begin in different phases.
//! - *Probe round trip* leaves four segments in flight for 200 ms and a round trip, when the smallest round trip is ten
//!   seconds old.

use dovetail_sched::Nanos;

use crate::bandwidth::{Bandwidth, Gain};

/// `BBRHighGain`: 2/ln 2.
pub(super) const HIGH: Gain = Gain(739);
const DRAIN: Gain = Gain(256 * 256 / 739);
/// Window gain while bandwidth is probed: twice the product, to allow for delayed acknowledgements.
const TWICE: Gain = Gain(512);
/// Section 4.3.4.
const CYCLE: [Gain; 8] = [Gain(320), Gain(192), Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE];
/// Growth that shows that the path is not full, and round trips without it that show that it is (section 4.3.2.2).
const GROWS: Gain = Gain(320);
const FULL_ROUNDS: u8 = 3;
/// `ProbeRTTDuration`.
const PROBE_LASTS: Nanos = Nanos::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    /// Index of the phase in the cycle.
    ProbeBandwidth(usize),
    /// When probing ends, once few enough segments are in flight; and whether a round trip has passed since.
    ProbeRoundTrip(Option<(Nanos, bool)>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Modes {
    mode: Mode,
    phase_began: Nanos,
    /// Whether the path was ever full.
    pub(super) has_filled: bool,
    full: Bandwidth,
    full_rounds: u8,
    restarts: bool,
    // State of the random number generator that picks phases.
    random: u64,
}

impl Modes {
    pub(super) fn new(seed: u32) -> Self {
        Self {
            mode: Mode::Startup,
            phase_began: Nanos::ZERO,
            has_filled: false,
            full: Bandwidth::default(),
            full_rounds: 0,
            restarts: false,
            random: seed.into(),
        }
    }

    pub(super) const fn pacing_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup => HIGH,
            Mode::Drain => DRAIN,
            Mode::ProbeBandwidth(phase) => CYCLE[phase],
            Mode::ProbeRoundTrip(_) => Gain::ONE,
        }
    }

    pub(super) const fn window_gain(&self) -> Gain {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH,
            Mode::ProbeBandwidth(_) => TWICE,
            Mode::ProbeRoundTrip(_) => Gain::ONE,
        }
    }

    pub(super) const fn is_probing_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::ProbeBandwidth(_))
    }

    pub(super) const fn is_probing_round_trip(&self) -> bool {
        matches!(self.mode, Mode::ProbeRoundTrip(_))
    }

    /// Whether more is sent than the estimated bandwidth, to probe for more.
    pub(super) const fn asks_for_more(&self) -> bool {
        matches!(self.mode, Mode::ProbeBandwidth(0))
    }

    /// Advances to the next phase when this one has lasted a round trip; the first lasts until it has had its effect, the
    /// second only as long as needed (section 4.3.4.3). `held` is the bandwidth-delay product times a gain above 1.
    pub(super) fn cycle(&mut self, in_flight: u32, held: u32, has_lost: bool, least: Nanos, now: Nanos) {
        let Mode::ProbeBandwidth(phase) = self.mode else { return };
        let has_lasted = now - self.phase_began > least;
        let is_over = match CYCLE[phase] {
            Gain::ONE => has_lasted,
            gain if gain > Gain::ONE => has_lasted && (has_lost || in_flight >= held),
            _ => has_lasted || in_flight <= held,
        };
        if is_over {
            self.mode = Mode::ProbeBandwidth((phase + 1) % CYCLE.len());
            self.phase_began = now;
        }
    }

    /// A round trip ended that was not application-limited: checks whether the path is full (section 4.3.2.2).
    pub(super) fn check_full(&mut self, bandwidth: Bandwidth) {
        if self.has_filled {
            return;
        }
        if bandwidth >= self.full.times(GROWS) {
            (self.full, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.has_filled = self.full_rounds >= FULL_ROUNDS;
    }

    /// Restarts the check whether the path is full, unless it was full already.
    pub(super) fn forget_fullness(&mut self) {
        (self.full, self.full_rounds) = (Bandwidth::default(), 0);
    }

    /// Section 4.3.3.
    pub(super) fn check_drain(&mut self, in_flight: u32, held: u32, now: Nanos) {
        if self.mode == Mode::Startup && self.has_filled {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && in_flight <= held {
            self.probe_bandwidth(now);
        }
    }

    /// Begins in any phase but the second, which would drain a queue that does not exist (section 4.3.4.2).
    pub(super) fn probe_bandwidth(&mut self, now: Nanos) {
        let phase = match self.random() % (CYCLE.len() as u64 - 1) {
            0 => 0,
            other => other as usize + 1,
        };
        self.mode = Mode::ProbeBandwidth(phase);
        self.phase_began = now;
    }

    /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), seeded by the connection's initial number.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Whether to measure the round-trip time again; not after a pause, which has emptied the path.
    pub(super) const fn begins_probing_round_trip(&self, is_out_of_date: bool) -> bool {
        is_out_of_date && !self.restarts && !self.is_probing_round_trip()
    }

    pub(super) fn probe_round_trip(&mut self) {
        self.mode = Mode::ProbeRoundTrip(None);
    }

    /// Whether few enough segments are in flight for the first time.
    pub(super) fn has_drained(&mut self, in_flight: u32, least_window: u32, now: Nanos) -> bool {
        let has_drained = self.mode == Mode::ProbeRoundTrip(None) && in_flight <= least_window;
        if has_drained {
            self.mode = Mode::ProbeRoundTrip(Some((now + PROBE_LASTS, false)));
        }
        has_drained
    }

    /// Whether they have been few for long enough.
    pub(super) fn has_probed(&mut self, round_begins: bool, now: Nanos) -> bool {
        let Mode::ProbeRoundTrip(Some((until, has_passed))) = &mut self.mode else { return false };
        *has_passed |= round_begins;
        *has_passed && now > *until
    }

    pub(super) fn after_round_trip_probe(&mut self, now: Nanos) {
        if self.has_filled {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// Sending resumes after a pause.
    pub(super) const fn restarts(&mut self) {
        self.restarts = true;
    }

    /// A segment sent after the pause is delivered.
    pub(super) const fn has_restarted(&mut self) {
        self.restarts = false;
    }
}
