//! The gateway: what all its connections share, and its life from start to end.

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
    Nanos, PolicyError, Weight,
    request::{ClassId, Request, RequestId, RequestSetup, UserId},
};
use dovetail_tower::Desk;
use http::header::{self, HeaderMap};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, LocalOptions, LocalRuntime},
    sync::{mpsc, oneshot, watch},
    task::{spawn_blocking, spawn_local},
    time::{Instant, MissedTickBehavior, interval, sleep, timeout},
};

use crate::{
    admin,
    auth::{self, Check, Passwords},
    client::Seats,
    config::{Config, ConfigError, Probe},
    counters::{ClassCounters, Counters, add},
    destination,
    exchange::Place,
    headers::Via,
    log::Log,
    probe::{self, RoundTrips},
    refusal::Refusal,
    resolve::{MOST_ADDRESSES, Names},
    serve::{class_id, serve},
    signals,
    tunnel::Free,
    upstream::{Pool, Window},
    wanted::{Asked, Wanted},
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
    #[error("cannot listen at {0}: {1}")]
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
    #[error("the probe to {0}: {1}")]
    Probe(String, String),
    /// No runtime.
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
}

/// What all connections share.
pub(crate) struct Gateway {
    config: RefCell<Rc<Config>>,
    desk: Desk<Who>,
    window: Option<Window>,
    pool: Pool,
    names: Names,
    own: RefCell<Vec<IpAddr>>,
    via: Via,
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
    runtime()?.block_on(Gateway::live(config, control, ready))
}

/// Runs a gateway until SIGTERM or SIGINT, which let it finish what is under way. SIGHUP reads the file again.
///
/// # Errors
/// [`GatewayError`] when it cannot start.
pub fn run_until_signalled(
    config: Config,
    file: PathBuf,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), GatewayError> {
    runtime()?.block_on(async {
        let control = signals::listen(file, &config)?;
        Gateway::live(config, control, ready).await
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
        ready: impl FnOnce(&[SocketAddr]),
    ) -> Result<(), GatewayError> {
        let listeners = Listeners::open(&config).await?;
        let gateway = Rc::new(Self::new(config)?);
        tokio::task::spawn_local(gateway.desk.drive());
        probe::start(&gateway)?;
        admin::start(&gateway).await?;
        spawn_local(go_round(Rc::clone(&gateway)));
        let addresses: Vec<_> = listeners.0.iter().filter_map(|(listener, _)| listener.local_addr().ok()).collect();
        let listening: Vec<_> = listeners
            .0
            .into_iter()
            .map(|(listener, how)| spawn_local(accept(Rc::clone(&gateway), listener, how)))
            .collect();
        ready(&addresses);
        loop {
            match control.recv().await {
                Some(Control::Reload(config)) => gateway.reload(*config),
                // Who asked may be gone.
                Some(Control::Look(sender)) => drop(sender.send(gateway.counts())),
                Some(Control::Drain) | None => break,
            }
        }
        listening.iter().for_each(|task| task.abort());
        gateway.drain().await;
        Ok(())
    }

    pub(crate) fn new(config: Config) -> Result<Self, GatewayError> {
        let setup = setup(config.downlink.goodput_bytes_per_s());
        let weights: Vec<_> = config.classes.iter().map(|class| class.weight).collect();
        let desk = Desk::new(&config.downlink.policy, &setup, &weights)?;
        let window = first_window(&config, &setup)?;
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
            names,
            pool: Pool::default(),
            own: RefCell::new(own_addresses()),
            via: Via::new(&config.proxy.name),
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
            turned_away: Rc::default(),
            config: RefCell::new(Rc::new(config)),
        })
    }

    /// Takes up what another configuration says, but what only a start can.
    fn reload(&self, config: Config) {
        let config = config.in_the_order_of(&self.config());
        let rate = config.downlink.goodput_bytes_per_s();
        if (rate - self.config().downlink.goodput_bytes_per_s()).abs() > 0.0 {
            self.desk.set_rate(rate);
            self.free.set_rate(rate);
        }
        let known = self.classes.borrow().len();
        for (at, class) in config.classes.iter().enumerate() {
            if at < known {
                self.desk.set_weight(class_id(at), class.weight);
            } else {
                self.desk.add_class(class.weight);
                self.classes.borrow_mut().push(ClassCounters::default());
            }
        }
        self.desk.reclassify(|who| class_of(&config, who));
        self.pool.clear();
        *self.own.borrow_mut() = own_addresses();
        match config.access.passwords.as_deref().map(Passwords::read).transpose() {
            Ok(passwords) => *self.passwords.borrow_mut() = passwords.map(Rc::new),
            Err(error) => eprintln!("dovetail: {error}: passwords stay as they were"),
        }
        if let Some(log) = &*self.log.borrow() {
            log.reopen();
        }
        *self.config.borrow_mut() = Rc::new(config);
    }

    /// Waits until what is under way is over, as long as it may take.
    async fn drain(&self) {
        self.stops.send_replace(true);
        let until = Instant::now() + self.config().timeouts.drain;
        // A tunnel that is silent loses nothing.
        let is_busy = || {
            let silent = self.watch.silent_tunnels();
            self.watch.live() > silent || self.seats.taken() > silent
        };
        while Instant::now() < until && is_busy() {
            sleep(Duration::from_millis(20)).await;
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

    pub(crate) const fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(crate) const fn via(&self) -> &Via {
        &self.via
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

    /// Where round-trip times go, if they are the probe.
    pub(crate) fn sampled_round_trips(&self) -> Option<Rc<RoundTrips>> {
        (self.config.borrow().downlink.probe == Probe::Tcp).then(|| Rc::clone(&self.round_trips))
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
        server.is_some_and(|server| destination::check(server, &self.config().access, &self.own.borrow()).is_ok())
    }

    /// Addresses of what is wanted that may be reached.
    pub(crate) async fn addresses(&self, wanted: &Wanted) -> Result<Vec<IpAddr>, Refusal> {
        let config = self.config();
        let found = self.names.find(&wanted.host, config.timeouts.resolve).await?;
        let own = self.own.borrow();
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
    let mut scheduler = config.downlink.policy.build(setup)?;
    scheduler.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    scheduler.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    scheduler.arrived(&Request { id: RequestId(0), user: UserId(0), length: None }, Nanos::ZERO);
    let turn = scheduler.poll(Nanos::ZERO).filter(|turn| turn.window != u64::MAX);
    Ok(turn.map(|turn| Window { first: turn.window, longest: setup.longest_window }))
}

/// The addresses of this machine.
fn own_addresses() -> Vec<IpAddr> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    interfaces.into_iter().map(|interface| interface.ip().to_canonical()).collect()
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

/// Once a second.
async fn go_round(gateway: Rc<Gateway>) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        seconds.tick().await;
        let config = gateway.config();
        gateway.watch.go_round(&config.timeouts);
        gateway.pool.sweep(config.timeouts.pool);
    }
}

/// How connections come to a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Proxy,
    Redirect,
    Tproxy,
}

struct Listeners(Vec<(TcpListener, How)>);

impl Listeners {
    async fn open(config: &Config) -> Result<Self, GatewayError> {
        let places = [
            (&config.proxy.listen, How::Proxy),
            (&config.proxy.redirect, How::Redirect),
            (&config.proxy.tproxy, How::Tproxy),
        ];
        let mut listeners = Vec::new();
        for (addresses, how) in places {
            for &address in addresses {
                let listener = listen(address, how).map_err(|error| GatewayError::Listen(address, error))?;
                listeners.push((listener, how));
            }
        }
        Ok(Self(listeners))
    }
}

fn listen(address: SocketAddr, how: How) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    if how == How::Tproxy {
        if address.is_ipv4() { socket.set_ip_transparent_v4(true)? } else { socket.set_ip_transparent_v6(true)? }
    }
    socket.bind(&address.into())?;
    socket.listen(1024)?;
    TcpListener::from_std(socket.into())
}

async fn accept(gateway: Rc<Gateway>, listener: TcpListener, how: How) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => welcome(&gateway, stream, from.ip().to_canonical(), how),
            // Out of descriptors, or the client is gone already: others may come.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Serves a connection, or says why not.
fn welcome(gateway: &Rc<Gateway>, stream: TcpStream, client: IpAddr, how: How) {
    add(&gateway.counters.accepted, 1);
    let config = gateway.config();
    if !config.access.clients.contains(client) {
        add(&gateway.counters.refused_clients, 1);
        return turn_away(gateway, stream, &Refusal::NotAClient(client));
    }
    let limits = &config.limits;
    let Some(seat) = gateway.seats.take(client, limits.connections, limits.connections_per_user) else {
        add(&gateway.counters.refused_full, 1);
        return turn_away(gateway, stream, &Refusal::Full);
    };
    if stream.set_nodelay(true).is_err() {
        return;
    }
    match how {
        How::Proxy => drop(spawn_local(serve(Rc::clone(gateway), stream, client, Asked::Proxy, seat))),
        How::Redirect | How::Tproxy => {
            drop(spawn_local(crate::intercept::serve(Rc::clone(gateway), stream, client, how == How::Tproxy, seat)));
        }
    }
}

/// The most that are told why they are turned away at once. Of more the connection is closed.
const MOST_TURNED_AWAY: usize = 64;

/// Says why not.
fn turn_away(gateway: &Rc<Gateway>, mut stream: TcpStream, refusal: &Refusal) {
    let Some(guard) = Some(Rc::clone(&gateway.turned_away)).filter(|all| Rc::strong_count(all) < MOST_TURNED_AWAY)
    else {
        return;
    };
    let page = refusal.raw_page(&gateway.config().proxy.name);
    spawn_local(async move {
        let told = async {
            // A connection that is closed with something unread is reset, and the page with it.
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await?;
            stream.write_all(page.as_bytes()).await?;
            stream.shutdown().await
        };
        // A client that takes nothing of it has what it asked for.
        drop(timeout(Duration::from_secs(2), told).await);
        drop(guard);
    });
}
