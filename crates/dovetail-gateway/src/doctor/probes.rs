//! Tests probes: those that the operator names, or the routers on the way to their server, and the server itself.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    io,
    net::{IpAddr, SocketAddr},
    os::fd::AsFd,
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::{
    net::TcpStream,
    task::{JoinSet, LocalSet},
    time::{sleep, timeout},
};

use super::estimate::Echoed;
use crate::{config::Probe, probe::Echo, sys};

/// Interval between two packets of one probe: few compared with what fills the link.
const EVERY: Duration = Duration::from_millis(200);
/// Interval between two handshakes, which are three packets each.
const HANDSHAKE_EVERY: Duration = Duration::from_millis(250);
/// Later answers count as lost.
const LATEST: Duration = Duration::from_secs(3);
/// Routers beyond this distance are beyond the link.
const MAX_HOPS: u8 = 6;
/// How long routers have to answer.
const HOPS_TIME: Duration = Duration::from_millis(1500);

/// A probe that may be suitable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Candidate {
    /// One that can be written into a gateway's configuration.
    Sent(Probe),
    /// TCP handshakes with the operator's server: roughly what `"tcp"` can measure.
    Handshake(SocketAddr),
}

impl Candidate {
    /// The configuration that corresponds to it.
    pub(super) fn probe(&self) -> Probe {
        match self {
            Self::Sent(probe) => probe.clone(),
            Self::Handshake(_) => Probe::Tcp,
        }
    }
}

/// Routers on the way to an address, by distance, and the address itself if it is within `MAX_HOPS`. Empty without raw
/// sockets.
pub(super) async fn route(towards: IpAddr) -> Vec<(u8, IpAddr)> {
    let local = LocalSet::new();
    let mut asked = JoinSet::new();
    for hops in 1..=MAX_HOPS {
        asked.spawn_local_on(async move { Some((hops, hop(hops, towards).await.ok()?)) }, &local);
    }
    let mut answered: Vec<_> = local.run_until(asked.join_all()).await.into_iter().flatten().collect();
    answered.sort_unstable();
    // Anything beyond the address is the address itself.
    let mut known = HashSet::new();
    answered.retain(|(_, address)| known.insert(*address));
    answered
}

/// The host that answers an echo that expires after this many hops.
async fn hop(hops: u8, towards: IpAddr) -> io::Result<IpAddr> {
    let echo = Echo::start(&Probe::Hop { hops, towards: Some(towards) })?;
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    let asked = async {
        // A rate-limited router may have spent its answers on the echo of another distance.
        for number in 0.. {
            echo.send(number, None)?;
            if let Ok(back) = timeout(HOPS_TIME / 3, echo.back()).await {
                return back.map(|(_, from)| from);
            }
        }
        unreachable!("numbers do not end before the time does")
    };
    timeout(HOPS_TIME, asked).await.map_err(late)?
}

/// Candidates for a server, nearest first; at the same distance, those that need no raw sockets go first.
pub(super) fn candidates(route: &[(u8, IpAddr)], towards: IpAddr, server: Option<SocketAddr>) -> Vec<Candidate> {
    let routers = route.iter().filter(|(_, address)| *address != towards);
    let of_router = |&(hops, address): &(u8, IpAddr)| {
        [Probe::Icmp(address), Probe::Hop { hops, towards: Some(towards) }].map(Candidate::Sent)
    };
    let mut all: Vec<_> = routers.flat_map(of_router).collect();
    all.push(Candidate::Sent(Probe::Icmp(towards)));
    all.extend(server.map(Candidate::Handshake));
    all
}

/// The outcome of each candidate's packets while `meanwhile` runs, and the result of that. Times count from the call.
pub(super) async fn watch<T>(
    candidates: &[Candidate],
    meanwhile: impl Future<Output = T>,
) -> io::Result<(Vec<Vec<Echoed>>, T)> {
    let local = LocalSet::new();
    let began = Instant::now();
    let mut series = Vec::new();
    let mut tasks = JoinSet::new();
    for candidate in candidates {
        let sent = Rc::new(RefCell::new(Vec::new()));
        series.push(Rc::clone(&sent));
        match candidate {
            Candidate::Handshake(server) => drop(tasks.spawn_local_on(handshakes(*server, began, sent), &local)),
            Candidate::Sent(probe) => {
                // A probe that cannot be sent counts as unanswered.
                let Ok(echo) = Echo::start(probe) else { continue };
                tasks.spawn_local_on(echoes(echo, began, sent), &local);
            }
        }
    }
    let done = local
        .run_until(async {
            let done = meanwhile.await;
            // Waits for the last answers, but no longer than any usually takes.
            let until = began.elapsed();
            let outstanding = || {
                series.iter().any(|sent| sent.borrow().iter().any(|one| one.took.is_none() && one.at + LATEST > until))
            };
            let patience = began.elapsed() + LATEST / 3;
            while outstanding() && began.elapsed() < patience {
                sleep(Duration::from_millis(20)).await;
            }
            series.iter().for_each(|sent| sent.borrow_mut().retain(|one| one.at <= until));
            done
        })
        .await;
    tasks.abort_all();
    Ok((series.iter().map(|sent| sent.borrow().clone()).collect(), done))
}

type Series = Rc<RefCell<Vec<Echoed>>>;

async fn echoes(echo: Echo, began: Instant, series: Series) {
    let places: RefCell<HashMap<u64, usize>> = RefCell::default();
    let send = async {
        for number in 0.. {
            let at = began.elapsed();
            places.borrow_mut().insert(number, series.borrow().len());
            series.borrow_mut().push(Echoed { at, took: None });
            // A packet that cannot be sent is lost.
            let _ = echo.send(number, None);
            sleep(EVERY).await;
        }
    };
    let hear = async {
        loop {
            match echo.back().await {
                Ok((number, _)) => {
                    let Some(place) = places.borrow_mut().remove(&number) else { continue };
                    let one = &mut series.borrow_mut()[place];
                    one.took = Some(began.elapsed().saturating_sub(one.at)).filter(|took| *took < LATEST);
                }
                Err(_) => sleep(EVERY).await,
            }
        }
    };
    tokio::join!(send, hear);
}

async fn handshakes(server: SocketAddr, began: Instant, series: Series) {
    loop {
        let at = began.elapsed();
        let place = series.borrow().len();
        series.borrow_mut().push(Echoed { at, took: None });
        if let Ok(Ok(stream)) = timeout(LATEST, TcpStream::connect(server)).await {
            // The kernel's figure: if a packet was lost, the elapsed time includes a second until the retransmission and is
            // meaningless.
            series.borrow_mut()[place].took = sys::handshake(stream.as_fd());
        }
        sleep(HANDSHAKE_EVERY.saturating_sub(began.elapsed().saturating_sub(at))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routers_are_tried_before_the_server_and_the_server_once() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let (near, far, server) = (address("10.99.0.1"), address("192.0.2.1"), address("203.0.113.9"));
        let all = candidates(&[(1, near), (3, far), (4, server)], server, None);
        let probes: Vec<_> = all.iter().map(|one| one.probe().written()).collect();
        assert_eq!(probes, ["10.99.0.1", "hop:1@203.0.113.9", "192.0.2.1", "hop:3@203.0.113.9", "203.0.113.9"]);
        let tcp = candidates(&[], server, Some(SocketAddr::new(server, 80)));
        assert_eq!(tcp.iter().map(|one| one.probe().written()).collect::<Vec<_>>(), ["203.0.113.9", "tcp"]);
    }
}
