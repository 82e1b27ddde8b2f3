//! Checks passwords with an external program that speaks Squid's protocol of basic helpers.
//!
//! Each lookup is a line on its standard input, answered by a line on its standard output:
//!
//! ```text
//! [channel] user password          both percent-encoded
//! [channel] OK [user=NAME] | ERR | BH [message=TEXT]
//! ```
//!
//! Values are percent-encoded, or in double quotes with backslashes before quotes and backslashes. Other keys are not used.
//!
//! With channels, a process may have several lookups in flight and answer them in any order. At most the configured number of
//! processes run, each started when first needed, by its arguments and without a shell. A process that dies, times out or
//! sends an invalid answer is killed: its lookups in flight *fail*, and the next one is started after a pause that doubles
//! from 100 ms to 10 s for as long as none answers. A failed lookup admits no client and is not cached.
//!
//! Results are cached as for [files of passwords](super::Passwords). Helpers often ignore case and blanks around a name, so a
//! user is identified by the name in lower case and without these; otherwise one user could pass as several. The same applies to
//! a name that the helper gives for the user instead (`user=`).

mod line;
mod process;
mod queue;

use std::{fmt, rc::Rc, sync::Arc, time::Instant};

use http::HeaderValue;
use tokio::{task::spawn_local, time::timeout};

use self::{
    line::{canonical, escaped},
    process::work,
    queue::{Lookups, Verdict},
};
use super::{
    header::{basic, decoded},
    memory::Memory,
};
use crate::config::Helper as Configured;

/// The result of looking credentials up.
#[derive(Debug)]
pub(crate) enum Known {
    User(Arc<str>),
    Wrong,
    Missing,
    /// Not known: ask a helper.
    Nothing(Credentials),
}

/// Credentials to be checked by a helper.
#[derive(Debug)]
pub(crate) struct Credentials {
    whole: String,
    name: Arc<str>,
}

impl Credentials {
    /// The line sent to a process.
    fn line(&self) -> String {
        let (name, password) = self.whole.split_once(':').unwrap_or_default();
        format!("{} {}", escaped(name), escaped(password))
    }
}

/// The processes of a helper, and a cache of recent results.
pub(crate) struct Helper {
    config: Configured,
    memory: Memory,
    lookups: Rc<Lookups>,
}

impl Helper {
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new(config: Configured) -> Result<Self, getrandom::Error> {
        Ok(Self { config, memory: Memory::new()?, lookups: Rc::default() })
    }

    pub(crate) const fn config(&self) -> &Configured {
        &self.config
    }

    /// Looks up the credentials in a `Proxy-Authorization` header.
    pub(crate) fn known(&self, header: Option<&HeaderValue>) -> Known {
        let Some(encoded) = header.and_then(|header| basic(header.as_bytes())) else { return Known::Missing };
        let Some(whole) = decoded(encoded) else { return Known::Wrong };
        match self.memory.seen(self.memory.fingerprint(whole.as_bytes()), Instant::now()) {
            Some(Some(name)) => return Known::User(name),
            Some(None) => return Known::Wrong,
            None => {}
        }
        let Some((name, _)) = whole.split_once(':') else { return Known::Wrong };
        match canonical(name) {
            Some(name) => Known::Nothing(Credentials { name, whole }),
            None => Known::Wrong,
        }
    }

    /// The user that the credentials belong to, if any; an error if that could not be determined.
    pub(crate) async fn ask(&self, credentials: Credentials) -> Result<Option<Arc<str>>, ()> {
        let line = credentials.line();
        let Credentials { whole, name } = credentials;
        let verdict = self.lookups.push(line).ok_or(())?;
        if self.lookups.needs_task(self.config.processes) {
            spawn_local(work(self.config.clone(), Rc::clone(&self.lookups)));
        }
        let user = match timeout(self.config.timeout, verdict).await {
            Ok(Ok(Verdict::Right(other))) => Some(other.unwrap_or(name)),
            Ok(Ok(Verdict::Wrong)) => None,
            Ok(Ok(Verdict::Failed) | Err(_)) | Err(_) => return Err(()),
        };
        self.memory.insert(self.memory.fingerprint(whole.as_bytes()), user.clone(), Instant::now());
        Ok(user)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.lookups.close();
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helper").field("config", &self.config).finish_non_exhaustive()
    }
}
