//! Caches results of credential checks under fingerprints that no client can target.

use std::{
    fmt,
    hash::Hasher,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use siphasher::sip128::{Hasher128, SipHasher24};

use super::recent::{Fingerprint, RIGHT, Recent, WRONG};

/// Cached right and wrong credentials.
pub(super) struct Memory {
    key: [u8; 16],
    found: Mutex<Found>,
}

/// Right credentials with their users, and wrong ones.
struct Found {
    right: Recent<Fingerprint, Arc<str>>,
    wrong: Recent<Fingerprint, ()>,
}

impl Memory {
    /// An empty cache with a random key.
    pub(super) fn new() -> Result<Self, getrandom::Error> {
        let mut key = [0; 16];
        getrandom::fill(&mut key)?;
        Ok(Self { key, found: Mutex::new(Found { right: Recent::new(RIGHT), wrong: Recent::new(WRONG) }) })
    }

    /// The key under which credentials are cached.
    pub(super) fn fingerprint(&self, credentials: &[u8]) -> Fingerprint {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(credentials);
        hasher.finish128().as_u128()
    }

    /// The cached result, if any: the user, or `None` if they were wrong.
    pub(super) fn seen(&self, fingerprint: Fingerprint, now: Instant) -> Option<Option<Arc<str>>> {
        let found = self.found();
        match found.right.get(&fingerprint, now) {
            Some(name) => Some(Some(Arc::clone(name))),
            None => found.wrong.get(&fingerprint, now).map(|()| None),
        }
    }

    /// Caches a result: the user, or `None` if they are wrong.
    pub(super) fn insert(&self, fingerprint: Fingerprint, user: Option<Arc<str>>, now: Instant) {
        let mut found = self.found();
        match user {
            Some(name) => found.right.insert(fingerprint, name, now),
            None => found.wrong.insert(fingerprint, (), now),
        }
    }

    /// Each change is atomic, also if a panic happens elsewhere.
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}
