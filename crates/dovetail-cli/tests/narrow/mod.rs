//! Users, a gateway, a provider and a server in separate namespaces, with IPv4 and IPv6. Traffic that bypasses the gateway
//! is forwarded, as by a router. Users' programs are curl.
//!
//! ```text
//!  10.1.0.0/16, fd00:1::/48 ── 10.1.0.1, fd00:1::ffff GATEWAY 10.99.0.2, fd00:99::2 ═══ 10.99.0.1 PROVIDER ── 10.9.0.2, fd00:9::2
//!                         LAN                                                (downlink)                               SERVER
//! ```
//!
//! The downlink's queue is the provider's: one on the server's own device would throttle its senders before it is full.
#![allow(dead_code)]

use std::{
    io::{self, BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
};

use dovetail_netns::{Namespace, NetnsError, tool};

/// Its namespaces, removed on drop.
pub struct Narrow {
    pub users: Namespace,
    pub gateway: Namespace,
    pub provider: Namespace,
    pub server: Namespace,
}

/// Whether the requirements are met.
pub fn possible() -> bool {
    if Command::new("curl").arg("--version").output().is_err() {
        dovetail_skip::skipped("there is no curl");
        return false;
    }
    dovetail_bed::check().inspect_err(|lacking| dovetail_skip::skipped(lacking)).is_ok()
}

impl Narrow {
    /// A downlink with this many bits a second, a queue of 150 ms, and a server that responds to `GET /N` with N bytes.
    pub fn new(rate_bps: u64) -> Result<Self, NetnsError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let id = format!("dvu{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let make = |part: &str| Namespace::new(format!("{id}-{part}"));
        let (users, gateway, provider, server) = (make("u")?, make("g")?, make("p")?, make("s")?);
        let (u, g, p, s) = (users.name(), gateway.name(), provider.name(), server.name());
        for name in [u, g, p, s] {
            tool("ip", &format!("-n {name} link set lo up"))?;
        }
        tool("ip", &format!("-n {g} link add lan type veth peer name lan netns {u}"))?;
        tool("ip", &format!("-n {g} link add wan type veth peer name wan netns {p}"))?;
        tool("ip", &format!("-n {p} link add far type veth peer name far netns {s}"))?;
        let addresses = [
            (g, "lan", "10.1.0.1/16"),
            (g, "lan", "fd00:1::ffff/48"),
            (g, "wan", "10.99.0.2/24"),
            (g, "wan", "fd00:99::2/64"),
            (p, "wan", "10.99.0.1/24"),
            (p, "wan", "fd00:99::1/64"),
            (p, "far", "10.9.0.1/24"),
            (p, "far", "fd00:9::1/64"),
            (s, "far", "10.9.0.2/24"),
            (s, "far", "10.9.0.3/24"),
            (s, "far", "fd00:9::2/64"),
        ];
        let of_users = [
            "10.1.1.1/16",
            "10.1.1.2/16",
            "10.1.1.3/16",
            "10.1.2.1/16",
            "fd00:1:0:1::1/48",
            "fd00:1:0:1::2/48",
            "fd00:1:0:1::3/48",
            "fd00:1:0:1::4/48",
            "fd00:1:0:2::1/48",
        ];
        for (name, device, address) in addresses.into_iter().chain(of_users.map(|address| (u, "lan", address))) {
            let nodad = if address.contains(':') { " nodad" } else { "" };
            tool("ip", &format!("-n {name} addr add {address} dev {device}{nodad}"))?;
        }
        for (name, device) in [(u, "lan"), (g, "lan"), (g, "wan"), (p, "wan"), (p, "far"), (s, "far")] {
            // Packets as on a wire: a joined one of several times its length would count as one in the queue.
            tool("ip", &format!("-n {name} link set {device} gso_max_segs 1 up"))?;
        }
        for (name, to, via) in [
            (u, "default", ("10.1.0.1", "fd00:1::ffff")),
            (g, "default", ("10.99.0.1", "fd00:99::1")),
            (s, "default", ("10.9.0.1", "fd00:9::1")),
            (p, "users", ("10.99.0.2", "fd00:99::2")),
        ] {
            let (four, six) = if to == "users" { ("10.1.0.0/16", "fd00:1::/48") } else { (to, to) };
            tool("ip", &format!("-n {name} route add {four} via {}", via.0))?;
            tool("ip", &format!("-n {name} -6 route add {six} via {}", via.1))?;
        }
        // A machine's default may be BBR, whose windows depend on the minimum round trip, which is zero here.
        server.set("ipv4/tcp_congestion_control", "reno")?;
        for router in [&gateway, &provider] {
            router.set("ipv4/ip_forward", "1")?;
            router.set("ipv6/conf/all/forwarding", "1")?;
        }
        tool(
            "tc",
            &format!("-n {p} qdisc add dev wan root handle 1: tbf rate {rate_bps}bit burst 3028 limit 1000000000"),
        )?;
        tool("tc", &format!("-n {p} qdisc add dev wan parent 1:1 handle 10: pfifo limit {}", rate_bps / 80_000))?;
        for address in ["0.0.0.0:80", "[::]:80"] {
            let listener = server
                .within(|| listen(address))
                .map_err(|error| NetnsError::System { what: address.into(), error })?;
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    thread::spawn(move || answer(stream));
                }
            });
        }
        Ok(Self { users, gateway, provider, server })
    }

    /// A gateway for its users with these sections; stopped on drop.
    pub fn gateway(&self, rate_bps: u64, rest: &str) -> Ended {
        let folder = std::env::temp_dir().join(format!("{}.toml", self.gateway.name()));
        let text = format!(
            "[proxy]\nlisten = [\"10.1.0.1:3128\", \"[fd00:1::ffff]:3128\"]\n[downlink]\nrate = \"{rate_bps}bps\"\nprobe = \"10.99.0.1\"\n\
             [access]\nclients = [\"10.1.0.0/16\", \"fd00:1::/48\"]\ndestinations = {{ allow = [\"10.9.0.0/24\", \"fd00:9::/64\"] }}\n{rest}\n"
        );
        std::fs::write(&folder, text).unwrap();
        let start = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_dovetail"));
            command.args(["gateway", "--config"]).arg(&folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
        };
        let mut child = self.gateway.within(start).unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said: Vec<_> = lines.by_ref().take_while(|line| !line.contains("listening")).collect();
        assert!(child.try_wait().unwrap().is_none(), "{said:?}");
        // Its output is read, so that it does not block.
        thread::spawn(move || lines.for_each(drop));
        std::fs::remove_file(folder).unwrap();
        Ended(child)
    }

    /// curl of a user at this address, for this many seconds at most; it prints status and bytes.
    pub fn curl(&self, from: &str, url: &str, seconds: f64, is_direct: bool) -> Curl {
        let proxy = if from.contains(':') { "http://[fd00:1::ffff]:3128" } else { "http://10.1.0.1:3128" };
        static BEGUN: AtomicU32 = AtomicU32::new(0);
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("{}-{number}", self.users.name()));
        let (seconds, told) = (seconds.to_string(), "%{http_code} %{size_download}");
        let start = || {
            let mut curl = Command::new("curl");
            curl.args(["-s", "--no-buffer", "--interface", from, "--max-time", &seconds, "-w", told, "-o"]).arg(&file);
            curl.args(if is_direct { ["--noproxy", "*"] } else { ["--proxy", proxy] });
            curl.arg(url).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
        };
        let child = self.users.within(start).unwrap();
        Curl { child: Some(child), file }
    }
}

/// A program that is killed on drop.
pub struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A download. Aborted on drop.
pub struct Curl {
    child: Option<Child>,
    file: PathBuf,
}

impl Drop for Curl {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Curl {
    /// Bytes received so far.
    pub fn so_far(&self) -> f64 {
        std::fs::metadata(&self.file).map_or(0.0, |file| file.len() as f64)
    }

    /// The response's status and the number of body bytes received.
    pub fn came(mut self) -> (u32, f64) {
        let said = self.child.take().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let (status, bytes) = said.split_once(' ').unwrap_or_else(|| panic!("curl said {said:?}"));
        (status.parse().unwrap(), bytes.parse().unwrap())
    }
}

/// For IPv6, accepts only connections by IPv6.
fn listen(address: &str) -> io::Result<TcpListener> {
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket, sockopt};
    let address: std::net::SocketAddr = address.parse().map_err(io::Error::other)?;
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let made = socket(family, SocketType::STREAM, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&made, true)?;
    }
    bind(&made, &address)?;
    listen(&made, 128)?;
    Ok(made.into())
}

/// A response of as many bytes as its path says.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        let first = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let mut left: usize = first.split(' ').nth(1)?.trim_start_matches('/').parse().ok()?;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n").ok()?;
        let bytes = [b'x'; 16_384];
        while left > 0 {
            let some = left.min(bytes.len());
            stream.write_all(&bytes[..some]).ok()?;
            left -= some;
        }
    }
}
