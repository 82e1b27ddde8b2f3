//! The grain of a kernel's timers.
//!
//! A kernel does not keep each timer to the nanosecond. Linux sorts timers into a wheel whose slots are the coarser the
//! further away they are, an eighth of the distance at most, and a timer runs when its slot has passed: one that is due
//! within 64 ticks to a tick, within 512 to eight, within 4,096 to 64 and so on (`kernel/time/timer.c`). So a second becomes 1.00
//! to 1.06 s. What repeats after timeouts does not fall into step with what repeats each second.

use dovetail_sched::Nanos;

/// A tick: `CONFIG_HZ=1000`.
const TICK: u64 = 1_000_000;
/// Slots of a level, and by how much the next level's are wider.
const SLOTS: u64 = 64;
const WIDER: u64 = 8;
/// The furthest level (`LVL_DEPTH`).
const LEVELS: u32 = 9;

/// When a timer runs that is set at `now` for `at`.
pub(crate) fn run_at(at: Nanos, now: Nanos) -> Nanos {
    let mut slot = TICK;
    for _ in 1..LEVELS {
        if (at - now).0 < SLOTS * slot {
            break;
        }
        slot *= WIDER;
    }
    Nanos((at.0 / slot).saturating_add(1).saturating_mul(slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_widen_with_the_distance() {
        let ms = Nanos::from_millis;
        let base = ms(1_000_003);
        for (after, slot) in [(5, 1), (63, 1), (64, 8), (200, 8), (511, 8), (512, 64), (1000, 64), (4096, 512)] {
            let run = run_at(base + ms(after), base);
            assert!(run > base + ms(after) && run <= base + ms(after + slot), "{after}: {run}");
            assert_eq!(run.0 % ms(slot).0, 0);
        }
        assert_eq!(run_at(Nanos::MAX, Nanos::ZERO), Nanos::MAX, "the end of time is not passed");
    }
}
