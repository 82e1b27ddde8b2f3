//! How long the queue at the link's far end is: packets sent there and back, or what the kernel knows of connections.
//!
//! While requests are under way a probe leaves every `probe_every`; else one a second, which keeps the least round-trip
//! time fresh.

mod echo;
mod icmp;
mod tcp;
mod udp;

use std::{
    hash::{BuildHasher, RandomState},
    io,
    net::{IpAddr, SocketAddr},
    rc::Rc,
    time::Duration,
};

use tokio::{task::spawn_local, time::sleep};

pub(crate) use self::tcp::{RoundTrips, Sampled};
use self::{icmp::Icmp, udp::Udp};
use crate::{
    config::Probe,
    gateway::{Gateway, GatewayError},
};

/// Between probes while nothing is under way.
const IDLE: Duration = Duration::from_secs(1);

/// Starts what the configuration asks for.
pub(crate) fn start(gateway: &Rc<Gateway>) -> Result<(), GatewayError> {
    let config = gateway.config();
    let failed = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "sending ICMP needs root or CAP_NET_RAW, or a group in net.ipv4.ping_group_range; or set probe = \"tcp\""
                    .to_owned()
            }
            _ => error.to_string(),
        };
        GatewayError::Probe(format!("{:?}", config.downlink.probe), why)
    };
    match &config.downlink.probe {
        Probe::Off => {}
        Probe::Tcp => drop(spawn_local(tcp::tell(Rc::clone(gateway)))),
        Probe::Icmp(address) => run(gateway, Echo::Icmp(Icmp::to(*address).map_err(failed)?)),
        Probe::Hop { hops, towards } => run(gateway, Echo::Icmp(Icmp::expiring(*hops, *towards).map_err(failed)?)),
        Probe::Udp(address) => run(gateway, Echo::Udp(Udp::to(*address).map_err(failed)?)),
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

fn run(gateway: &Rc<Gateway>, echo: Echo) {
    let echo = Rc::new(echo);
    let (desk, listener) = (gateway.desk().clone(), Rc::clone(&echo));
    spawn_local(async move {
        loop {
            match listener.back().await {
                Ok(number) => desk.probed(number),
                // Unreachable for now: the far queue is unknown, and the policy goes on without.
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    });
    let gateway = Rc::clone(gateway);
    spawn_local(async move {
        loop {
            let number = gateway.desk().probe();
            // One that cannot be sent is lost.
            let _ = echo.send(number, gateway.last_server());
            let is_idle = gateway.desk().live() == 0;
            sleep(if is_idle { IDLE } else { gateway.config().downlink.probe_every }).await;
        }
    });
}

/// A number that nobody outside knows.
fn secret() -> u64 {
    RandomState::new().hash_one(0_u8)
}

/// The local address to bind for a peer of this family.
fn any(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() }
}
