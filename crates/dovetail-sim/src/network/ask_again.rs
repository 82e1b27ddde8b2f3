//! When to poll a policy again that released nothing.

use dovetail_sched::Nanos;

/// The time for which a poll is scheduled.
#[derive(Debug)]
pub(super) struct AskAgain {
    at: Nanos,
}

impl AskAgain {
    pub(super) const fn new() -> Self {
        Self { at: Nanos::MAX }
    }

    /// A policy wants to be polled at `at`. Returns the time to schedule; `None` if an earlier poll is scheduled.
    pub(super) fn at(&mut self, at: Nanos, now: Nanos) -> Option<Nanos> {
        // A policy that keeps answering "now" would never let time advance.
        let at = at.max(now + Nanos(1));
        (at < self.at || self.at <= now).then(|| {
            self.at = at;
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_question_is_kept_and_time_goes_on() {
        let mut again = AskAgain::new();
        assert_eq!(again.at(Nanos(50), Nanos(10)), Some(Nanos(50)));
        assert_eq!(again.at(Nanos(60), Nanos(20)), None, "50 is on the agenda");
        assert_eq!(again.at(Nanos(40), Nanos(20)), Some(Nanos(40)));
        assert_eq!(again.at(Nanos(40), Nanos(40)), Some(Nanos(41)), "not now again");
    }
}
