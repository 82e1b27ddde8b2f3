//! Plays explicit jobs: a thread and a connection for each.

use std::{
    io::{self, ErrorKind, Write},
    net::{Ipv4Addr, SocketAddrV4, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Builder},
    time::{Duration, Instant},
};

use super::{
    client::{Run, reach, request_head},
    http::Connection,
    origin::STACK_BYTES,
    target::asking,
    wires::user_address,
};
use crate::{End, Job, PlayedJob, Repeat, Round, Timeline, What};

/// How often a waiting user checks whether the run is over.
const LOOK: Duration = Duration::from_millis(100);
/// What a user hands to its socket at a time.
const BLOCK: [u8; 1 << 14] = [b'.'; 1 << 14];
/// Digits of a byte count; a longer answer to an upload is wrong.
const MAX_ANSWER_BYTES: usize = 20;

/// State shared by all jobs of a run.
pub(super) struct Player {
    proxy: SocketAddrV4,
    /// Time 0.
    begins: Instant,
    /// When jobs stop sending requests.
    until: Duration,
    /// When unanswered requests are cancelled.
    ends: Instant,
    /// Whether the run has failed.
    over: AtomicBool,
}

impl Player {
    pub(super) fn new(proxy: SocketAddrV4, begins: Instant, until: Duration, drain: Duration) -> Self {
        Self { proxy, begins, until, ends: begins + until + drain, over: AtomicBool::new(false) }
    }

    /// Stops sending requests.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Plays all jobs, on threads in this thread's namespace. Returns after the last answer, or at the end of the run.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(super) fn play(&self, jobs: &[Job]) -> io::Result<Vec<PlayedJob>> {
        thread::scope(|scope| {
            let begun: Vec<_> = (0..)
                .zip(jobs)
                .map(|(number, &job)| {
                    let play = move || Playing::new(self, number, job).play();
                    Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, play)
                })
                .collect();
            let join = |one: io::Result<thread::ScopedJoinHandle<'_, PlayedJob>>| {
                one.map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            };
            begun.into_iter().map(join).collect()
        })
    }
}

/// A job that is being played.
struct Playing<'a> {
    player: &'a Player,
    run: Run,
    from: Ipv4Addr,
    number: u64,
    connection: Option<Connection>,
    played: PlayedJob,
}

impl<'a> Playing<'a> {
    fn new(player: &'a Player, number: u64, job: Job) -> Self {
        Self {
            player,
            run: Run { via: job.via, proxy: player.proxy, begins: player.begins, ends: player.ends },
            from: user_address(job.class, job.user),
            number,
            connection: None,
            played: PlayedJob { job, rounds: Vec::new(), bytes: Timeline::default(), connections: 0 },
        }
    }

    fn play(mut self) -> PlayedJob {
        let job = self.played.job;
        while !self.is_over() && self.run.now() < job.at {
            thread::sleep(LOOK.min(job.at.saturating_sub(self.run.now())));
        }
        while !self.is_over() && self.asks_again(job.repeat) {
            let mut round = Round { begun: self.run.now(), first_byte: None, end: End::Unfinished };
            round.end = match self.round(&mut round.first_byte) {
                Ok(()) => End::Answered(self.run.now()),
                Err(_) if Instant::now() >= self.run.ends => End::Unfinished,
                Err(error) => End::Failed(error.to_string()),
            };
            let answered = round.took().is_some();
            self.played.rounds.push(round);
            if !answered {
                break;
            }
        }
        self.played
    }

    fn is_over(&self) -> bool {
        self.player.over.load(Ordering::Relaxed)
    }

    fn asks_again(&self, repeat: Repeat) -> bool {
        match repeat {
            Repeat::Times(times) => self.played.rounds.len() < times as usize,
            Repeat::UntilDuration => self.run.now() < self.player.until,
        }
    }

    fn round(&mut self, first_byte: &mut Option<Duration>) -> io::Result<()> {
        let job = self.played.job;
        let id = format!("{}-{}", self.number, self.played.rounds.len());
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                self.played.connections += 1;
                reach(&self.run, self.from, job.server)?
            }
        };
        let (method, path) = asking(job.what, &id);
        let upload = match job.what {
            What::Post { bytes } => Some(bytes),
            _ => None,
        };
        connection.stream().write_all(request_head(job.via, method, job.server, &path, upload).as_bytes())?;
        if let Some(bytes) = upload {
            self.upload(connection.stream(), bytes)?;
        }
        if connection.fill()? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        *first_byte = Some(self.run.now());
        let head = connection.response()?;
        let mut said = Vec::new();
        let came = connection.body(head.body, |piece| {
            if upload.is_none() {
                self.played.bytes.add(self.run.now(), piece.len() as u64);
            } else if said.len() < MAX_ANSWER_BYTES {
                said.extend_from_slice(&piece[..piece.len().min(MAX_ANSWER_BYTES)]);
            }
        })?;
        let wrong = |what: String| Err(io::Error::new(ErrorKind::InvalidData, what));
        if head.status != 200 {
            return wrong(format!("status {}", head.status));
        }
        if head.id.as_deref() != Some(&id) {
            return wrong("the answer to another request".into());
        }
        let (moved, asked) = (if upload.is_some() { number(&said) } else { Some(came) }, job.what.bytes());
        if moved != Some(asked) {
            return wrong(format!("{} bytes where {asked} were requested", moved.unwrap_or_default()));
        }
        if head.keep && connection.is_empty() {
            self.connection = Some(connection);
        }
        Ok(())
    }

    fn upload(&mut self, mut stream: &TcpStream, bytes: u64) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let time = self.run.ends.saturating_duration_since(Instant::now());
            if time.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            stream.set_write_timeout(Some(time))?;
            match stream.write(&BLOCK[..left.min(BLOCK.len() as u64) as usize]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.played.bytes.add(self.run.now(), written as u64);
                    left -= written as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}
