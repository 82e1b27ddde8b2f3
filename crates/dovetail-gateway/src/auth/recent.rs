//! What was found of late: this many entries at most, each for the same time.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    time::{Duration, Instant},
};

/// How long right credentials are remembered, and how many.
pub(super) const RIGHT: (Duration, usize) = (Duration::from_secs(300), 16_384);
/// How long wrong ones are, and how many.
pub(super) const WRONG: (Duration, usize) = (Duration::from_secs(10), 1024);

/// What credentials are known by.
pub(super) type Fingerprint = u128;

/// Values that are forgotten some time after they came, the oldest first where there are too many. O(1) amortised.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    lasts: Duration,
    most: usize,
    values: HashMap<K, (V, Instant)>,
    /// Keys in the order in which they came; of one that came again the last time counts.
    order: VecDeque<(K, Instant)>,
}

impl<K: Copy + Eq + Hash, V> Recent<K, V> {
    pub(super) fn new((lasts, most): (Duration, usize)) -> Self {
        Self { lasts, most, values: HashMap::new(), order: VecDeque::new() }
    }

    pub(super) fn get(&self, key: &K, now: Instant) -> Option<&V> {
        let found = self.values.get(key).filter(|(_, came)| now.saturating_duration_since(*came) < self.lasts);
        found.map(|(value, _)| value)
    }

    pub(super) fn insert(&mut self, key: K, value: V, now: Instant) {
        self.values.insert(key, (value, now));
        self.order.push_back((key, now));
        while let Some(&(oldest, came)) = self.order.front() {
            let expired = now.saturating_duration_since(came) >= self.lasts;
            if !expired && self.order.len() <= self.most {
                break;
            }
            self.order.pop_front();
            if self.values.get(&oldest).is_some_and(|&(_, last)| last == came) {
                self.values.remove(&oldest);
            }
        }
    }
}
