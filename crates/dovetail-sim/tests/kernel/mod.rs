//! A bottleneck between two kernel TCPs: sender, router and receiver in separate network namespaces.
//!
//! ```text
//! sender ── veth ── router ── tbf ── vxlan ══ veth ══ vxlan ── receiver
//!                                        └─ delay line ─┘
//! ```
//!
//! The token bucket in front of the router's tunnel is the bottleneck. Not every kernel has netem, so packets are delayed in
//! the tunnel: both of its ends send to UDP sockets of this process, which forward each packet when its time has come.

#![allow(clippy::unwrap_used, dead_code)]

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket},
    os::fd::AsFd,
    process::{self, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use etherparse::{Ipv4Slice, TcpSlice};
use rustix::{
    net::sockopt::set_tcp_congestion,
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

/// The tunnel's ends and ports: each end listens on its own, and sends to the same port of the other's address.
const ROUTER_END: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RECEIVER_END: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const ROUTER_PORT: u16 = 5001;
const RECEIVER_PORT: u16 = 5002;
const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);
const SERVICE: u16 = 8080;
/// An Ethernet header, which the token bucket counts too.
const ETHERNET_BYTES: u32 = 14;
/// VXLAN and Ethernet headers before the IP packet.
const BEFORE_IP_BYTES: usize = 8 + 14;

/// The path between sender and receiver.
#[derive(Debug, Clone, Copy)]
pub struct Bottleneck {
    /// In bits per second, for IP packets of `mtu_bytes`.
    pub bps: f64,
    /// The largest IP packet.
    pub mtu_bytes: u32,
    /// Packets in the queue, including the one being sent.
    pub packets: u32,
    /// Each way.
    pub delay: Duration,
}

/// Three namespaces, removed on drop.
pub struct Path {
    names: [String; 3],
    stop: Arc<AtomicBool>,
    // The longest that a packet was forwarded late, in microseconds.
    late: Arc<AtomicU64>,
    relays: Vec<JoinHandle<()>>,
}

impl Path {
    /// `settings` are written under `net/ipv4` in the sender's and the receiver's namespace.
    ///
    /// # Errors
    /// In words, what the kernel or its tools do not permit.
    pub fn new(bottleneck: &Bottleneck, settings: &[(&str, &str)]) -> Result<Self, String> {
        static PATHS: AtomicU32 = AtomicU32::new(0);
        let number = PATHS.fetch_add(1, Ordering::Relaxed);
        let names = ["s", "r", "d"].map(|end| format!("dovetail{}-{number}{end}", process::id()));
        let mut path = Self { names, stop: Arc::default(), late: Arc::default(), relays: Vec::new() };
        path.build(bottleneck)?;
        let [sender, router, receiver] = &path.names;
        write(router, "ip_forward", "1")?;
        for (key, value) in settings {
            write(sender, key, value)?;
            write(receiver, key, value)?;
        }
        path.delay(bottleneck.delay).map_err(|error| format!("the delay line: {error}"))?;
        Ok(path)
    }

    fn build(&self, bottleneck: &Bottleneck) -> Result<(), String> {
        let [sender, router, receiver] = &self.names;
        for name in &self.names {
            tool("ip", &format!("netns add {name}"))?;
        }
        let ip = |namespace: &str, what: &str| tool("ip", &format!("-n {namespace} {what}"));
        let mtu = bottleneck.mtu_bytes;
        ip(sender, &format!("link add s0 mtu {mtu} type veth peer name r0 netns {router}"))?;
        ip(router, &format!("link add r1 mtu {} type veth peer name d1 netns {receiver}", mtu + 100))?;
        ip(receiver, &format!("link set d1 mtu {}", mtu + 100))?;
        let tunnel = |name, here, there, port| {
            format!("link add {name} mtu {mtu} type vxlan id 1 local {here} remote {there} dstport {port}")
        };
        ip(router, &tunnel("vr", ROUTER_END, RECEIVER_END, ROUTER_PORT))?;
        ip(receiver, &tunnel("vd", RECEIVER_END, ROUTER_END, RECEIVER_PORT))?;
        let ends = [
            (sender, "s0", "10.1.0.1".to_string()),
            (router, "r0", "10.1.0.254".to_string()),
            (router, "r1", ROUTER_END.to_string()),
            (receiver, "d1", RECEIVER_END.to_string()),
            (router, "vr", "10.2.0.254".to_string()),
            (receiver, "vd", RECEIVER.to_string()),
        ];
        for (namespace, device, address) in ends {
            // Packets of the MTU from the start: a bottleneck of that size has no room for larger ones.
            ip(namespace, &format!("link set {device} gso_max_segs 1 up"))?;
            ip(namespace, &format!("address add {address}/24 dev {device}"))?;
        }
        ip(sender, "route add default via 10.1.0.254")?;
        ip(receiver, "route add default via 10.2.0.254")?;
        let frame = mtu + ETHERNET_BYTES;
        let rate = bottleneck.bps * f64::from(frame) / f64::from(mtu);
        let limit = frame * bottleneck.packets;
        let burst = frame + 50;
        tool("tc", &format!("-n {router} qdisc add dev vr root tbf rate {rate:.0}bit burst {burst} limit {limit}"))
    }

    /// Forwards packets from either end of the tunnel, delayed.
    fn delay(&mut self, delay: Duration) -> io::Result<()> {
        let [_, router, receiver] = &self.names;
        // Where the router's end sends to, and where its packets are forwarded from; and the same for the other.
        let at_receiver = within(receiver, || UdpSocket::bind((RECEIVER_END, ROUTER_PORT)))?;
        let at_router = within(router, || UdpSocket::bind((ROUTER_END, RECEIVER_PORT)))?;
        let ways = [
            (at_receiver.try_clone()?, at_router.try_clone()?, (RECEIVER_END, RECEIVER_PORT)),
            (at_router, at_receiver, (ROUTER_END, ROUTER_PORT)),
        ];
        for (from, through, to) in ways {
            from.set_read_timeout(Some(Duration::from_millis(50)))?;
            let (arrives, leaves) = mpsc::channel::<(Instant, Vec<u8>)>();
            let (stop, late) = (Arc::clone(&self.stop), Arc::clone(&self.late));
            self.relays.push(thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while !stop.load(Ordering::Relaxed) {
                    let Ok(length) = from.recv(&mut buffer) else { continue };
                    let mut packet = buffer[..length].to_vec();
                    fill_checksum(&mut packet);
                    if arrives.send((Instant::now() + delay, packet)).is_err() {
                        break;
                    }
                }
            }));
            self.relays.push(thread::spawn(move || {
                while let Ok((due, packet)) = leaves.recv() {
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    late.fetch_max(due.elapsed().as_micros() as u64, Ordering::Relaxed);
                    // A removed tunnel accepts no packets.
                    let _ = through.send_to(&packet, to);
                }
            }));
        }
        Ok(())
    }

    /// How long a handshake takes on the idle path, which is a round trip: the shortest of eight.
    ///
    /// # Errors
    /// The kernel's, when no connection can be opened.
    pub fn round_trip(&self) -> io::Result<Duration> {
        let [sender, _, receiver] = &self.names;
        let _listener = within(receiver, || TcpListener::bind((RECEIVER, SERVICE)))?;
        within(sender, || {
            let handshake = |_| {
                let begun = Instant::now();
                connect().map(|_| begun.elapsed())
            };
            // The first waits for address resolution, and any for a processor.
            let all: Vec<_> = (0..8).map(handshake).collect::<io::Result<_>>()?;
            Ok(all.into_iter().min().unwrap_or_default())
        })
    }

    /// The longest that the delay line delayed a packet beyond its time: it shares processors with other tasks.
    pub fn latest(&self) -> Duration {
        Duration::from_micros(self.late.load(Ordering::Relaxed))
    }

    /// Sends over `flows` connections with `congestion`, named as in the kernel, for `seconds`; returns the bytes received on
    /// each in each second.
    ///
    /// # Errors
    /// The kernel's, when connections cannot be opened.
    pub fn send(&self, congestion: &str, flows: usize, seconds: usize) -> io::Result<Vec<Vec<u64>>> {
        let [sender, _, receiver] = &self.names;
        let listener = within(receiver, || TcpListener::bind((RECEIVER, SERVICE)))?;
        let begun = Instant::now();
        let ends = begun + Duration::from_secs(seconds as u64);
        thread::scope(|scope| {
            let write = || {
                let stream = within(sender, connect)?;
                // Per connection: a namespace's default may only be what the whole system permits for all users.
                set_tcp_congestion(&stream, congestion)?;
                write_until(stream, ends)
            };
            let senders: Vec<_> = (0..flows).map(|_| scope.spawn(write)).collect();
            let streams: Vec<TcpStream> = (0..flows).map(|_| accept_by(&listener, ends)).collect::<io::Result<_>>()?;
            let receivers: Vec<_> =
                streams.into_iter().map(|stream| scope.spawn(move || read_until(stream, begun, seconds))).collect();
            for sender in senders {
                sender.join().unwrap()?;
            }
            receivers.into_iter().map(|receiver| receiver.join().unwrap()).collect()
        })
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for relay in self.relays.drain(..) {
            let _ = relay.join();
        }
        for name in &self.names {
            let _ = tool("ip", &format!("netns del {name}"));
        }
    }
}

fn connect() -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&(RECEIVER, SERVICE).into(), Duration::from_secs(5))
}

/// The next connection, if one arrives before `ends`.
fn accept_by(listener: &TcpListener, ends: Instant) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if is_timeout(&error) && Instant::now() < ends => thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error),
        }
    }
}

fn write_until(mut stream: TcpStream, ends: Instant) -> io::Result<()> {
    stream.set_write_timeout(Some(Duration::from_millis(100)))?;
    let zeros = vec![0; 1 << 16];
    while Instant::now() < ends {
        match stream.write(&zeros) {
            Err(error) if !is_timeout(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn read_until(mut stream: TcpStream, begun: Instant, seconds: usize) -> io::Result<Vec<u64>> {
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (mut buffer, mut received) = (vec![0; 1 << 16], vec![0; seconds]);
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => return Ok(received),
            Ok(read) => read,
            Err(error) if is_timeout(&error) => 0,
            Err(error) => return Err(error),
        };
        let Some(second) = received.get_mut(begun.elapsed().as_secs() as usize) else { return Ok(received) };
        *second += read as u64;
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// TCP leaves its checksum to hardware, which packets that pass through a socket never reach.
fn fill_checksum(packet: &mut [u8]) {
    let Some(bytes) = packet.get(BEFORE_IP_BYTES..) else { return };
    let Ok(ip) = Ipv4Slice::from_slice(bytes) else { return };
    let Ok(tcp) = TcpSlice::from_slice(ip.payload().payload) else { return };
    let (source, destination) = (ip.header().source(), ip.header().destination());
    if ip.payload().ip_number.0 != 6 {
        return;
    }
    let Ok(sum) = tcp.calc_checksum_ipv4(source, destination) else { return };
    let at = BEFORE_IP_BYTES + ip.header().slice().len() + 16;
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Runs `work` in a namespace; the thread that enters it is not used again.
fn within<T: Send>(namespace: &str, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let enter = || {
        let file = File::open(format!("/run/netns/{namespace}"))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    };
    thread::scope(|scope| scope.spawn(enter).join().unwrap())
}

fn write(namespace: &str, key: &str, value: &str) -> Result<(), String> {
    within(namespace, || fs::write(format!("/proc/sys/net/ipv4/{key}"), value))
        .map_err(|error| format!("net.ipv4.{key} = {value}: {error}"))
}

fn tool(name: &str, arguments: &str) -> Result<(), String> {
    let ran = Command::new(name).args(arguments.split(' ')).output().map_err(|error| format!("{name}: {error}"))?;
    if ran.status.success() {
        Ok(())
    } else {
        Err(format!("{name} {arguments}: {}", String::from_utf8_lossy(&ran.stderr).trim()))
    }
}
