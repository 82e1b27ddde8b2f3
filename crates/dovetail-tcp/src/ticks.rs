//! Granularity of timers.
//!
//! A kernel does not run timers to the nanosecond. Linux sorts them into a wheel whose slots are coarser the further away
//! they are, at most an eighth of the distance, and runs a timer when its slot has passed: due within 64 ticks it is accurate
//! to a tick, within 512 to eight, within 4,096 to 64 and so on (`kernel/time/timer.c`). A second thus becomes 1.00 to 1.06
//! s, and retransmissions after timeouts do not synchronise with events that repeat each second.
//!
//! Slots end at multiples of their width since the host started. Hosts that all started at the same instant would retransmit
//! at the same instants too, and lose the segments together again; so each host's clock has a phase.

use dovetail_sched::Nanos;

/// A tick: `CONFIG_HZ=1000`.
const TICK: u64 = 1_000_000;
/// Slots per level, and the ratio of slot widths between levels.
const SLOTS: u64 = 64;
const WIDER: u64 = 8;
/// Number of levels (`LVL_DEPTH`).
const LEVELS: u32 = 9;

/// When a host's timers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timers {
    /// Exactly when they are due.
    Exact,
    /// Once their slot of the kernel's timer wheel has passed.
    Wheel {
        /// Uptime of the host at time zero.
        phase: Nanos,
    },
}

impl Timers {
    /// When a timer runs that is set at `now` for `at`.
    pub(crate) fn run_at(self, at: Nanos, now: Nanos) -> Nanos {
        let Self::Wheel { phase } = self else { return at };
        let mut slot = TICK;
        for _ in 1..LEVELS {
            if (at - now).0 < SLOTS * slot {
                break;
            }
            slot *= WIDER;
        }
        let slots = at.0.saturating_add(phase.0) / slot + 1;
        Nanos(slots.saturating_mul(slot).saturating_sub(phase.0).max(at.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn slots_widen_with_the_distance() {
        let base = ms(1_000_003);
        for phase in [Nanos::ZERO, ms(77), Nanos(123_456_789_012)] {
            for (after, slot) in [(5, 1), (63, 1), (64, 8), (200, 8), (511, 8), (512, 64), (1000, 64), (4096, 512)] {
                let run = Timers::Wheel { phase }.run_at(base + ms(after), base);
                assert!(run > base + ms(after) && run <= base + ms(after + slot), "{after}: {run}");
                assert_eq!((run + phase).0 % ms(slot).0, 0);
            }
        }
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        for phase in [Nanos::ZERO, ms(77), Nanos::MAX] {
            assert_eq!(Timers::Wheel { phase }.run_at(Nanos::MAX, Nanos::ZERO), Nanos::MAX);
        }
    }

    #[test]
    fn exact_timers_run_when_they_are_due() {
        assert_eq!(Timers::Exact.run_at(ms(1) + Nanos(7), Nanos::ZERO), ms(1) + Nanos(7));
    }
}
