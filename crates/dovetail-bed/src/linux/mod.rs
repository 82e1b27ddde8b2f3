//! The testbed on Linux.

mod check;
mod client;
mod delay;
mod generator;
mod http;
mod link;
mod origin;
mod owner;
mod plan;
mod play;
mod player;
mod process;
mod target;
mod tun;
mod usage;
mod wires;

use std::{
    io,
    net::SocketAddrV4,
    panic::resume_unwind,
    path::Path,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

pub use check::check;

use dovetail_netns::{FOLDER, Namespace, remove};

use crate::{BedError, BedSpec, LoadSpec, Measured, Place, Proxy, ProxyUse, Site};
use client::Run;
use delay::DelayLine;
use generator::Generator;
use link::Counters;
use origin::Origins;
use process::{Folder, Running};
use usage::Usage;
use wires::{GATEWAY, Namespaces, PROVIDER, change_downlink, each_server, lay};

/// Where the proxy must listen.
const LISTEN: SocketAddrV4 = SocketAddrV4::new(GATEWAY, 3128);
/// How often the downlink is read to report progress.
const TELL: Duration = Duration::from_secs(1);

/// A testbed that belongs to this process; there may be several at once. Its namespaces are removed when it is dropped; those
/// of processes that were killed, when the next one is created.
#[derive(Debug)]
pub struct Bed {
    // In drop order: users of a namespace before the namespace.
    _origins: Origins,
    line: DelayLine,
    clients: Namespace,
    gateway: Namespace,
    provider: Namespace,
    servers: Namespace,
    spec: BedSpec,
}

impl Bed {
    /// Creates it, which takes less than a second.
    ///
    /// # Errors
    /// If the specification is invalid, something is missing on this machine, or the kernel or its tools refuse. Nothing is
    /// left behind.
    pub fn new(spec: &BedSpec) -> Result<Self, BedError> {
        spec.validate()?;
        check()?;
        sweep();
        Folder::sweep();
        let number = number();
        let make = |place| Namespace::new(owner::name(&format!("{number}-{place}")));
        let (clients, gateway) = (make("clients")?, make("gateway")?);
        let (provider, servers) = (make("provider")?, make("servers")?);
        let all = Namespaces { clients: &clients, gateway: &gateway, provider: &provider, servers: &servers };
        let line = lay(spec, &all)?;
        let listeners = each_server(spec, &servers, |address| origin::listen(address, &spec.congestion));
        let origins = listeners.and_then(Origins::serve).map_err(BedError::system("the servers"))?;
        Ok(Self { _origins: origins, line, clients, gateway, provider, servers, spec: spec.clone() })
    }

    /// The specification it was created from.
    #[must_use]
    pub fn spec(&self) -> &BedSpec {
        &self.spec
    }

    /// Runs `work` in one of the namespaces, on a thread of its own, and returns its result. Sockets that it opens and threads
    /// and processes that it starts stay there.
    ///
    /// # Errors
    /// Those of `work` and of the system.
    pub fn within<T: Send>(&self, place: Place, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let namespace = match place {
            Place::Clients => &self.clients,
            Place::Gateway => &self.gateway,
            Place::Provider => &self.provider,
            Place::Servers => &self.servers,
        };
        namespace.within(work)
    }

    /// Puts the load on the proxy. Takes the load's duration, plus as much of its drain as outstanding answers need. `tell` is
    /// called every second with the number of packets that the downlink has sent since the last call.
    ///
    /// # Errors
    /// If the load is invalid, the proxy does not listen or ends early, or the system fails.
    pub fn measure(
        &mut self,
        proxy: &Proxy<'_>,
        load: &LoadSpec,
        tell: &(dyn Fn(u64) + Sync),
    ) -> Result<Measured, BedError> {
        load.validate(self.spec.users.len())?;
        let folder = Folder::new(number())?;
        let site = self.site(&folder);
        let mut running = Running::new(proxy, &site, &self.gateway, &self.clients)?;
        self.line.latest();
        let begins = Instant::now();
        let run = Run { via: load.via, proxy: LISTEN, begins, ends: begins + load.duration + load.drain };
        let generator = Generator::new(&self.spec, load, run)?;
        let watched = thread::scope(|scope| {
            let played = scope.spawn(|| {
                self.clients.enter()?;
                generator.play()
            });
            let watched = self.watch(begins, load, running.as_mut(), tell, || played.is_finished());
            generator.stop();
            // If the proxy has ended, requests in flight there fail on their own.
            let played = played.join().unwrap_or_else(|panic| resume_unwind(panic));
            played.map_err(BedError::system("the users"))?;
            watched
        })?;
        let ended = begins.elapsed();
        let proxy = running.map(|running| running.end().map(|exit| watched.used(exit))).transpose()?;
        let (exchanges, received_bytes) = generator.into_parts();
        Ok(Measured {
            exchanges,
            received_bytes,
            link: watched.link[1].since(watched.link[0], self.spec.rate_bps as f64),
            proxy,
            latest: self.line.latest(),
            counted_from: load.warm_up,
            counted_to: load.duration,
            ended,
            rate_bps: self.spec.rate_bps,
        })
    }

    fn site(&self, folder: &Folder) -> Site {
        Site {
            listen: LISTEN,
            rate_bps: self.spec.rate_bps,
            goodput_bps: self.spec.goodput_bps(),
            provider: PROVIDER,
            folder: folder.path().to_owned(),
        }
    }

    /// Changes the downlink's rate. [`Bed::spec`] and proxies started afterwards get the new one. For changes during a run see
    /// [`PlaySpec::rates`](crate::PlaySpec::rates).
    ///
    /// # Errors
    /// If the rate is out of range, or `tc` fails.
    pub fn set_rate(&mut self, rate_bps: u64) -> Result<(), BedError> {
        let spec = BedSpec { rate_bps, ..self.spec.clone() };
        spec.validate()?;
        change_downlink(&self.provider, rate_bps, spec.buffer_packets)?;
        self.spec = spec;
        Ok(())
    }

    /// Reads the counters after the warm-up and after the duration, and checks on the proxy until the users are done.
    fn watch(
        &self,
        begins: Instant,
        load: &LoadSpec,
        mut running: Option<&mut Running<'_>>,
        tell: &(dyn Fn(u64) + Sync),
        through: impl Fn() -> bool,
    ) -> Result<Watched, BedError> {
        let read = || Ok::<_, BedError>((Counters::read(&self.provider)?, Usage::read(&self.gateway)));
        let mut told = Counters::read(&self.provider)?;
        let mut wait_until = |until: Duration, stop: &dyn Fn() -> bool| -> Result<(), BedError> {
            loop {
                let left = until.saturating_sub(begins.elapsed());
                if left.is_zero() || stop() {
                    return Ok(());
                }
                thread::sleep(left.min(TELL));
                if let Some(running) = &mut running {
                    running.still()?;
                }
                let now = Counters::read(&self.provider)?;
                tell(now.packets - told.packets);
                told = now;
            }
        };
        wait_until(load.warm_up, &|| false)?;
        let first = read()?;
        wait_until(load.duration, &|| false)?;
        let last = read()?;
        wait_until(load.duration + load.drain, &through)?;
        Ok(Watched { link: [first.0, last.0], usage: [first.1, last.1] })
    }
}

/// Counters after the warm-up and after the duration.
struct Watched {
    link: [Counters; 2],
    usage: [Usage; 2],
}

impl Watched {
    fn used(&self, exit: String) -> ProxyUse {
        let [first, last] = self.usage;
        ProxyUse {
            cpu_s: last.cpu_s_since(first),
            resident_bytes: last.resident_bytes(),
            processes: last.processes,
            exit,
        }
    }
}

/// Removes the namespaces of processes that were killed before they could do so.
fn sweep() {
    for name in owner::left_in(Path::new(FOLDER)) {
        remove(&name);
    }
}

/// A number that is unique among the testbeds and runs of this process.
fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
