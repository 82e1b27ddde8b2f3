//! When timers run.
//!
//! A kernel does not keep each timer to the nanosecond. Linux sorts timers into a wheel whose slots are the coarser the
//! further away they are, an eighth of the distance at most, and a timer runs when its slot has passed: one that is due
//! within 64 ticks to a tick, within 512 to eight, within 4,096 to 64 and so on (`kernel/time/timer.c`). So a second becomes 1.00
//! to 1.06 s. What repeats after timeouts does not fall into step with what repeats each second.
//!
//! Slots end at multiples of their width since the host started. Hosts that all started at the same instant would repeat what
//! they lost at the same instants too, and lose it together again; so each host's clock has a phase.

use dovetail_sched::Nanos;

/// A tick: `CONFIG_HZ=1000`.
const TICK: u64 = 1_000_000;
/// Slots of a level, and by how much the next level's are wider.
const SLOTS: u64 = 64;
const WIDER: u64 = 8;
/// The furthest level (`LVL_DEPTH`).
const LEVELS: u32 = 9;

/// When a host's timers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timers {
    /// Exactly when they are due.
    Exact,
    /// When a slot of the kernel's timer wheel has passed.
    Wheel {
        /// How long the host has run at time zero.
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
