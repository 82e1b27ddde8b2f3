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
/// At most one message of a helper that cannot examine passwords is logged in this time.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(60);
/// Maximum length of such a message in the log, in characters.
const MOST_SAID: usize = 200;
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
    // When a message of the helper was last logged.
    warned: Cell<Option<Instant>>,
}

struct Look {
    line: String,
    verdict: oneshot::Sender<Verdict>,
}

/// The outcome of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    /// With the user's name, if the helper gives another than the client.
    Right(Option<Arc<str>>),
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
        match canonical(name) {
            Some(name) => Known::Nothing(Credentials { name, whole }),
            None => Known::Wrong,
        }
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
            Ok(Ok(Verdict::Right(other))) => Some(other.unwrap_or(name)),
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
    /// Logs why a helper cannot examine passwords, unless it has just been logged.
    fn warn(&self, config: &Configured, message: &str) {
        if self.warned.get().is_some_and(|at| at.elapsed() < BETWEEN_WARNINGS) {
            return;
        }
        self.warned.set(Some(Instant::now()));
        let message: String = message.chars().take(MOST_SAID).flat_map(char::escape_debug).collect();
        let what = if message.is_empty() { "it does not say why" } else { &message };
        warn!("access.helper {} cannot examine passwords (BH): {what}: clients get 503", config.program.display());
    }

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
                process.answered((config, waiting), &line)?;
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
    fn answered(&mut self, (config, waiting): (&Configured, &Waiting), line: &[u8]) -> io::Result<()> {
        let nonsense = || io::Error::other("its answer is none of OK, ERR and BH");
        let no_name = || io::Error::other(format!("the user= in its answer is no name of 1 to {LONGEST_NAME} bytes"));
        let text = str::from_utf8(line).map_err(|_| nonsense())?;
        let (first, rest) = word(text);
        let (at, (what, rest)) = if config.channels > 0 {
            let channel = first.parse::<usize>().ok();
            let at = self.in_flight.iter().position(|(taken, ..)| Some(*taken) == channel);
            (at, word(rest))
        } else {
            ((!self.in_flight.is_empty()).then_some(0), (first, rest))
        };
        let verdict = match what {
            "OK" => Verdict::Right(match value(rest, "user") {
                Some(name) => Some(canonical(&name).ok_or_else(no_name)?),
                None => None,
            }),
            "ERR" => Verdict::Wrong,
            "BH" => {
                waiting.warn(config, value(rest, "message").as_deref().unwrap_or(rest));
                Verdict::Failed
            }
            _ => return Err(nonsense()),
        };
        let asked = at.and_then(|at| self.in_flight.remove(at));
        let (_, sender, _) = asked.ok_or_else(|| io::Error::other("it answers what it was not asked"))?;
        // The request may have been cancelled.
        let _ = sender.send(verdict);
        Ok(())
    }
}

/// The first word of a line, and the rest without blanks around it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_ascii();
    let (word, rest) = text.split_once(|letter: char| letter.is_ascii_whitespace()).unwrap_or((text, ""));
    (word, rest.trim_ascii())
}

/// The value of a key in `key=value` pairs: percent-decoded, or in quotes.
fn value(mut rest: &str, key: &str) -> Option<String> {
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter == '=' || letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix('=') else {
            rest = after.trim_ascii_start();
            continue;
        };
        let (found, left) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let (encoded, left) =
                    after.split_at(after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len()));
                (unescaped(encoded), left)
            }
        };
        if name == key {
            return Some(found);
        }
        rest = left.trim_ascii_start();
    }
    None
}

/// Text up to a closing quote, and what follows it.
fn unquoted(text: &str) -> (String, &str) {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => out.extend(letters.next()),
            _ => out.push(letter),
        }
    }
    (out, letters.as_str())
}

/// Percent-decodes text. What is not UTF-8 is replaced, and so makes no name.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(&byte) = bytes.get(at) {
        let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match digit(at + 1).zip(digit(at + 2)).filter(|_| byte == b'%') {
            Some((high, low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A user's name as it is known here; `None` if it cannot be one.
fn canonical(name: &str) -> Option<Arc<str>> {
    let name = name.trim().to_lowercase();
    let is_odd = |letter: char| letter.is_control() || letter == char::REPLACEMENT_CHARACTER;
    (!name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(is_odd)).then(|| name.into())
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

    #[test]
    fn answers_have_keys_and_values() {
        let line = r#"tag=a%20b clt="user=no \"x\\" user=%C3%9cb%20er message="it's down" last"#;
        let of = |key| value(line, key);
        assert_eq!(of("tag").as_deref(), Some("a b"));
        assert_eq!(of("clt").as_deref(), Some("user=no \"x\\"));
        assert_eq!(of("user").as_deref(), Some("\u{dc}b er"));
        assert_eq!(of("message").as_deref(), Some("it's down"));
        assert_eq!((of("last"), of("other"), value("", "user")), (None, None, None));
        assert_eq!(value("user=\"open", "user").as_deref(), Some("open"));
        assert_eq!(value("user=100%", "user").as_deref(), Some("100%"));
        assert_eq!(word(" 7\tOK  user=x \n"), ("7", "OK  user=x"));
    }

    #[test]
    fn a_name_that_a_helper_gives_is_one_like_any_other() {
        assert_eq!(canonical(" Ann ").as_deref(), Some("ann"));
        for wrong in ["", "  ", &unescaped("%ff"), &"x".repeat(65)] {
            assert!(canonical(wrong).is_none(), "{wrong}");
        }
    }
}
