//! A gateway on loopback, with an origin and clients.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_gateway::{Control, config::Config, run};
use jiff::SignedDuration;
use socket2::{Domain, Socket, Type};
use tokio::sync::mpsc;

/// The token required for changes at the admin port.
pub const TOKEN: &str = "correct-horse-battery";

/// A gateway on a thread of its own. Ends when dropped.
pub struct Running {
    pub proxy: SocketAddr,
    pub admin: SocketAddr,
    pub origin: SocketAddr,
    text: String,
    control: mpsc::Sender<Control>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// With these keys of the downlink and of the admin port, and two classes besides the default one.
    pub fn start(downlink: &str, admin_keys: &str) -> Self {
        Self::with(downlink, admin_keys, "")
    }

    /// With additional sections, or additional keys of the class `guests`.
    pub fn with(downlink: &str, admin_keys: &str, rest: &str) -> Self {
        let origin = origin();
        let admin = free();
        let text = format!(
            "[proxy]\nlisten = \"127.0.0.1:0\"\n[downlink]\n{downlink}\n\
             [access]\nclients = \"127.0.0.0/8\"\ndestinations = {{ allow = [\"127.0.0.0/8\"] }}\nconnect_ports = {}\n\
             [timeouts]\ndrain = \"10ms\"\n[admin]\nlisten = \"{admin}\"\n{admin_keys}\n\
             [[class]]\nname = \"office\"\nweight = 3\nclients = \"127.0.1.0/24\"\n\
             [[class]]\nname = \"guests\"\nclients = \"127.0.2.0/24\"\n{rest}\n",
            origin.port()
        );
        let config = Config::parse(&text).unwrap();
        let (control, controlled) = mpsc::channel(4);
        let (tell, told) = std::sync::mpsc::channel();
        let thread = thread::spawn(move || run(config, controlled, |at| tell.send(at[0]).unwrap()).unwrap());
        let proxy = told.recv_timeout(Duration::from_secs(10)).unwrap();
        Self { proxy, admin, origin, text, control, thread: Some(thread) }
    }

    /// Sets the clock ahead.
    pub fn set_clock(&self, ahead: SignedDuration) {
        self.control.blocking_send(Control::SetClock(ahead)).unwrap();
    }

    /// Reloads the configuration.
    pub fn reload(&self) {
        self.reload_with("", "");
    }

    /// Reloads the configuration with a replacement in its text.
    pub fn reload_with(&self, written: &str, other: &str) {
        let config = Config::parse(&self.text.replacen(written, other, 1)).unwrap();
        self.control.blocking_send(Control::Reload(Box::new(config))).unwrap();
    }

    /// Requests a response of this many bytes through the proxy, from an address; returns the connection to read it from.
    pub fn ask(&self, client: &str, bytes: u64) -> TcpStream {
        let mut stream = self.proxy_from(client);
        let origin = self.origin;
        write!(stream, "GET http://{origin}/{bytes} HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n").unwrap();
        stream
    }

    /// Sends this many bytes to the origin through the proxy, from an address; returns the connection to read the answer from.
    pub fn upload(&self, client: &str, bytes: usize) -> TcpStream {
        let mut stream = self.proxy_from(client);
        let origin = self.origin;
        let head = "HTTP/1.1\r\nConnection: close\r\nContent-Length:";
        write!(stream, "POST http://{origin}/100 {head} {bytes}\r\nHost: {origin}\r\n\r\n").unwrap();
        // If it is refused because of its head, it may be closed earlier.
        let _ = stream.write_all(&vec![b'x'; bytes]);
        stream
    }

    /// Connects to the proxy from an address.
    pub fn proxy_from(&self, client: &str) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let address: IpAddr = client.parse().unwrap();
        socket.bind(&SocketAddr::new(address, 0).into()).unwrap();
        socket.connect(&self.proxy.into()).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    /// Requests a tunnel to the origin through the proxy, from an address.
    pub fn connect_to(&self, client: &str) -> TcpStream {
        let mut stream = self.proxy_from(client);
        let origin = self.origin;
        write!(stream, "CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\nConnection: close\r\n\r\n").unwrap();
        stream
    }

    /// Sends a request, waits for the complete response and returns its status.
    pub fn fetch(&self, client: &str, bytes: u64) -> u16 {
        Answer::read(self.ask(client, bytes)).status
    }

    pub fn get(&self, path: &str) -> Answer {
        self.admin("GET", path, "", "")
    }

    /// Sends a request to the admin port. `headers` are lines with their line ends.
    pub fn admin(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.admin) };
        let mut stream = self.connect();
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\n{host}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // If it is refused because of its head, it may be closed earlier.
        let _ = stream.write_all(body.as_bytes());
        Answer::read(stream)
    }

    /// Connects to the admin port.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.admin).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.get("/status.json").body).unwrap()
    }

    /// The status, once it is as required.
    pub fn status_when(&self, what: &str, is: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let began = Instant::now();
        loop {
            let status = self.status();
            if is(&status) {
                return status;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "{what}: {status:#}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.control.blocking_send(Control::Drain);
        if let Some(thread) = self.thread.take() {
            assert!(thread.join().is_ok() || thread::panicking());
        }
    }
}

/// A response.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }
}

/// An address without a listener.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server that answers `/N` with N bytes after receiving the complete request, and `/0` never.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut lines = reader.by_ref().lines();
    let first = lines.next()?.ok()?;
    let length: usize = first.split(['/', ' ']).nth(2)?.parse().ok()?;
    let mut body_bytes = 0;
    loop {
        let line = lines.next()?.ok()?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            body_bytes = value.trim().parse().ok()?;
        }
    }
    if length == 0 {
        // Until the gateway closes it.
        lines.next();
        return None;
    }
    io::copy(&mut reader.take(body_bytes), &mut io::sink()).ok()?;
    let mut stream = stream;
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").ok()?;
    stream.write_all(&vec![b'x'; length]).ok()
}
