//! A gateway on a thread.

use std::{
    io::Write,
    net::{IpAddr, SocketAddr, TcpStream},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_gateway::{Control, Counts, GatewayError, config::Config, run};
use tokio::sync::{mpsc, oneshot};

use crate::answer::{Answer, answer};

/// Anything that is waited for arrives long before.
pub const LONG: Duration = Duration::from_secs(10);

/// Additions to the common configuration.
#[derive(Clone)]
pub struct Setup {
    pub proxy: String,
    pub downlink: String,
    pub access: String,
    pub allow: String,
    pub rest: String,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            proxy: String::new(),
            downlink: String::new(),
            access: String::new(),
            allow: "\"127.0.0.0/8\"".into(),
            rest: String::new(),
        }
    }
}

impl Setup {
    /// Adds keys to `[access]`.
    pub fn access(text: &str) -> Self {
        Self { access: text.into(), ..Self::default() }
    }

    /// Adds sections.
    pub fn rest(text: &str) -> Self {
        Self { rest: text.into(), ..Self::default() }
    }

    pub fn config(&self) -> Config {
        let Self { proxy, downlink, access, allow, rest } = self;
        let clients = if access.contains("clients") { "" } else { "clients = [\"127.0.0.0/8\"]" };
        let rate = if downlink.contains("rate =") { "" } else { "rate = \"1Gbps\"" };
        // The same on each host.
        let name = if proxy.contains("name =") { "" } else { "name = \"dovetail\"" };
        let text = format!(
            "[proxy]\nlisten = [\"127.0.0.1:0\"]\n{name}\n{proxy}\n[downlink]\n{rate}\nprobe = \"off\"\n{downlink}\n\
             [access]\n{clients}\ndestinations = {{ allow = [{allow}] }}\n{access}\n{rest}\n"
        );
        Config::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    pub fn start(&self) -> Running {
        Running::start(self.config())
    }
}

/// A running gateway.
pub struct Running {
    pub address: SocketAddr,
    /// All addresses, in the order of the configuration.
    pub addresses: Vec<SocketAddr>,
    control: mpsc::Sender<Control>,
    thread: Option<JoinHandle<Result<(), GatewayError>>>,
}

impl Running {
    pub fn start(config: Config) -> Self {
        let (control, controlled) = mpsc::channel(8);
        let (told, addresses) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || run(config, controlled, |addresses| told.send(addresses.to_vec()).unwrap()));
        let addresses = addresses.recv_timeout(LONG).unwrap();
        Self { address: addresses[0], addresses, control, thread: Some(thread) }
    }

    pub fn tell(&self, control: Control) {
        self.control.blocking_send(control).unwrap();
    }

    /// Where to send commands from a task.
    pub fn control(&self) -> &mpsc::Sender<Control> {
        &self.control
    }

    pub fn look(&self) -> Counts {
        let (sender, counts) = oneshot::channel();
        self.tell(Control::Look(sender));
        counts.blocking_recv().unwrap()
    }

    /// Waits until the counts are as they should be.
    pub fn until(&self, what: &str, is_so: impl Fn(&Counts) -> bool) -> Counts {
        let began = Instant::now();
        loop {
            let counts = self.look();
            if is_so(&counts) {
                return counts;
            }
            assert!(began.elapsed() < LONG, "{what}: {counts:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until nothing is in flight.
    pub fn quiet(&self) {
        self.until("something is still under way", |counts| {
            (counts.requests, counts.watched, counts.connections) == (0, 0, 0)
        });
    }

    pub fn connect(&self) -> TcpStream {
        self.connect_from([127, 0, 0, 1])
    }

    /// Connects from this address.
    pub fn connect_from(&self, address: impl Into<IpAddr>) -> TcpStream {
        connect_from(address, self.address)
    }

    /// The answer to these bytes, on a connection of their own.
    pub fn ask(&self, bytes: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).unwrap();
        answer(&mut stream)
    }

    /// The answer to a request for this URL.
    pub fn get(&self, url: &str) -> Answer {
        self.ask(get(url))
    }

    /// Stops it, and waits until it has ended.
    pub fn drain(mut self) -> Duration {
        let began = Instant::now();
        self.tell(Control::Drain);
        self.thread.take().unwrap().join().unwrap().unwrap();
        began.elapsed()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            drop(self.control.try_send(Control::Drain));
            if !thread::panicking() {
                thread.join().unwrap().unwrap();
            }
        }
    }
}

/// Connects from this address.
pub fn connect_from(from: impl Into<IpAddr>, to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from.into(), 0).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// A request for a URL after which the connection is closed.
pub fn get(url: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
}
