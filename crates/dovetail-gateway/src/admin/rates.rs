//! The rate of each user, computed between two polls of the page, so that it costs nothing while there are none.

use std::collections::HashMap;

use dovetail_sched::Nanos;
use dovetail_tower::dispatcher::UserView;

use crate::who::Who;

/// Polls closer together count as one.
const MIN_INTERVAL: Nanos = Nanos::from_millis(900);
/// Polls farther apart do not give a current rate.
const MAX_INTERVAL: Nanos = Nanos::from_secs(5);

/// Bytes received for each user until the last poll, and their rates before it.
#[derive(Debug, Default)]
pub(super) struct Rates {
    looked: Option<Nanos>,
    units: HashMap<Who, u64>,
    bytes_per_s: HashMap<Who, f64>,
}

impl Rates {
    /// Updates the rates at a poll of the page. O(users).
    pub(super) fn look(&mut self, now: Nanos, users: &[UserView<Who>]) {
        let since = self.looked.map_or(Nanos::MAX, |looked| now - looked);
        if since < MIN_INTERVAL {
            return;
        }
        let seconds = since.as_secs_f64();
        self.bytes_per_s.clear();
        if since <= MAX_INTERVAL {
            let rate = |user: &UserView<Who>| {
                let before = self.units.get(&user.who).copied().unwrap_or(0);
                // A user who was forgotten meanwhile starts at zero again.
                let came = user.units.checked_sub(before).unwrap_or(user.units);
                (user.who.clone(), came as f64 / seconds)
            };
            self.bytes_per_s.extend(users.iter().map(rate));
        }
        self.units = users.iter().map(|user| (user.who.clone(), user.units)).collect();
        self.looked = Some(now);
    }

    /// The rate in bytes per second, if the page was polled a moment before.
    pub(super) fn of(&self, who: &Who) -> Option<f64> {
        self.bytes_per_s.get(who).copied()
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::request::ClassId;

    use super::*;

    fn user(name: &str, units: u64) -> UserView<Who> {
        UserView { who: Who::Name(name.into()), class: ClassId(0), live: 1, units, requests: 1 }
    }

    #[test]
    fn rates_are_between_two_looks() {
        let ann = Who::Name("ann".into());
        let mut rates = Rates::default();
        rates.look(Nanos::from_secs(10), &[user("ann", 5_000)]);
        assert_eq!(rates.of(&ann), None, "one look is none");
        rates.look(Nanos::from_secs(12), &[user("ann", 9_000), user("bob", 600)]);
        assert_eq!(rates.of(&ann), Some(2_000.0));
        assert_eq!(rates.of(&Who::Name("bob".into())), Some(300.0), "a new user");
        rates.look(Nanos::from_millis(12_100), &[user("ann", 99_000)]);
        assert_eq!(rates.of(&ann), Some(2_000.0), "too soon for another");
        rates.look(Nanos::from_secs(13), &[user("ann", 700)]);
        assert_eq!(rates.of(&ann), Some(700.0), "forgotten meanwhile");
        rates.look(Nanos::from_secs(60), &[user("ann", 90_000)]);
        assert_eq!(rates.of(&ann), None, "a mean over a minute is not now");
    }
}
