//! Who a client claims to be (RFC 7617), and whether that is true.
//!
//! Clients send name and password with every request; bcrypt takes tens of milliseconds for each look, on purpose. So
//! credentials that were found right are remembered for five minutes, wrong ones for ten seconds, and everything else is
//! a [`Job`] for a thread that may block. What is remembered is a fingerprint: SipHash-2-4 of 128 bits under a random key
//! of this process. Without the key no client can aim at one, or learn from the time that a look takes.
//!
//! Another program may examine them instead (`helper.rs`).
//!
//! Guessing is slow: at most [`MOST_JOBS`] are in flight at once, no two for the same credentials, and a wrong answer
//! is to be given after [`DELAY`]. A name that there is not costs as much as the
//! costliest that there is.

mod file;
mod guesses;
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
pub(crate) use guesses::Guesses;
use header::{basic, decoded};
pub(crate) use helper::{Credentials, Helper, Known};
use memory::Memory;
use recent::Fingerprint;

/// At most this many passwords are examined with bcrypt at once.
pub const MOST_JOBS: usize = 4;
/// An answer to wrong credentials is given so long after they were found to be wrong.
pub const DELAY: Duration = Duration::from_secs(1);
/// After [`Check::Busy`] ask again in so long.
pub const RETRY: Duration = Duration::from_millis(50);

/// Names and the hashes of their passwords, with what was found of late.
#[derive(Clone)]
pub struct Passwords {
    shared: Arc<Shared>,
}

struct Shared {
    hashes: HashMap<Arc<str>, Arc<str>>,
    /// For names that there are not.
    decoy: Arc<str>,
    memory: Memory,
    in_flight: Mutex<Vec<Fingerprint>>,
}

/// What is known of a client's credentials.
#[derive(Debug)]
pub enum Check {
    /// They are this user's.
    Known(Arc<str>),
    /// They are wrong, as found before, or cannot be any user's. Answer after [`DELAY`].
    Unknown,
    /// There are none: ask for them.
    Missing,
    /// Nothing yet: run the job where it may block for tens of milliseconds. Let a client have one at a time, until its
    /// answer is sent: one who guesses without pause would keep the others busy.
    Work(Job),
    /// Too many others are being examined, or these are already: ask again in [`RETRY`].
    Busy,
}

/// Credentials to look at. Dropped without being run, it leaves nothing behind.
#[must_use = "nothing is known until it is run"]
pub struct Job {
    shared: Arc<Shared>,
    fingerprint: Fingerprint,
    /// The name if there is such a user, and the hash to compare with.
    name: Option<Arc<str>>,
    hash: Arc<str>,
    password: Vec<u8>,
}

/// The passwords that a configuration names, if it names some.
pub(crate) fn read_passwords(path: Option<&Path>) -> Result<Option<Passwords>, ConfigError> {
    path.map(Passwords::read).transpose()
}

impl Passwords {
    /// Reads a file of at most 1 MiB.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        file::read(path).and_then(Self::new)
    }

    /// Reads lines `name:hash` as `htpasswd -B` writes them.
    ///
    /// # Errors
    /// [`ConfigError`], with the line, for hashes that are not bcrypt's (`$2y$` or `$2b$`, of a cost of 4 to 14), names
    /// that come twice, and when there is no name at all.
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

    /// How many users there are.
    #[must_use]
    pub fn users(&self) -> usize {
        self.shared.hashes.len()
    }

    /// What is known of the credentials in a `Proxy-Authorization` header. Never blocks for long.
    #[must_use]
    pub fn check(&self, header: Option<&HeaderValue>) -> Check {
        self.check_at(header, Instant::now())
    }

    fn check_at(&self, header: Option<&HeaderValue>, now: Instant) -> Check {
        let Some(encoded) = header.and_then(|header| basic(header.as_bytes())) else { return Check::Missing };
        let Some(credentials) = decoded(encoded) else { return Check::Unknown };
        let Some(colon) = credentials.iter().position(|&byte| byte == b':') else { return Check::Unknown };
        let (name, password) = (&credentials[..colon], &credentials[colon + 1..]);

        let fingerprint = self.shared.memory.fingerprint(&credentials);
        // A job is remembered before it is no longer in flight, so none is started twice.
        let mut in_flight = self.shared.in_flight();
        match self.shared.memory.seen(fingerprint, now) {
            Some(Some(name)) => return Check::Known(name),
            Some(None) => return Check::Unknown,
            None if in_flight.len() == MOST_JOBS || in_flight.contains(&fingerprint) => return Check::Busy,
            None => in_flight.push(fingerprint),
        }
        let user = str::from_utf8(name).ok().and_then(|name| self.shared.hashes.get_key_value(name));
        Check::Work(Job {
            shared: self.shared.clone(),
            fingerprint,
            name: user.map(|(name, _)| name.clone()),
            hash: user.map_or_else(|| self.shared.decoy.clone(), |(_, hash)| hash.clone()),
            password: password.to_vec(),
        })
    }
}

impl Job {
    /// Whose the credentials are, if they are any user's, which is remembered. Blocks for as long as bcrypt takes. If the
    /// answer is `None`, tell the client so after [`DELAY`].
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
    /// The credentials of jobs. A panic elsewhere leaves them whole.
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
