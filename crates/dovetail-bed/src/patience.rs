//! Judgements of a real link on a machine that may be busy.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread::sleep,
    time::Duration,
};

const TRIES: u32 = 5;
/// What keeps a machine busy is often short, such as a link step of a build.
const PAUSE: Duration = Duration::from_secs(10);

/// Judges again, after a pause, when `judge` panics: a link of the testbed is made of processes, and what it carries in a
/// moment depends on who else runs. What is wrong with a program is wrong every time.
///
/// # Panics
/// As `judge` does in the last of five tries.
pub fn patiently(judge: impl Fn()) {
    with_pauses(PAUSE, judge);
}

fn with_pauses(pause: Duration, judge: impl Fn()) {
    for _ in 1..TRIES {
        if catch_unwind(AssertUnwindSafe(&judge)).is_ok() {
            return;
        }
        eprintln!("measured again: the machine may have been busy");
        sleep(pause);
    }
    judge();
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_fault_that_stays_is_a_failure() {
        assert!(catch_unwind(|| with_pauses(Duration::ZERO, || panic!("always"))).is_err());
    }

    #[test]
    fn one_that_goes_is_none() {
        let tries = Cell::new(0);
        with_pauses(Duration::ZERO, || {
            tries.set(tries.get() + 1);
            assert!(tries.get() > 1, "busy");
        });
        assert_eq!(tries.get(), 2);
    }
}
