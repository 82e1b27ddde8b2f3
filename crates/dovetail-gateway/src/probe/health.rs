//! Tracks whether a probe is answered.
//!
//! A probe that has not been answered for ten seconds while something is in flight is *silent*: for whatever reason, it does
//! not measure the far queue. It continues once a second, and the first answer ends the silence.

use std::{
    cell::{Cell, RefCell},
    io,
    time::{Duration, Instant},
};

/// After this long without an answer a probe is silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// The state of a probe's answers.
#[derive(Debug)]
pub(super) struct Health {
    /// The probe in words.
    what: String,
    // The last answer, or the time since which one has been possible.
    answered: Cell<Instant>,
    is_silent: Cell<bool>,
    // The last error in sending or receiving.
    error: RefCell<Option<String>>,
}

impl Health {
    pub(super) fn new(what: String, now: Instant) -> Self {
        Self { what, answered: Cell::new(now), is_silent: Cell::new(false), error: RefCell::default() }
    }

    pub(super) const fn is_silent(&self) -> bool {
        self.is_silent.get()
    }

    /// There is no host to send to yet, so no answer is due.
    pub(super) fn no_target(&self, now: Instant) {
        self.answered.set(now);
    }

    /// Sending or receiving has failed.
    pub(super) fn failed(&self, error: &io::Error) {
        *self.error.borrow_mut() = Some(error.to_string());
    }

    /// Records that another is sent; `is_busy` while something is in flight. Returns a log message if the probe becomes silent.
    pub(super) fn leaves(&self, is_busy: bool, now: Instant) -> Option<String> {
        let is_late = now.saturating_duration_since(self.answered.get()) >= PATIENCE;
        if self.is_silent.get() || !is_busy || !is_late {
            return None;
        }
        self.is_silent.set(true);
        Some(self.fault(now))
    }

    /// Records an answer. Returns a log message if the probe was silent.
    pub(super) fn back(&self, now: Instant) -> Option<String> {
        let away = now.saturating_duration_since(self.answered.replace(now)).as_secs();
        self.error.take();
        self.is_silent.replace(false).then(|| format!("the probe ({}) is answered again, after {away} s", self.what))
    }

    /// Describes what is wrong with a silent probe.
    pub(super) fn fault(&self, now: Instant) -> String {
        let for_s = now.saturating_duration_since(self.answered.get()).as_secs();
        let error = self.error.borrow();
        let why = error.as_ref().map_or(String::new(), |error| format!(" ({error})"));
        format!(
            "the probe ({}) has not been answered for {for_s} s{why}: until it is, TCP's round-trip times measure \
             the far queue",
            self.what
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_silent_after_ten_seconds_and_until_the_next_answer() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let health = Health::new("echoes to a".into(), began);
        assert_eq!(health.leaves(true, at(9)), None);
        assert_eq!(health.leaves(false, at(11)), None, "nothing is in flight");
        health.failed(&io::ErrorKind::ConnectionRefused.into());
        let said = health.leaves(true, at(12)).expect("it is silent");
        assert!(said.contains("(echoes to a)") && said.contains("12 s (connection refused)"), "{said}");
        assert!(health.is_silent());
        assert_eq!(health.leaves(true, at(13)), None, "it is said once");
        assert!(health.back(at(20)).is_some_and(|said| said.contains("answered again, after 20 s")));
        assert!(!health.is_silent() && health.back(at(21)).is_none());
        assert_eq!(health.leaves(true, at(29)), None);
        assert!(health.leaves(true, at(31)).is_some_and(|said| !said.contains("refused")));
    }

    #[test]
    fn a_probe_without_a_target_is_not_silent() {
        let began = Instant::now();
        let health = Health::new(String::new(), began);
        let later = began + 2 * PATIENCE;
        health.no_target(later);
        assert_eq!(health.leaves(true, later + PATIENCE / 2), None);
        assert!(health.leaves(true, later + PATIENCE).is_some());
    }
}
