//! Checks passwords with an external program that speaks Squid's protocol of basic helpers.
//!
//! Each lookup is a line on its standard input, answered by a line on its standard output:
//!
//! ```text
//! [channel] user password          both percent-encoded
//! [channel] OK | ERR | BH          the rest of the line is not used
//! ```
//!
//! With channels, a process may have several lookups in flight and answer them in any order. At most the configured number of
//! processes run, each started when first needed, by its arguments and without a shell. A process that dies, times out or
//! sends an invalid answer is killed: its lookups in flight *fail*, and the next one is started after a pause that doubles
//! from 100 ms to 10 s for as long as none answers. A failed lookup admits no client and is not cached.
//!
//! Results are cached as for [files of passwords](super::Passwords). Helpers often ignore case and blanks around a name, so a
//! user is identified by the name in lower case and without these; otherwise one user could pass as several.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt, io,
    process::Stdio,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use http::HeaderValue;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    select,
    sync::{Notify, oneshot},
    task::spawn_local,
    time::{sleep, sleep_until, timeout},
};
use tracing::warn;

use super::{
    header::{basic, decoded},
    memory::Memory,
};
use crate::{config::Helper as Configured, counted::Counted};

/// Maximum number of queued lookups.
const MOST_WAITING: usize = 256;
/// Maximum length of a helper's answer line.
const LONGEST_LINE: u64 = 8 * 1024;
/// Maximum length of a name in bytes.
const LONGEST_NAME: usize = 64;
/// Minimum and maximum pause before a process is restarted.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

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
    whole: Vec<u8>,
    name: Arc<str>,
}

impl Credentials {
    /// The line sent to a process.
    fn line(&self) -> String {
        let text = str::from_utf8(&self.whole).unwrap_or_default();
        let (name, password) = text.split_once(':').unwrap_or_default();
        format!("{} {}", escaped(name), escaped(password))
    }
}

/// The processes of a helper, and a cache of recent results.
pub(crate) struct Helper {
    config: Configured,
    memory: Memory,
    waiting: Rc<Waiting>,
}

/// Lookups that wait for a process.
#[derive(Default)]
struct Waiting {
    looks: RefCell<VecDeque<Look>>,
    more: Notify,
    is_closed: Cell<bool>,
    // The number of idle processes, and of tasks.
    idle: Rc<Cell<usize>>,
    tasks: Cell<usize>,
}

struct Look {
    line: String,
    verdict: oneshot::Sender<Verdict>,
}

/// The outcome of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    Failed,
}

impl Helper {
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new(config: Configured) -> Result<Self, getrandom::Error> {
        Ok(Self { config, memory: Memory::new()?, waiting: Rc::default() })
    }

    pub(crate) const fn config(&self) -> &Configured {
        &self.config
    }

    /// Looks up the credentials in a `Proxy-Authorization` header.
    pub(crate) fn known(&self, header: Option<&HeaderValue>) -> Known {
        let Some(encoded) = header.and_then(|header| basic(header.as_bytes())) else { return Known::Missing };
        let Some(whole) = decoded(encoded) else { return Known::Wrong };
        match self.memory.seen(self.memory.fingerprint(&whole), Instant::now()) {
            Some(Some(name)) => return Known::User(name),
            Some(None) => return Known::Wrong,
            None => {}
        }
        let Some((name, _)) = str::from_utf8(&whole).ok().and_then(|text| text.split_once(':')) else {
            return Known::Wrong;
        };
        let user = name.trim().to_lowercase();
        if user.is_empty() || user.len() > LONGEST_NAME || user.contains(char::is_control) {
            return Known::Wrong;
        }
        Known::Nothing(Credentials { name: user.into(), whole })
    }

    /// The user that the credentials belong to, if any; an error if that could not be determined.
    pub(crate) async fn ask(&self, credentials: Credentials) -> Result<Option<Arc<str>>, ()> {
        let line = credentials.line();
        let Credentials { whole, name } = credentials;
        let (sender, verdict) = oneshot::channel();
        {
            let mut looks = self.waiting.looks.borrow_mut();
            looks.retain(|look| !look.verdict.is_closed());
            if looks.len() >= MOST_WAITING {
                return Err(());
            }
            looks.push_back(Look { line, verdict: sender });
        }
        let waiting = &self.waiting;
        if waiting.idle.get() == 0 && waiting.tasks.get() < self.config.processes {
            waiting.tasks.set(waiting.tasks.get() + 1);
            spawn_local(work(self.config.clone(), Rc::clone(waiting)));
        }
        waiting.more.notify_one();
        let user = match timeout(self.config.timeout, verdict).await {
            Ok(Ok(Verdict::Right)) => Some(name),
            Ok(Ok(Verdict::Wrong)) => None,
            Ok(Ok(Verdict::Failed) | Err(_)) | Err(_) => return Err(()),
        };
        self.memory.insert(self.memory.fingerprint(&whole), user.clone(), Instant::now());
        Ok(user)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.waiting.is_closed.set(true);
        self.waiting.more.notify_waiters();
    }
}

impl fmt::Debug for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Helper").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Waiting {
    /// The next lookup, or `None` after closing.
    async fn next(&self) -> Option<Look> {
        loop {
            let more = self.more.notified();
            if self.is_closed.get() {
                return None;
            }
            let next = self.looks.borrow_mut().pop_front();
            if let Some(look) = next {
                if look.verdict.is_closed() {
                    continue;
                }
                if !self.looks.borrow().is_empty() {
                    self.more.notify_one();
                }
                return Some(look);
            }
            let _idle = Counted::new(&self.idle);
            more.await;
        }
    }
}

/// Runs one process after another, for as long as there are lookups.
async fn work(config: Configured, waiting: Rc<Waiting>) {
    let (first, longest) = PAUSES;
    let mut pause = first;
    while let Some(look) = waiting.next().await {
        let mut answered = 0;
        if let Err(why) = serve(&config, &waiting, look, &mut answered).await {
            warn!("access.helper {}: {why}", config.program.display());
        } else {
            break;
        }
        pause = if answered > 0 { first } else { (pause * 2).min(longest) };
        sleep(pause).await;
    }
    waiting.tasks.set(waiting.tasks.get() - 1);
}

/// A process and its lookups in flight: channels, oldest first.
struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    in_flight: VecDeque<(usize, oneshot::Sender<Verdict>, tokio::time::Instant)>,
}

/// Lets one process handle lookups until it fails or there are no more.
async fn serve(config: &Configured, waiting: &Waiting, first: Look, answered: &mut u64) -> io::Result<()> {
    let mut process = Process::start(config)?;
    let most = config.channels.max(1);
    let mut next = Some(first);
    let mut line = Vec::new();
    loop {
        if let Some(look) = next.take() {
            process.ask(config, look).await?;
        }
        let has_room = process.in_flight.len() < most;
        let until = process.in_flight.front().map(|(.., until)| *until);
        let late = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let mut limited = (&mut process.from).take(LONGEST_LINE);
        select! {
            look = waiting.next(), if has_room => match look {
                Some(look) => next = Some(look),
                None => return Ok(()),
            },
            // If another branch completes first, what was read stays in `line`.
            read = limited.read_until(b'\n', &mut line) => {
                read?;
                if line.last() != Some(&b'\n') {
                    let status = process.child.try_wait().ok().flatten();
                    let ended = status.map_or_else(|| "it closed its output".to_owned(), |status| format!("it ended: {status}"));
                    let what = if line.is_empty() { ended } else { "its answer has no end".to_owned() };
                    return Err(io::Error::other(what));
                }
                process.answered(config, &line)?;
                *answered += 1;
                line.clear();
            }
            () = late => return Err(io::Error::other("it did not answer in time")),
        }
    }
}

impl Process {
    fn start(config: &Configured) -> io::Result<Self> {
        let mut command = Command::new(&config.program);
        command.args(&config.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // Service manager variables are for the gateway only.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"] {
            command.env_remove(name);
        }
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.ok_or_else(|| io::Error::other("it has no pipes"))?;
        Ok(Self { child, to, from: BufReader::new(from), in_flight: VecDeque::new() })
    }

    /// Sends a lookup. If that fails, those in flight are dropped with the process, and so fail.
    async fn ask(&mut self, config: &Configured, look: Look) -> io::Result<()> {
        let channel = (0..).find(|channel| self.in_flight.iter().all(|(taken, ..)| taken != channel)).unwrap_or(0);
        let line = if config.channels > 0 { format!("{channel} {}\n", look.line) } else { format!("{}\n", look.line) };
        let until = tokio::time::Instant::now() + config.timeout;
        self.in_flight.push_back((channel, look.verdict, until));
        let sent = timeout(config.timeout, self.to.write_all(line.as_bytes())).await;
        sent.unwrap_or_else(|_| Err(io::Error::other("it does not read what it is asked")))
    }

    /// Processes a line as the answer to a lookup.
    fn answered(&mut self, config: &Configured, line: &[u8]) -> io::Result<()> {
        let nonsense = || io::Error::other("its answer is none of OK, ERR and BH");
        let text = str::from_utf8(line).map_err(|_| nonsense())?;
        let mut words = text.split_ascii_whitespace();
        let at = if config.channels > 0 {
            let channel = words.next().and_then(|word| word.parse::<usize>().ok());
            self.in_flight.iter().position(|(taken, ..)| Some(*taken) == channel)
        } else {
            (!self.in_flight.is_empty()).then_some(0)
        };
        let verdict = match words.next() {
            Some("OK") => Verdict::Right,
            Some("ERR") => Verdict::Wrong,
            Some("BH") => Verdict::Failed,
            _ => return Err(nonsense()),
        };
        let asked = at.and_then(|at| self.in_flight.remove(at));
        let (_, sender, _) = asked.ok_or_else(|| io::Error::other("it answers what it was not asked"))?;
        // The request may have been cancelled.
        let _ = sender.send(verdict);
        Ok(())
    }
}

/// Percent-encodes all but letters, digits, '-', '.' and '_', so that there are no blanks or line ends.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_one_line_of_two_words() {
        assert_eq!(escaped("a b%\n\u{fc}:"), "a%20b%25%0A%C3%BC%3A");
        assert_eq!(escaped("Ann-1._"), "Ann-1._");
    }
}
