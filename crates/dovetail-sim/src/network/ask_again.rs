//! When to ask a policy again that let nothing go.

use dovetail_sched::Nanos;

/// The time for which a question is on the agenda.
#[derive(Debug)]
pub(super) struct AskAgain {
    at: Nanos,
}

impl AskAgain {
    pub(super) const fn new() -> Self {
        Self { at: Nanos::MAX }
    }

    /// A policy wants to be asked at `at`: when to do so, if that is to be put on the agenda; `None` where an earlier
    /// question is on it.
    pub(super) fn at(&mut self, at: Nanos, now: Nanos) -> Option<Nanos> {
        // A policy that says "now" again would never let time pass.
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
