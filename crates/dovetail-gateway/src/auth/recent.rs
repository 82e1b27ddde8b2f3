//! A bounded cache whose entries expire after a fixed time.

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    time::{Duration, Instant},
};

/// How long right credentials are cached, and how many.
pub(super) const RIGHT: (Duration, usize) = (Duration::from_secs(300), 16_384);
/// The same for wrong ones.
pub(super) const WRONG: (Duration, usize) = (Duration::from_secs(10), 1024);

/// The key of cached credentials.
pub(super) type Fingerprint = u128;

/// Values that expire a fixed time after insertion; if there are too many, the oldest are evicted first. O(1) amortised.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    lasts: Duration,
    most: usize,
    values: HashMap<K, (V, Instant)>,
    /// Keys in order of insertion; of repeated ones the last insertion counts.
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
