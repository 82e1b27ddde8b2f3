//! The uplink's capacity, learnt by pauses.
//!
//! A probe goes both ways, so a long delay may be the queue of either link, or of one farther away. But a gateway can stop its
//! uploads: a queue of theirs is gone once everything sent has been acknowledged, and any other queue stays. So:
//!
//! ```text
//! late       the probes' delay is above d' for a second, and what is not acknowledged takes d'/4 or more at C
//! late:      pause until nearly all is acknowledged; once the delay has passed again, see how it is for a second
//! less than d' or half of it is left:  the queue was the uplink's.  If A < 0.97·S or S < 0.75·C:  C <- min(A, 0.95·C)
//! otherwise:                           no pause for 10 s, then 20 s, up to 160 s; 0.8 of it is left, and never less than
//!                                      half:  it was another
//! not late, and S >= 0.75·C:           C <- C0·(1 + (t/60 s)³), at most the given rate
//! ```
//!
//! `C` is the capacity for uploads and for acknowledgements of downloads. In the second of the decision, `A` is what was
//! acknowledged, with the acknowledgements that were counted, and `S` what was sent; if more is acknowledged during the pause,
//! while the queue leaves, `A` is that. If all that was sent was carried, the queue did not grow: it is gone after the pause, and
//! `C` stays. `d'` is 120 ms, twice what `grants` keeps the far queue at, or four frames at `C` if these take longer.
//!
//! A probe tells of the queue at the time when it was sent: those that come back before the delay has passed again tell of the
//! queue before the end of the pause. Until the verdict, half of a new `C` is sent, so that no queue returns. If `C` stays, all of
//! it is sent: when the delay is long again after such a pause, the queue may be a new one of uploads, and the next verdict is
//! reached with half of `C`. There is no other pause for 10 s if it finds the queue gone again.
//!
//! `C0` is `C` after the last verdict, and `t` the time since then in which uploads used it and the delay was short. As with
//! CUBIC (RFC 9438), `C` stays near the last known capacity for half a minute, and then looks for more: a wrong verdict, or a
//! link that is faster again, is mended in a minute or two.
//!
//! `C` is between a sixteenth of the given rate and the given rate, which is never exceeded: it may be a tariff's.
//!
//! For 10 s after a pause has shown that a long delay is not the uplink's, the downlink's scheduler need not be told that the
//! uplink is [busy](super::UplinkUse).

mod spell;

use self::spell::Spell;
pub use self::spell::Uploads;
use crate::Nanos;

/// How long uploads are measured before a decision.
const SPELL: Nanos = Nanos::from_secs(1);
/// Twice the far delay that `grants` aims at by default. A shorter delay is no reason to pause.
const LATE: Nanos = Nanos::from_millis(120);
/// The longest frame of Ethernet without its checksum.
const FRAME_BYTES: f64 = 1_514.0;
/// Frames that may wait in the uplink's queue however slow it is.
const FRAMES: f64 = 4.0;
/// Less than this part of the delay of [`LATE`] in flight cannot be its cause, even on a link of a quarter of the rate.
const IN_FLIGHT: f64 = 0.25;
/// A pause is over when this part of what was not acknowledged is left, or four frames.
const DRAINED: f64 = 1.0 / 32.0;
/// The longest pause, halved after each that was in vain. What is not acknowledged then may be in front of a dead server.
const MAX_PAUSE: Nanos = Nanos::from_secs(20);
/// A queue that was the uplink's has less than this part of the delay left after a pause.
const LEFT: f64 = 0.5;
/// A queue that was another has at least this part left, and never less than [`LEFT`].
const STAYS: f64 = 0.8;
/// If less than this part of what was sent was carried, the queue was growing.
const CARRIED: f64 = 0.97;
/// The smallest cut.
const CUT: f64 = 0.95;
/// The smallest capacity, of what was given.
const MIN_PART: f64 = 1.0 / 16.0;
/// What is sent meanwhile, of what was given.
const PAUSED: f64 = 1e-3;
/// The part of the capacity that is sent if the pace is what limits uploads: 0.9 with nothing lost to whole turns.
const USED: f64 = 0.75;
/// Doubles `C` if it is used for this long.
const DOUBLES_S: f64 = 60.0;
/// What is sent until the verdict, of a capacity that was found.
const CAREFUL: f64 = 0.5;
/// How long a pause that was in vain proves that the delay has another cause.
const CLEARED: Nanos = Nanos::from_secs(10);
/// How often the time that long is doubled in which nothing is paused, when pauses go on to be in vain.
const MAX_DOUBLINGS: u32 = 4;

/// Learns the capacity of an uplink. O(1) per report.
#[derive(Debug)]
pub struct UplinkRate {
    given: f64,
    capacity: f64,
    // C0 and t.
    verdict: f64,
    used_s: f64,
    phase: Phase,
    spell: Spell,
    // Whether a queue was there again after a pause, although it had not grown before.
    is_doubted: bool,
    cleared: Nanos,
    spared: Nanos,
    in_vain: u32,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Sends,
    Pauses { until: Nanos, late: Late },
    Judges { late: Late },
}

/// What a pause is for.
#[derive(Debug, Clone, Copy)]
struct Late {
    mean_ns: f64,
    // Whether the queue was growing.
    grows: bool,
    // What was carried, and from the end of the pause on the capacity if it was the uplink's.
    found: f64,
    // Whether uploads had no queue any more when the pause ended.
    is_drained: bool,
}

impl Late {
    /// Whether the shortest delay since and its mean show that the queue was not that of uploads.
    fn stays(&self, (least, mean_ns): (Nanos, f64)) -> bool {
        least.as_f64() >= LEFT * self.mean_ns && mean_ns >= STAYS * self.mean_ns
    }
}

impl UplinkRate {
    /// Environments measure an upload only once it has this many bytes: it costs system calls, and shorter ones are over before.
    pub const MIN_BYTES: u64 = 16_384;

    /// For an uplink of at most `given` bytes of payload a second.
    #[must_use]
    pub const fn new(given: f64) -> Self {
        Self {
            given,
            capacity: given,
            verdict: given,
            used_s: 0.0,
            phase: Phase::Sends,
            spell: Spell::begin(Nanos::ZERO, 0),
            is_doubted: false,
            cleared: Nanos::ZERO,
            spared: Nanos::ZERO,
            in_vain: 0,
        }
    }

    /// Sets the rate that is never exceeded, in bytes of payload a second, and begins with it.
    pub fn set_given(&mut self, given: f64) {
        *self = Self { spell: self.spell, ..Self::new(given) };
    }

    /// The uplink's capacity as far as known, in bytes of payload a second.
    #[must_use]
    pub const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// The rate to pace uploads for now, in bytes of payload a second: the capacity, or hardly anything during a pause.
    #[must_use]
    pub fn rate(&self) -> f64 {
        match self.phase {
            Phase::Pauses { .. } => self.given * PAUSED,
            Phase::Judges { late } if late.grows || self.is_doubted => CAREFUL * late.found,
            Phase::Judges { .. } | Phase::Sends => self.capacity,
        }
    }

    /// Whether a pause or the judgement of one is not over: reports have to go on even if there are no uploads any more.
    #[must_use]
    pub const fn is_testing(&self) -> bool {
        !matches!(self.phase, Phase::Sends)
    }

    /// Whether a long delay is known to have another cause than uploads.
    #[must_use]
    pub fn is_cleared(&self, now: Nanos) -> bool {
        now < self.cleared
    }

    /// Reports what is known at `now`; to be called several times a second while there are uploads. Returns the new
    /// [`rate`](Self::rate) if it changes.
    pub fn look(&mut self, seen: &Uploads, now: Nanos) -> Option<f64> {
        let before = self.rate();
        self.spell.add(seen, now);
        match self.phase {
            Phase::Sends if now - self.spell.since >= SPELL => self.decide(now),
            Phase::Pauses { until, late } => {
                let is_drained = self.is_drained();
                if is_drained || now >= until {
                    self.resume(Late { is_drained, ..late }, now);
                }
            }
            Phase::Judges { late } if now - self.spell.settled >= SPELL => self.judge(late, now),
            _ => {}
        }
        let rate = self.rate();
        ((rate - before).abs() > 0.0).then_some(rate)
    }

    fn decide(&mut self, now: Nanos) {
        let long = (now - self.spell.since).as_secs_f64();
        let (carried, sent) = (self.spell.carried() / long, self.spell.sent() / long);
        // Once nothing was reported for long, the past second is unknown.
        let delays = self.spell.delays().filter(|_| now - self.spell.since < Nanos(2 * SPELL.0));
        let late = delays.filter(|&(least, _)| least > self.limit());
        let is_used = sent >= USED * self.capacity;
        if let Some((_, mean_ns)) = late {
            let (in_flight, limit_s) = (self.spell.unacked as f64, self.limit().as_secs_f64());
            if in_flight / self.capacity >= IN_FLIGHT * limit_s && now >= self.spared {
                let grows = !is_used || carried < CARRIED * sent;
                let late = Late { mean_ns, grows, found: carried, is_drained: false };
                return self.begin(Phase::Pauses { until: now + Nanos(MAX_PAUSE.0 >> self.in_vain), late }, now);
            }
        } else if delays.is_some() && is_used {
            self.used_s += long;
            let more = self.used_s / DOUBLES_S;
            self.capacity = (self.verdict * (1.0 + more * more * more)).min(self.given);
        }
        self.begin(Phase::Sends, now);
    }

    /// The pause is over. Its queue has left at the link's speed.
    fn resume(&mut self, late: Late, now: Nanos) {
        let left = self.spell.carried() / (now - self.spell.since).as_secs_f64();
        let found = late.found.max(left).min(CUT * self.capacity).max(self.given * MIN_PART);
        let found = if late.grows { found } else { self.capacity };
        self.phase = Phase::Judges { late: Late { found, ..late } };
        self.spell = self.spell.settle(now);
    }

    fn judge(&mut self, late: Late, now: Nanos) {
        let delays = self.spell.delays();
        if delays.is_some_and(|(_, mean_ns)| mean_ns < f64::max(self.limit().as_f64(), LEFT * late.mean_ns)) {
            self.capacity = late.found;
            (self.verdict, self.used_s) = (self.capacity, 0.0);
            self.in_vain = 0;
            if core::mem::take(&mut self.is_doubted) {
                self.spared = now + CLEARED;
            }
        } else if late.is_drained && !late.grows && !self.is_doubted {
            self.is_doubted = true;
        } else {
            self.is_doubted = false;
            if late.is_drained && delays.is_some_and(|left| late.stays(left)) {
                self.cleared = now + CLEARED;
            }
            self.spared = now + Nanos(CLEARED.0 << self.in_vain);
            self.in_vain = (self.in_vain + 1).min(MAX_DOUBLINGS);
        }
        self.begin(Phase::Sends, now);
    }

    /// The longest delay that is no reason to pause.
    fn limit(&self) -> Nanos {
        LATE.max(Nanos::from_f64(FRAMES * FRAME_BYTES / self.capacity * 1e9))
    }

    /// Whether the queue of uploads is gone.
    fn is_drained(&self) -> bool {
        self.spell.unacked as f64 <= f64::max(DRAINED * self.spell.unacked_before as f64, FRAMES * FRAME_BYTES)
    }

    fn begin(&mut self, phase: Phase, now: Nanos) {
        self.phase = phase;
        self.spell = Spell::begin(now, self.spell.unacked);
    }
}
