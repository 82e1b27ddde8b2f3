//! Authenticates clients by name and password (RFC 7617).
//!
//! Clients send name and password with every request, while bcrypt takes tens of milliseconds per check, on purpose. So right
//! credentials are cached for five minutes, wrong ones for ten seconds, and everything else is a [`Job`] for a thread that may
//! block. The cache key is a fingerprint: 128-bit SipHash-2-4 under a random key of this process. Without the key no client can
//! target a fingerprint, or learn from the time that a lookup takes.
//!
//! Another program may check them instead (`helper.rs`).
//!
//! Guessing is slow: at most [`MAX_JOBS`] checks are in flight, no two for the same credentials, and the answer to wrong ones
//! should be delayed by [`DELAY`]. A name that does not exist costs as much as the costliest one that does.

mod check_queue;
mod file;
mod header;
mod helper;
mod memory;
mod recent;

use std::{
    collections::HashMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use dovetail_toml::Fault;
use http::HeaderValue;

use crate::config::ConfigError;
pub(crate) use check_queue::CheckQueue;
use header::{basic, decoded};
pub(crate) use helper::{Credentials, Helper, Known};
use memory::Memory;
use recent::Fingerprint;

/// Maximum number of concurrent bcrypt checks.
pub const MAX_JOBS: usize = 4;
/// Delay between finding that credentials are wrong and the answer.
pub const DELAY: Duration = Duration::from_secs(1);
/// When to retry after [`Check::Busy`].
pub const RETRY: Duration = Duration::from_millis(50);

/// Names and password hashes, with a cache of recent results.
#[derive(Clone)]
pub struct Passwords {
    shared: Arc<Shared>,
}

struct Shared {
    hashes: HashMap<Arc<str>, Arc<str>>,
    /// The hash used for names that do not exist.
    decoy: Arc<str>,
    memory: Memory,
    in_flight: Mutex<Vec<Fingerprint>>,
}

/// The result of looking credentials up.
#[derive(Debug)]
pub enum Check {
    /// They belong to this user.
    Known(Arc<str>),
    /// They are wrong according to the cache, or cannot belong to any user. Answer after [`DELAY`].
    Unknown,
    /// There are none: request them.
    Missing,
    /// Not known yet: run the job where it may block for tens of milliseconds. Limit each client to one at a time, until its
    /// answer has been sent: a client that guesses without pause would otherwise keep others from being checked.
    Work(Job),
    /// Too many other checks are in flight, or these credentials are being checked already: retry after [`RETRY`].
    Busy,
}

/// A pending check of credentials. Dropping it without running it has no effect.
#[must_use = "nothing is known until it is run"]
pub struct Job {
    shared: Arc<Shared>,
    fingerprint: Fingerprint,
    /// The name if the user exists, and the hash to compare with.
    name: Option<Arc<str>>,
    hash: Arc<str>,
    password: Vec<u8>,
}

/// The passwords in the configured file, if any.
pub(crate) fn read_passwords(path: Option<&Path>) -> Result<Option<Passwords>, ConfigError> {
    path.map(Passwords::read).transpose()
}

impl Passwords {
    /// Reads a file of at most 1 MiB.
    ///
    /// # Errors
    /// Same as for [`parse`](Self::parse), and if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        file::read(path).and_then(Self::new)
    }

    /// Parses lines `name:hash` as written by `htpasswd -B`.
    ///
    /// # Errors
    /// [`ConfigError`], with the line, if a hash is not bcrypt (`$2y$` or `$2b$`, with a cost of 4 to 14) or a name occurs
    /// twice, and if there are no names.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        file::parse(text, "passwords").and_then(Self::new)
    }

    fn new(file::Users { hashes, decoy }: file::Users) -> Result<Self, ConfigError> {
        let memory = Memory::new().map_err(|why| {
            let what = format!("the system provides no random numbers: {why}");
            Fault::whole(what).located("", "passwords")
        })?;
        Ok(Self { shared: Arc::new(Shared { hashes, decoy, memory, in_flight: Mutex::default() }) })
    }

    /// The number of users.
    #[must_use]
    pub fn users(&self) -> usize {
        self.shared.hashes.len()
    }

    /// Looks up the credentials in a `Proxy-Authorization` header. Never blocks for long.
    #[must_use]
    pub fn check(&self, header: Option<&HeaderValue>) -> Check {
        self.check_at(header, Instant::now())
    }

    fn check_at(&self, header: Option<&HeaderValue>, now: Instant) -> Check {
        let Some(encoded) = header.and_then(|header| basic(header.as_bytes())) else { return Check::Missing };
        let Some(credentials) = decoded(encoded) else { return Check::Unknown };
        let Some((name, password)) = credentials.split_once(':') else { return Check::Unknown };

        let fingerprint = self.shared.memory.fingerprint(credentials.as_bytes());
        // A result is cached before its job leaves `in_flight`, so no job is started twice.
        let mut in_flight = self.shared.in_flight();
        match self.shared.memory.seen(fingerprint, now) {
            Some(Some(name)) => return Check::Known(name),
            Some(None) => return Check::Unknown,
            None if in_flight.len() == MAX_JOBS || in_flight.contains(&fingerprint) => return Check::Busy,
            None => in_flight.push(fingerprint),
        }
        let user = self.shared.hashes.get_key_value(name);
        Check::Work(Job {
            shared: self.shared.clone(),
            fingerprint,
            name: user.map(|(name, _)| name.clone()),
            hash: user.map_or_else(|| self.shared.decoy.clone(), |(_, hash)| hash.clone()),
            password: password.into(),
        })
    }
}

impl Job {
    /// Checks the credentials and returns their user, if there is one; the result is cached. Blocks for as long as bcrypt
    /// takes. After `None`, delay the answer by [`DELAY`].
    #[must_use]
    pub fn run(self) -> Option<Arc<str>> {
        self.run_at(Instant::now())
    }

    fn run_at(self, now: Instant) -> Option<Arc<str>> {
        let fits = bcrypt::verify(&self.password, &self.hash).unwrap_or(false);
        let user = self.name.clone().filter(|_| fits);
        self.shared.memory.insert(self.fingerprint, user.clone(), now);
        user
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let fingerprint = self.fingerprint;
        self.shared.in_flight().retain(|other| *other != fingerprint);
    }
}

impl Shared {
    /// The credentials of jobs in flight. A panic elsewhere leaves them consistent.
    fn in_flight(&self) -> MutexGuard<'_, Vec<Fingerprint>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passwords of {} users", self.users())
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Job")
    }
}

#[cfg(test)]
mod tests;
