//! Runs the processes of a helper, each with several lookups in flight.

use std::{collections::VecDeque, io, process::Stdio, rc::Rc, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    select,
    sync::oneshot,
    time::{sleep, sleep_until, timeout},
};
use tracing::warn;

use super::{
    line::{MAX_NAME, canonical, value, word},
    queue::{Lookup, Lookups, Verdict},
};
use crate::config::Helper as Configured;

/// Maximum length of a helper's answer line.
const MAX_LINE_BYTES: u64 = 8 * 1024;
/// Minimum and maximum pause before a process is restarted.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// Runs one process after another, for as long as there are lookups.
pub(super) async fn work(config: Configured, lookups: Rc<Lookups>) {
    let (first, longest) = PAUSES;
    let mut pause = first;
    while let Some(lookup) = lookups.next().await {
        let mut answered = 0;
        if let Err(why) = serve(&config, &lookups, lookup, &mut answered).await {
            warn!("access.helper {}: {why}", config.program.display());
        } else {
            break;
        }
        pause = if answered > 0 { first } else { (pause * 2).min(longest) };
        sleep(pause).await;
    }
    lookups.task_ended();
}

/// A process and its lookups in flight: channels, oldest first.
struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    in_flight: VecDeque<(usize, oneshot::Sender<Verdict>, tokio::time::Instant)>,
}

/// Lets one process handle lookups until it fails or there are no more.
async fn serve(config: &Configured, lookups: &Lookups, first: Lookup, answered: &mut u64) -> io::Result<()> {
    let mut process = Process::start(config)?;
    let most = config.channels.max(1);
    let mut next = Some(first);
    let mut line = Vec::new();
    loop {
        if let Some(lookup) = next.take() {
            process.ask(config, lookup).await?;
        }
        let has_room = process.in_flight.len() < most;
        let until = process.in_flight.front().map(|(.., until)| *until);
        let late = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let mut limited = (&mut process.from).take(MAX_LINE_BYTES);
        select! {
            lookup = lookups.next(), if has_room => match lookup {
                Some(lookup) => next = Some(lookup),
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
                process.answered((config, lookups), &line)?;
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
    async fn ask(&mut self, config: &Configured, lookup: Lookup) -> io::Result<()> {
        let channel = (0..).find(|channel| self.in_flight.iter().all(|(taken, ..)| taken != channel)).unwrap_or(0);
        let line =
            if config.channels > 0 { format!("{channel} {}\n", lookup.line) } else { format!("{}\n", lookup.line) };
        let until = tokio::time::Instant::now() + config.timeout;
        self.in_flight.push_back((channel, lookup.verdict, until));
        let sent = timeout(config.timeout, self.to.write_all(line.as_bytes())).await;
        sent.unwrap_or_else(|_| Err(io::Error::other("it does not read what it is asked")))
    }

    /// Processes a line as the answer to a lookup.
    fn answered(&mut self, (config, lookups): (&Configured, &Lookups), line: &[u8]) -> io::Result<()> {
        let nonsense = || io::Error::other("its answer is none of OK, ERR and BH");
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
            "OK" => match value(rest, "user").map(|name| canonical(&name)) {
                None => Verdict::Right(None),
                Some(Some(name)) => Verdict::Right(Some(name)),
                // One user's name is no fault of the process, which others use.
                Some(None) => {
                    lookups.warn(config, &format!("the user= of an answer is no name of 1 to {MAX_NAME} bytes"));
                    Verdict::Failed
                }
            },
            "ERR" => Verdict::Wrong,
            "BH" => {
                let message = value(rest, "message");
                lookups.warn(config, &format!("(BH) {}", message.as_deref().unwrap_or(rest)));
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
