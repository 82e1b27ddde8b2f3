//! The cost of QUIC that bypasses the gateway, and the effect of the packaged nftables rules. A user downloads in a tunnel
//! of the gateway, another by QUIC from the same server, which is forwarded; then with the rule, where the second falls
//! back to TCP. With `DOVETAIL_LONG=1`, as root, three minutes; with `--nocapture` for the figures.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod gateways;
mod pages;

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, UdpSocket},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use dovetail_bed::{Bed, Place, Via, patiently};
use gateways::{Settings, gateway, has, link, ms, possible};
use pages::{bulk::Bulk, running::Running};
use quinn::{
    ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig,
    crypto::rustls::QuicClientConfig,
};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::rustls::{RootCertStore, crypto::ring, pki_types::PrivatePkcs8KeyDer};

const RATE_BPS: u64 = 8_000_000;
const USERS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 1, 2)];
const SERVER: &str = "10.200.0.1:443";
const SECONDS: u64 = 20;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    // Packets as on a wire.
    transport.enable_segmentation_offload(false);
    transport.max_idle_timeout(Some(Duration::from_secs(3).try_into().unwrap()));
    Arc::new(transport)
}

/// A server and its users, in a runtime of their own.
struct Quic {
    runtime: Runtime,
    client: ClientConfig,
    came: Arc<AtomicU64>,
}

impl Quic {
    /// A server that sends as much as its clients accept.
    fn new(bed: &Bed) -> Self {
        let made = rcgen::generate_simple_self_signed(["server.test".to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut server = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into()).unwrap();
        server.transport_config(transport());
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let client = tokio_rustls::rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(client).unwrap()));
        client.transport_config(transport());
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let socket = bed.within(Place::Servers, || UdpSocket::bind(SERVER)).unwrap();
        let _within = runtime.enter();
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(server), socket, Arc::new(TokioRuntime)).unwrap();
        runtime.spawn(async move {
            while let Some(connection) = endpoint.accept().await {
                tokio::spawn(async move {
                    let connection = connection.await.ok()?;
                    let mut stream = connection.open_uni().await.ok()?;
                    while stream.write_all(&[b'x'; 16_384]).await.is_ok() {}
                    Some(())
                });
            }
        });
        drop(_within);
        Self { runtime, client, came: Arc::default() }
    }

    /// A download by a user at this address.
    fn begin(&self, bed: &Bed, from: Ipv4Addr) -> io::Result<()> {
        let socket = bed.within(Place::Clients, || UdpSocket::bind((from, 0)))?;
        let (client, came) = (self.client.clone(), Arc::clone(&self.came));
        let connected = self.runtime.block_on(async move {
            let mut endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(TokioRuntime))?;
            endpoint.set_default_client_config(client);
            let at: SocketAddr = SERVER.parse().map_err(io::Error::other)?;
            let connection = endpoint.connect(at, "server.test").map_err(io::Error::other)?;
            Ok::<_, io::Error>((connection.await?, endpoint))
        });
        let (connection, endpoint) = connected?;
        self.runtime.spawn(async move {
            let mut stream = connection.accept_uni().await.ok()?;
            while let Ok(Some(chunk)) = stream.read_chunk(65_536, false).await {
                came.fetch_add(chunk.bytes.len() as u64, Ordering::Relaxed);
            }
            drop(endpoint);
            Some(())
        });
        Ok(())
    }
}

/// Queueing delay of the link in milliseconds, as counted by the kernel.
fn queue_ms(bed: &Bed) -> f64 {
    let look = || Command::new("tc").args(["-j", "-s", "qdisc", "show", "dev", "down0"]).output();
    let said = bed.within(Place::Provider, look).unwrap().stdout;
    let said: serde_json::Value = serde_json::from_slice(&said).unwrap();
    let queue = said.as_array().unwrap().iter().find(|one| one["kind"] == "pfifo").unwrap();
    queue["backlog"].as_f64().unwrap() * 8e3 / RATE_BPS as f64
}

/// The packaged rules in the gateway's namespace, whose device towards users has the name in the rules.
fn filter(bed: &Bed) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/nftables-redirect.nft");
    let load = || Command::new("nft").arg("-f").arg(fs::canonicalize(file)?).status();
    assert!(bed.within(Place::Gateway, load).unwrap().success());
}

#[test]
fn what_quic_takes_that_goes_past_the_gateway_and_that_does_not() {
    if possible() && has("nft", "--version") {
        patiently(once);
    }
}

fn once() {
    for (what, connections, is_let_past) in [
        ("one connection of QUIC past it", 1, true),
        ("four connections", 4, true),
        ("with the rule, one download", 1, false),
        ("with the rule, four downloads", 4, false),
    ] {
        let bed = Bed::new(&link(RATE_BPS, ms(30), &[2])).unwrap_or_else(|error| panic!("{error}"));
        let _gateway = Running::new(&bed, &gateway(Settings::default()));
        let quic = Quic::new(&bed);
        if !is_let_past {
            filter(&bed);
            // Clients are told at once.
            let probe = bed.within(Place::Clients, || UdpSocket::bind((USERS[1], 0))).unwrap();
            probe.connect(SERVER).unwrap();
            probe.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            probe.send(b"x").unwrap();
            assert_eq!(probe.recv(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
            assert!(quic.begin(&bed, USERS[1]).is_err(), "QUIC goes past it");
        }
        let ours = Bulk::of(&bed, USERS[0], Via::Connect);
        let mut theirs = Vec::new();
        for _ in 0..connections {
            if is_let_past {
                quic.begin(&bed, USERS[1]).unwrap();
            } else {
                // Like a browser.
                theirs.push(Bulk::of(&bed, USERS[1], Via::Connect));
            }
        }
        // Windows grow.
        sleep(Duration::from_secs(12));
        let had = || {
            let by_tcp: u64 = theirs.iter().map(Bulk::bytes).sum();
            [ours.bytes(), by_tcp + quic.came.load(Ordering::Relaxed)]
        };
        let (before, begun) = (had(), Instant::now());
        let mut queue = Vec::new();
        for _ in 0..4 * SECONDS {
            sleep(Duration::from_millis(250));
            queue.push(queue_ms(&bed));
        }
        // Looking at the queue takes time as well.
        let (after, took_s) = (had(), begun.elapsed().as_secs_f64());
        let of = |at: usize| (after[at] - before[at]) as f64 * 8.0 / took_s / RATE_BPS as f64;
        let mean = queue.iter().sum::<f64>() / queue.len() as f64;
        println!(
            "{what}: the user of the gateway had {:.2} of the link's 8 Mbit/s, the other {:.2}; {mean:.0} ms of queue before the link",
            of(0),
            of(1)
        );
        ours.end();
        theirs.into_iter().for_each(Bulk::end);
        if is_let_past {
            assert!(of(1) > 0.1, "{what}: QUIC carried nothing");
        } else {
            // Four, if each download had its own share.
            assert!((0.6..1.7).contains(&(of(1) / of(0))), "{what}: {:.2} and {:.2}", of(0), of(1));
        }
    }
}
