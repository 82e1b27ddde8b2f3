//! Simulates all users of a run, in open or closed loop: a thread for each request in flight.

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, Builder, Scope},
    time::Duration,
};

use super::{
    client::{Client, Run},
    origin::STACK_BYTES,
    plan::{self, Asked, Stream, User},
    wires::user_address,
};
use crate::{BedError, BedSpec, End, Exchange, Load, LoadSpec};

/// How long a closed-loop user waits after a failed request.
const PAUSE: Duration = Duration::from_millis(200);

/// What users do, and the results so far.
pub(super) struct Generator {
    run: Run,
    from: Duration,
    to: Duration,
    clients: Vec<Client>,
    plan: Plan,
    received_bytes: Vec<AtomicU64>,
    done: Mutex<Vec<Exchange>>,
    /// Whether to send no more requests.
    over: AtomicBool,
}

enum Plan {
    /// Time, client and request of each arrival.
    Open(Vec<(Duration, usize, Asked)>),
    /// Each client's own stream of requests, and the number that each keeps outstanding.
    Closed(Vec<Mutex<(u64, Stream)>>, u32),
}

impl Generator {
    /// # Errors
    /// If the sizes have no distribution.
    pub(super) fn new(bed: &BedSpec, load: &LoadSpec, run: Run) -> Result<Self, BedError> {
        let users = plan::users(bed, load);
        let number = |user: User| users.iter().position(|&other| other == user);
        let plan = match load.load {
            Load::Open { load: fraction } => {
                let arrivals = plan::arrivals(bed, load, fraction)?.into_iter();
                Plan::Open(arrivals.filter_map(|(at, user, asked)| Some((at, number(user)?, asked))).collect())
            }
            Load::Closed { outstanding } => {
                let stream = |&user: &User| Stream::new(load.seed, user, load.sizes, bed.round_trips.len());
                let streams = users.iter().map(|user| stream(user).map(|stream| Mutex::new((0, stream))));
                Plan::Closed(streams.collect::<Result<_, _>>()?, outstanding)
            }
        };
        let client = |&user: &User| Client::new(user, user_address(user.class, user.number));
        Ok(Self {
            run,
            from: load.warm_up,
            to: load.duration,
            clients: users.iter().map(client).collect(),
            plan,
            received_bytes: bed.users.iter().map(|_| AtomicU64::new(0)).collect(),
            done: Mutex::default(),
            over: AtomicBool::new(false),
        })
    }

    /// Plays it, on this thread and others in its namespace. Returns after the last answer, or at the end of the run.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub(super) fn play(&self) -> io::Result<()> {
        thread::scope(|scope| match &self.plan {
            Plan::Open(arrivals) => self.open(scope, arrivals),
            Plan::Closed(streams, outstanding) => self.closed(scope, streams, *outstanding),
        })
    }

    /// Stops sending requests.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// All exchanges in the order in which they were due, and the bytes that each class received.
    pub(super) fn into_parts(self) -> (Vec<Exchange>, Vec<u64>) {
        let mut exchanges = self.done.into_inner().unwrap_or_else(PoisonError::into_inner);
        exchanges.sort_by_key(|one| (one.wanted, one.class, one.user));
        (exchanges, self.received_bytes.into_iter().map(AtomicU64::into_inner).collect())
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sends a request and returns whether it was answered.
    fn ask(&self, client: usize, number: u64, wanted: Duration, asked: Asked) -> bool {
        let Some(client) = self.clients.get(client) else { return false };
        let class = client.class();
        let arrived = |at, bytes| {
            if at >= self.from && at < self.to {
                self.received_bytes[class].fetch_add(bytes, Ordering::Relaxed);
            }
        };
        let exchange = client.exchange(&self.run, number, wanted, asked, &arrived);
        let answered = matches!(exchange.end, End::Answered(_));
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        answered
    }

    fn open<'s>(&'s self, scope: &'s Scope<'s, '_>, arrivals: &'s [(Duration, usize, Asked)]) -> io::Result<()> {
        for (number, &(at, client, asked)) in (0..).zip(arrivals) {
            thread::sleep(at.saturating_sub(self.run.now()));
            if self.is_over() {
                break;
            }
            spawn(scope, move || _ = self.ask(client, number, at, asked))?;
        }
        Ok(())
    }

    fn closed<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        streams: &'s [Mutex<(u64, Stream)>],
        outstanding: u32,
    ) -> io::Result<()> {
        for _ in 0..outstanding {
            for (client, stream) in streams.iter().enumerate() {
                spawn(scope, move || self.keep_asking(client, stream))?;
            }
        }
        Ok(())
    }

    fn keep_asking(&self, client: usize, stream: &Mutex<(u64, Stream)>) {
        loop {
            let wanted = self.run.now();
            if wanted >= self.to || self.is_over() {
                return;
            }
            let (number, asked) = {
                let mut next = stream.lock().unwrap_or_else(PoisonError::into_inner);
                next.0 += 1;
                (next.0, next.1.next())
            };
            if !self.ask(client, number, wanted, asked) {
                thread::sleep(PAUSE);
            }
        }
    }
}

fn spawn<'s>(scope: &'s Scope<'s, '_>, work: impl FnOnce() + Send + 's) -> io::Result<()> {
    Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).map(drop)
}
