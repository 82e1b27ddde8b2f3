//! The gateway: what all its connections share, and its life from start to end.

mod reload;

use std::{
    cell::{Cell, Ref, RefCell},
    collections::HashSet,
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use dovetail_sched::{
    PolicyError,
    request::{ClassId, RequestSetup},
};
use dovetail_tower::Desk;
use http::header::{self, HeaderMap};
use tokio::{
    runtime::{Builder, LocalOptions, LocalRuntime},
    select,
    sync::{Notify, mpsc, oneshot, watch},
    task::{spawn_blocking, spawn_local},
    time::{Instant, MissedTickBehavior, interval, sleep},
};

use crate::{
    admin,
    auth::{self, Check, Passwords},
    client::Seats,
    config::{Config, ConfigError, Probe},
    counters::{ClassCounters, Counters, add},
    descriptors::{self, Descriptors},
    destination,
    exchange::Place,
    headers::Via,
    listen::{Listeners, Sources},
    log::Log,
    own::Own,
    probe::{self, Probing, RoundTrips, Sampled},
    refusal::Refusal,
    resolve::{MOST_ADDRESSES, Names},
    serve::class_id,
    signals,
    tunnel::Free,
    uplink::Uplink,
    upstream::{Pool, Upstream, Window},
    wanted::Wanted,
    watch::Watch,
    who::Who,
};

/// What somebody outside wants of a gateway that runs.
#[derive(Debug)]
pub enum Control {
    /// Goes on with another configuration.
    Reload(Box<Config>),
    /// Begins nothing new, and ends when what is under way is over or the time for it is.
    Drain,
    /// Ends at once: what is under way is broken off.
    Stop,
    /// Tells what there is at the moment.
    Look(oneshot::Sender<Counts>),
}

/// What there is at a moment. All but `pooled` and `log_lost` are zero when no client is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests at the desk, waiting and outstanding.
    pub requests: usize,
    /// Exchanges and tunnels that are watched for stalls.
    pub watched: usize,
    /// Connections of clients, tunnels included.
    pub connections: usize,
    /// Idle connections to servers.
    pub pooled: usize,
    /// Lines of the access log that could not be written since the start.
    pub log_lost: u64,
}

/// Why a gateway could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// No place to listen.
    #[error("cannot listen at {0}: {1}{hint}", hint = of_listening(.1))]
    Listen(SocketAddr, io::Error),
    /// The policy does not go with the link.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// No name servers.
    #[error("{0}")]
    Names(String),
    /// No passwords.
    #[error(transparent)]
    Passwords(#[from] ConfigError),
    /// No place for the log.
    #[error("the access log {0}: {1}")]
    Log(String, io::Error),
    /// No probe.
    #[error("cannot start the probe ({0}): {1}")]
    Probe(String, String),
    /// No files to open.
    #[error(
        "only {0} files may be open at once, too few to serve anybody: raise the limit (ulimit -n, or LimitNOFILE=)"
    )]
    Descriptors(u64),
    /// No knowing which addresses are the gateway's own.
    #[error(
        "cannot read this machine's addresses, which clients must not reach through it: {0}: let it use AF_NETLINK \
         sockets (in a unit of systemd: RestrictAddressFamilies=AF_NETLINK besides the others)"
    )]
    Addresses(io::Error),
    /// No runtime.
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
}

/// What to do about a place that is taken.
fn of_listening(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::AddrInUse {
        ": another process listens there; a gateway is taken over with --take-over"
    } else {
        ""
    }
}

/// What all connections share.
pub(crate) struct Gateway {
    config: RefCell<Rc<Config>>,
    desk: Desk<Who>,
    window: Option<Window>,
    uplink: Rc<Uplink>,
    pool: Pool,
    names: RefCell<Rc<Names>>,
    own: Own,
    via: RefCell<Via>,
    watch: Watch,
    seats: Rc<Seats>,
    counters: Counters,
    classes: RefCell<Vec<ClassCounters>>,
    log: RefCell<Option<Rc<Log>>>,
    passwords: RefCell<Option<Rc<Passwords>>>,
    guessing: RefCell<HashSet<IpAddr>>,
    last_server: Cell<Option<IpAddr>>,
    stops: watch::Sender<bool>,
    free: Free,
    round_trips: Rc<RoundTrips>,
    probing: Probing,
    descriptors: Descriptors,
    // When it was last said that there are none left.
    last_exhausted: Cell<Option<Instant>>,
    // Another process serves in place of this one.
    taken_over: Notify,
    // As many as are being turned away, and one.
    turned_away: Rc<()>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

/// Runs a gateway on this thread until it is told to stop. `ready` is told the addresses where it listens.
///
/// # Errors
/// [`GatewayError`] when it cannot start.
pub fn run(
    config: Config,
    control: mpsc::Receiver<Control>,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), GatewayError> {
    runtime()?.block_on(Gateway::live(config, control, Sources::default(), ready))
}

/// Runs a gateway until SIGTERM or SIGINT, which let it finish what is under way; a second one ends it at once. SIGHUP reads
/// the file again.
///
/// Sockets that a service manager passed (sd_listen_fds(3)) are used for the addresses that they are bound to. With
/// `takes_over` so are those of another process's gateway, which drains when this one serves.
///
/// # Errors
/// [`GatewayError`] when it cannot start.
pub fn run_until_signalled(
    config: Config,
    file: PathBuf,
    takes_over: bool,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), GatewayError> {
    runtime()?.block_on(async {
        let control = signals::listen(file)?;
        Gateway::live(config, control, Sources::of_process(takes_over), ready).await
    })
}

/// One thread: a narrow link leaves it idle, and what connections share needs no locks.
fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
}

impl Gateway {
    async fn live(
        config: Config,
        mut control: mpsc::Receiver<Control>,
        sources: Sources,
        ready: impl FnOnce(&[SocketAddr]),
    ) -> Result<(), GatewayError> {
        let descriptors = Descriptors::raise()?;
        if let Some(warning) = descriptors.warning(&config.limits) {
            eprintln!("dovetail: {warning}");
        }
        let listeners = Listeners::open(&config, sources)?;
        let gateway = Rc::new(Self::new(config)?);
        spawn_local(gateway.desk.drive());
        gateway.uplink.desk().map(|desk| spawn_local(desk.drive()));
        probe::start(&gateway)?;
        if let Some(listener) = &listeners.admin {
            admin::start(&gateway, listener.try_clone()?)?;
        }
        spawn_local(go_round(Rc::clone(&gateway)));
        let (addresses, mut accepting) = listeners.accept(&gateway)?;
        ready(&addresses);
        accepting.confirm(&gateway);
        let ends_at_once = loop {
            select! {
                asked = control.recv() => match asked {
                    Some(Control::Reload(config)) => gateway.reload(*config),
                    // Who asked may be gone.
                    Some(Control::Look(sender)) => drop(sender.send(gateway.counts())),
                    Some(Control::Drain) | None => break false,
                    Some(Control::Stop) => break true,
                },
                () = gateway.taken_over.notified() => {
                    eprintln!("dovetail: another process took over: finishing what is under way");
                    break false;
                }
            }
        };
        accepting.end(&gateway.stops).await;
        gateway.drain(&mut control, ends_at_once).await;
        Ok(())
    }

    pub(crate) fn new(config: Config) -> Result<Self, GatewayError> {
        let setup = setup(config.downlink.goodput_bytes_per_s());
        let weights: Vec<_> = config.classes.iter().map(|class| class.weight).collect();
        let desk = Desk::new(&config.downlink.policy, &setup, &weights)?;
        let window = first_window(&config, &setup)?;
        let up = config.uplink.as_ref().map(|uplink| uplink.goodput_bytes_per_s());
        let uplink = Rc::new(Uplink::new(up, &weights, &desk)?);
        let names = Names::new(&config.proxy.nameservers).map_err(GatewayError::Names)?;
        let log = match &config.log {
            None => None,
            Some(log) => {
                Some(Rc::new(Log::open(log).map_err(|error| GatewayError::Log(log.path.display().to_string(), error))?))
            }
        };
        let passwords = match &config.access.passwords {
            None => None,
            Some(path) => Some(Rc::new(Passwords::read(path)?)),
        };
        Ok(Self {
            desk,
            window,
            uplink,
            names: RefCell::new(Rc::new(names)),
            pool: Pool::default(),
            own: Own::read().map_err(GatewayError::Addresses)?,
            via: RefCell::new(Via::new(&config.proxy.name)),
            watch: Watch::default(),
            seats: Rc::default(),
            counters: Counters::default(),
            classes: RefCell::new(config.classes.iter().map(|_| ClassCounters::default()).collect()),
            log: RefCell::new(log),
            passwords: RefCell::new(passwords),
            guessing: RefCell::default(),
            last_server: Cell::default(),
            stops: watch::Sender::new(false),
            free: Free::new(setup.rate),
            round_trips: Rc::default(),
            probing: Probing::default(),
            descriptors: Descriptors::raise()?,
            last_exhausted: Cell::default(),
            taken_over: Notify::new(),
            turned_away: Rc::default(),
            config: RefCell::new(Rc::new(config)),
        })
    }

    /// Waits until what is under way is over, as long as it may take.
    async fn drain(&self, control: &mut mpsc::Receiver<Control>, ends_at_once: bool) {
        let until = Instant::now() + self.config().timeouts.drain;
        // A tunnel that is silent loses nothing.
        let is_busy = || {
            let silent = self.watch.silent_tunnels();
            self.watch.live() > silent || self.seats.taken() > silent
        };
        let mut is_controlled = true;
        while !ends_at_once && Instant::now() < until && is_busy() {
            select! {
                () = sleep(Duration::from_millis(20)) => {}
                asked = control.recv(), if is_controlled => match asked {
                    Some(Control::Stop) => break,
                    Some(Control::Look(sender)) => drop(sender.send(self.counts())),
                    // It begins nothing new already.
                    Some(Control::Drain | Control::Reload(_)) => {}
                    None => is_controlled = false,
                },
            }
        }
        self.watch.stop_all();
        self.pool.clear();
        // What was stopped says so to its client.
        sleep(Duration::from_millis(50)).await;
    }

    fn counts(&self) -> Counts {
        Counts {
            requests: self.desk.live(),
            watched: self.watch.live(),
            connections: self.seats.taken(),
            pooled: self.pool.len(),
            log_lost: self.log.borrow().as_ref().map_or(0, |log| log.lost()),
        }
    }

    pub(crate) fn config(&self) -> Rc<Config> {
        Rc::clone(&self.config.borrow())
    }

    pub(crate) const fn desk(&self) -> &Desk<Who> {
        &self.desk
    }

    pub(crate) const fn window(&self) -> Option<Window> {
        self.window
    }

    /// Both ways' desks, where there are two.
    pub(crate) fn desks(&self) -> impl Iterator<Item = &Desk<Who>> {
        [Some(&self.desk), self.uplink.desk()].into_iter().flatten()
    }

    pub(crate) const fn uplink(&self) -> &Rc<Uplink> {
        &self.uplink
    }

    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) fn via(&self) -> Ref<'_, Via> {
        self.via.borrow()
    }

    pub(crate) const fn watch(&self) -> &Watch {
        &self.watch
    }

    pub(crate) const fn seats(&self) -> &Rc<Seats> {
        &self.seats
    }

    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) const fn free(&self) -> &Free {
        &self.free
    }

    pub(crate) const fn round_trips(&self) -> &Rc<RoundTrips> {
        &self.round_trips
    }

    pub(crate) const fn probing(&self) -> &Probing {
        &self.probing
    }

    pub(crate) const fn descriptors(&self) -> Descriptors {
        self.descriptors
    }

    pub(crate) const fn turned_away(&self) -> &Rc<()> {
        &self.turned_away
    }

    /// Another process serves in place of this one.
    pub(crate) fn is_taken_over(&self) {
        self.taken_over.notify_one();
    }

    /// Whether there are descriptors for one more connection. Those that are only kept give way.
    pub(crate) fn has_room(&self) -> bool {
        let (busy, most) = (self.seats.taken() + self.watch.live(), self.descriptors.for_connections());
        if busy + self.pool.len() > most {
            self.pool.clear();
        }
        busy <= most
    }

    /// Accepting failed. Says so, at most once a minute, if descriptors are what is lacking.
    pub(crate) fn could_not_accept(&self, error: &io::Error) {
        if !descriptors::is_exhausted(error) {
            return;
        }
        add(&self.counters.accepts_failed, 1);
        self.pool.clear();
        let now = Instant::now();
        if self.last_exhausted.get().is_none_or(|last| now - last >= Duration::from_secs(60)) {
            self.last_exhausted.set(Some(now));
            eprintln!(
                "dovetail: cannot accept a connection: {error}: raise the limit of open files or lower limits.connections"
            );
        }
    }

    /// Where round-trip times go, if they are the probe or may have to be.
    pub(crate) fn sampled(&self, upstream: &Upstream) -> Option<Sampled> {
        let server = upstream.stream.peer_addr().ok().filter(|_| self.config.borrow().downlink.probe != Probe::Off)?;
        Some(Sampled::new(Rc::clone(&self.round_trips), server.ip()))
    }

    /// Whether round-trip times are what tells of the far queue: they are the probe, or the probe is silent.
    pub(crate) fn tells_round_trips(&self) -> bool {
        self.config.borrow().downlink.probe == Probe::Tcp || self.probing.is_up() == Some(false)
    }

    pub(crate) fn classes(&self) -> Ref<'_, Vec<ClassCounters>> {
        self.classes.borrow()
    }

    pub(crate) fn log(&self) -> Option<Rc<Log>> {
        self.log.borrow().clone()
    }

    pub(crate) fn stops(&self) -> watch::Receiver<bool> {
        self.stops.subscribe()
    }

    pub(crate) fn of_class(&self, class: ClassId, note: impl FnOnce(&ClassCounters)) {
        if let Some(counters) = self.classes.borrow().get(class.0 as usize) {
            note(counters);
        }
    }

    pub(crate) fn header_limits(&self) -> (usize, usize) {
        let config = self.config.borrow();
        // hyper takes no less than 8 KiB.
        (config.limits.header_bytes.max(8192), config.limits.headers)
    }

    /// A server that answered lately.
    pub(crate) const fn last_server(&self) -> Option<IpAddr> {
        self.last_server.get()
    }

    pub(crate) fn answered(&self, server: Option<IpAddr>) {
        self.last_server.set(server.or(self.last_server.get()));
    }

    pub(crate) fn dialled(&self, is_reused: bool) {
        add(if is_reused { &self.counters.reused } else { &self.counters.dialled }, 1);
    }

    pub(crate) fn retried(&self) {
        add(&self.counters.retried, 1);
    }

    /// Who asks, by his address.
    pub(crate) fn by_address(&self, address: IpAddr) -> (Who, ClassId) {
        let who = Who::Address(address.to_canonical());
        let class = class_of(&self.config.borrow(), &who);
        (who, class)
    }

    /// Who asks, by his name if he has to say it.
    pub(crate) async fn who(&self, address: IpAddr, headers: &HeaderMap) -> Result<(Who, ClassId), Refusal> {
        let Some(passwords) = self.passwords.borrow().clone() else { return Ok(self.by_address(address)) };
        loop {
            // One guess at a time and client: nobody keeps others from being known.
            let is_guessing = self.guessing.borrow().contains(&address);
            let known = match passwords.check(headers.get(header::PROXY_AUTHORIZATION)) {
                Check::Known(name) => Some(name),
                Check::Missing => return Err(Refusal::WhoAreYou),
                Check::Work(job) if !is_guessing => {
                    let _guess = Guess::new(&self.guessing, address);
                    let known = spawn_blocking(move || job.run()).await.unwrap_or(None);
                    if known.is_none() {
                        sleep(auth::DELAY).await;
                        return Err(Refusal::NotKnown);
                    }
                    known
                }
                Check::Unknown => None,
                Check::Work(_) | Check::Busy => {
                    sleep(auth::RETRY).await;
                    continue;
                }
            };
            let Some(name) = known else {
                sleep(auth::DELAY).await;
                return Err(Refusal::NotKnown);
            };
            let class = class_id(self.config.borrow().class_of_user(&name, address));
            return Ok((Who::Name(name), class));
        }
    }

    /// A place at the desk.
    pub(crate) fn arrive(&self, who: &Who, class: ClassId, label: &Arc<str>) -> Result<Place, Refusal> {
        let most = self.config.borrow().limits.requests_per_user;
        if self.desk.requests(who) >= most {
            return Err(Refusal::TooManyRequests(most));
        }
        Ok(self.desk.arrive(who, class, None, Arc::clone(label)))
    }

    /// How long a request waited for its release.
    pub(crate) fn waited(&self, ticket: &Place) -> Duration {
        let (arrived, released) = ticket.times();
        Duration::from_nanos((released.unwrap_or(arrived) - arrived).0)
    }

    /// Whether a connection to there, made before, may still be used.
    pub(crate) fn may_reach(&self, server: Option<IpAddr>) -> bool {
        server.is_some_and(|server| destination::check(server, &self.config().access, &self.own.all()).is_ok())
    }

    /// Addresses of what is wanted that may be reached.
    pub(crate) async fn addresses(&self, wanted: &Wanted) -> Result<Vec<IpAddr>, Refusal> {
        let config = self.config();
        // Over HTTP/2 a client's connection has many requests.
        if !self.has_room() {
            return Err(Refusal::Full);
        }
        let names = Rc::clone(&self.names.borrow());
        let found = names.find(&wanted.host, config.timeouts.resolve).await?;
        let own = self.own.all();
        let mut refused = None;
        let mut reached = Vec::new();
        for address in found {
            match destination::check(address, &config.access, &own) {
                Ok(()) => reached.push(address),
                Err(why) => refused = Some((address, why)),
            }
        }
        reached.truncate(MOST_ADDRESSES);
        match refused {
            Some((address, why)) if reached.is_empty() => {
                Err(Refusal::Destination { host: wanted.host.clone(), address, why })
            }
            _ => Ok(reached),
        }
    }
}

fn class_of(config: &Config, who: &Who) -> ClassId {
    class_id(match who {
        Who::Address(address) => config.class_of(*address),
        // From where he asks next will tell, if his name does not.
        Who::Name(name) => config.class_of_user(name, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
    })
}

/// Ethernet's payload of TCP in a full frame.
const SEGMENT_BYTES: u64 = 1_448;
/// A turn is of what the link carries in this time, and of three segments at least: each costs a wake-up.
const TURN: Duration = Duration::from_millis(6);

/// What goes by on a link of so many bytes a second: all of a response, its header too.
fn setup(goodput: f64) -> RequestSetup {
    let setup = RequestSetup { overhead: 0, ..RequestSetup::for_bytes(goodput) };
    let quantum = (goodput * TURN.as_secs_f64()) as u64;
    let quantum = quantum.next_multiple_of(SEGMENT_BYTES).max(3 * SEGMENT_BYTES);
    RequestSetup { quantum, ..setup }
}

/// What window the policy gives the first response, if it holds responses back at all.
fn first_window(config: &Config, setup: &RequestSetup) -> Result<Option<Window>, PolicyError> {
    let window = config.downlink.policy.build(setup)?.first_window();
    Ok(window.map(|first| Window { first, begins: first, longest: setup.longest_window }))
}

/// A client whose password is being looked at.
struct Guess<'a> {
    all: &'a RefCell<HashSet<IpAddr>>,
    client: IpAddr,
}

impl<'a> Guess<'a> {
    fn new(all: &'a RefCell<HashSet<IpAddr>>, client: IpAddr) -> Self {
        all.borrow_mut().insert(client);
        Self { all, client }
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        self.all.borrow_mut().remove(&self.client);
    }
}

/// Interfaces come and go: how often this machine's addresses are read, in seconds.
const OWN_EVERY_S: u64 = 30;

/// Once a second.
async fn go_round(gateway: Rc<Gateway>) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for second in 1_u64.. {
        seconds.tick().await;
        if second.is_multiple_of(OWN_EVERY_S) {
            gateway.own.refresh();
        }
        let config = gateway.config();
        gateway.watch.go_round(&config.timeouts);
        gateway.pool.sweep(config.timeouts.pool);
        gateway.uplink.look();
    }
}
