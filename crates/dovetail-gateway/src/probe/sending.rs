//! Sends probes, and hears them come back.

use std::{
    io,
    net::IpAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use dovetail_tower::Dispatcher;
use tokio::time::sleep;
use tracing::{info, warn};

use super::{
    health::Health,
    icmp::Icmp,
    probes::{IDLE, Probes},
    udp::Udp,
};
use crate::who::Who;

/// Something that comes back.
#[derive(Debug)]
pub(super) enum Echo {
    Icmp(Icmp),
    Udp(Udp),
}

impl Echo {
    /// Whether there is an address to send to.
    fn has_target(&self, server: Option<IpAddr>) -> bool {
        match self {
            Self::Icmp(icmp) => icmp.has_target(server),
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

/// Hears what comes back.
pub(super) async fn listen(dispatcher: Dispatcher<Who>, echo: Rc<Echo>, health: Rc<Health>) {
    loop {
        match echo.back().await {
            Ok(number) => {
                if let Some(what) = health.back(Instant::now()) {
                    info!("{what}");
                }
                dispatcher.probed(number);
            }
            // Unreachable for now: the far queue is unknown, and the policy goes on without.
            Err(error) => {
                health.failed(&error);
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Sends one after the other.
pub(super) async fn send(probes: Rc<Probes>, echo: Rc<Echo>, health: Rc<Health>) {
    let dispatcher = probes.dispatcher();
    loop {
        let (is_idle, server) = (dispatcher.live() == 0, probes.server());
        if echo.has_target(server) {
            let number = dispatcher.probe();
            // One that cannot be sent is lost.
            if let Err(error) = echo.send(number, server) {
                health.failed(&error);
            }
            if let Some(what) = health.leaves(!is_idle, Instant::now()) {
                warn!("{what}");
            }
            if health.is_silent() {
                // The scheduler took the silence for nothing being known.
                probes.tell_again();
            }
        } else {
            health.no_target(Instant::now());
        }
        let is_rare = is_idle || health.is_silent();
        sleep(if is_rare { IDLE } else { probes.every() }).await;
    }
}
