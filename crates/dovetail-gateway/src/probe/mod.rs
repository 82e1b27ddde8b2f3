//! How long the queue at the link's far end is: packets sent there and back, or what the kernel knows of connections.
//!
//! While requests are under way a probe leaves every `probe_every`; else one a second, which keeps the least round-trip
//! time fresh.
//!
//! While a probe is silent (`health`), connections' round-trip times (`tcp`) are told in its place.

mod echo;
mod health;
mod icmp;
mod tcp;
mod udp;

use std::{
    cell::RefCell,
    hash::{BuildHasher, RandomState},
    io,
    net::{IpAddr, SocketAddr},
    rc::Rc,
    time::{Duration, Instant},
};

use dovetail_tower::Desk;
use tokio::{
    task::{JoinHandle, spawn_local},
    time::sleep,
};

pub(crate) use self::tcp::{RoundTrips, Sampled};
use self::{health::Health, icmp::Icmp, udp::Udp};
use crate::{
    config::Probe,
    gateway::{Gateway, GatewayError},
    who::Who,
};

/// Between probes while nothing is under way.
const IDLE: Duration = Duration::from_secs(1);

/// What measures the far queue now.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    health: RefCell<Option<Rc<Health>>>,
    tasks: RefCell<Vec<JoinHandle<()>>>,
}

impl Probing {
    /// Whether the configured probe is answered, if it is one that can be.
    pub(crate) fn is_up(&self) -> Option<bool> {
        self.health.borrow().as_ref().map(|health| !health.is_silent())
    }

    /// What is wrong with it.
    pub(crate) fn fault(&self) -> Option<String> {
        let health = self.health.borrow();
        health.as_ref().filter(|health| health.is_silent()).map(|health| health.fault(Instant::now()))
    }
}

/// Starts what the configuration asks for.
pub(crate) fn start(gateway: &Rc<Gateway>) -> Result<(), GatewayError> {
    change(gateway, &gateway.config().downlink.probe)?;
    spawn_local(tcp::tell(Rc::clone(gateway)));
    Ok(())
}

/// Goes on with this probe in place of the one before, which stays if this one cannot be started.
pub(crate) fn change(gateway: &Rc<Gateway>, probe: &Probe) -> Result<(), GatewayError> {
    let failed = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "sending ICMP needs root or CAP_NET_RAW, or a group in net.ipv4.ping_group_range; or set probe = \"tcp\""
                    .to_owned()
            }
            _ => error.to_string(),
        };
        GatewayError::Probe(probe.to_string(), why)
    };
    let echo = match probe {
        Probe::Off | Probe::Tcp => None,
        Probe::Icmp(address) => Some(Echo::Icmp(Icmp::to(*address).map_err(failed)?)),
        Probe::Hop { hops, towards } => Some(Echo::Icmp(Icmp::expiring(*hops, *towards).map_err(failed)?)),
        Probe::Udp(address) => Some(Echo::Udp(Udp::to(*address).map_err(failed)?)),
    };
    let probing = gateway.probing();
    probing.tasks.take().iter().for_each(JoinHandle::abort);
    probing.health.take();
    // What is known is of another way.
    gateway.desk().forget_probes();
    if let Some(echo) = echo {
        let health = Rc::new(Health::new(probe.to_string(), Instant::now()));
        *probing.health.borrow_mut() = Some(Rc::clone(&health));
        let echo = Rc::new(echo);
        let listens = spawn_local(listen(gateway.desk().clone(), Rc::clone(&echo), Rc::clone(&health)));
        *probing.tasks.borrow_mut() = vec![listens, spawn_local(send(Rc::clone(gateway), echo, health))];
    }
    Ok(())
}

/// Something that comes back.
#[derive(Debug)]
enum Echo {
    Icmp(Icmp),
    Udp(Udp),
}

impl Echo {
    /// Whether there is an address to send to.
    fn has_somebody(&self, server: Option<IpAddr>) -> bool {
        match self {
            Self::Icmp(icmp) => icmp.has_somebody(server),
            Self::Udp(_) => true,
        }
    }

    /// `server` is one on whose way a probe may expire.
    fn send(&self, number: u64, server: Option<IpAddr>) -> io::Result<()> {
        match self {
            Self::Icmp(icmp) => icmp.send(number, server),
            Self::Udp(udp) => udp.send(number),
        }
    }

    async fn back(&self) -> io::Result<u64> {
        match self {
            Self::Icmp(icmp) => icmp.back().await,
            Self::Udp(udp) => udp.back().await,
        }
    }
}

async fn listen(desk: Desk<Who>, echo: Rc<Echo>, health: Rc<Health>) {
    loop {
        match echo.back().await {
            Ok(number) => {
                say(health.back(Instant::now()));
                desk.probed(number);
            }
            // Unreachable for now: the far queue is unknown, and the policy goes on without.
            Err(error) => {
                health.failed(&error);
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn send(gateway: Rc<Gateway>, echo: Rc<Echo>, health: Rc<Health>) {
    let desk = gateway.desk();
    loop {
        let (is_idle, server) = (desk.live() == 0, gateway.last_server());
        if echo.has_somebody(server) {
            let number = desk.probe();
            // One that cannot be sent is lost.
            if let Err(error) = echo.send(number, server) {
                health.failed(&error);
            }
            say(health.leaves(!is_idle, Instant::now()));
            if health.is_silent() {
                // The desk took the silence for nothing being known.
                gateway.round_trips().tell_again(desk);
            }
        } else {
            health.nobody(Instant::now());
        }
        let is_rare = is_idle || health.is_silent();
        sleep(if is_rare { IDLE } else { gateway.config().downlink.probe_every }).await;
    }
}

fn say(what: Option<String>) {
    if let Some(what) = what {
        eprintln!("dovetail: {what}");
    }
}

/// A number that nobody outside knows.
fn secret() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// The local address to bind for a peer of this family.
fn any(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() }
}
