//! Bytes as a client's connection to a gateway. Whatever they are, its server gets whole requests that a strict parser takes,
//! or the beginning of one; never more requests than there are in the bytes; and nothing stays under way.
#![no_main]

#[path = "../../crates/dovetail-gateway/tests/hostile/strict.rs"]
mod strict;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use dovetail_gateway::{Control, config::Config};
use libfuzzer_sys::fuzz_target;
use tokio::sync::{mpsc, oneshot};

/// What stands for the server's address in the bytes.
const SERVER: &[u8] = b"@";

/// Requests that servers got.
static REQUESTS: AtomicUsize = AtomicUsize::new(0);
/// What they got that is none.
static WRONG: Mutex<Option<String>> = Mutex::new(None);

struct Running {
    gateway: SocketAddr,
    server: SocketAddr,
    control: mpsc::Sender<Control>,
}

static RUNNING: LazyLock<Running> = LazyLock::new(|| {
    let server = server();
    let text = format!(
        "[proxy]\nlisten = [\"127.0.0.1:0\"]\n[downlink]\nrate = \"1Gbps\"\nprobe = \"off\"\n[access]\n\
         clients = [\"127.0.0.0/8\"]\nconnect_ports = [{}]\ndestinations = {{ allow = [\"{}/32\"] }}\n[timeouts]\n\
         header = \"10ms\"\nidle = \"10ms\"\nresolve = \"10ms\"\nresponse = \"1s\"\nstalled = \"1s\"\ntunnel = \"1s\"\n",
        server.port(),
        server.ip()
    );
    let config = Config::parse(&text).expect("a configuration");
    let (control, controlled) = mpsc::channel(1);
    let (told, address) = std::sync::mpsc::channel();
    thread::spawn(move || {
        dovetail_gateway::run(config, controlled, |addresses| told.send(addresses[0]).expect("a listener"))
            .expect("it runs")
    });
    Running { gateway: address.recv().expect("it listens"), server, control }
});

/// A server that takes nothing but requests as RFC 9112 writes them.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            thread::spawn(move || {
                loop {
                    match strict::request(&mut stream) {
                        Ok(None) => return,
                        Ok(Some(message)) => {
                            REQUESTS.fetch_add(1, SeqCst);
                            let body: &[u8] = if message.method == "HEAD" { b"" } else { b"ok" };
                            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
                            if stream.write_all(&[head, body].concat()).is_err() {
                                return;
                            }
                        }
                        // A client that goes leaves what it began.
                        Err(error) if error.contains("break") || error.contains("bytes of") => return,
                        Err(error) => {
                            WRONG.lock().expect("nobody panics with it").get_or_insert(error);
                            return;
                        }
                    }
                }
            });
        }
    });
    address
}

fuzz_target!(|bytes: &[u8]| {
    let running = &*RUNNING;
    let at = running.server.to_string();
    let bytes = bytes.split(|byte| SERVER.contains(byte)).collect::<Vec<_>>().join(at.as_bytes());
    // What goes through a tunnel is the client's affair; and HTTP/2 has as many requests as it has frames.
    let is_tunnel = bytes.windows(7).any(|word| word.eq_ignore_ascii_case(b"CONNECT"));
    if is_tunnel && bytes.windows(at.len()).any(|word| word == at.as_bytes()) {
        return;
    }
    let most = bytes.windows(5).filter(|word| *word == b"HTTP/").count();
    let is_http2 = bytes.starts_with(b"PRI ");
    let before = REQUESTS.load(SeqCst);
    let mut client = TcpStream::connect(running.gateway).expect("it listens");
    client.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
    // It may be closed before it has all.
    drop(client.write_all(&bytes));
    let mut answers = Vec::new();
    let ended = client.read_to_end(&mut answers);
    let (sender, counts) = oneshot::channel();
    running.control.blocking_send(Control::Look(sender)).expect("it runs");
    let counts = counts.blocking_recv().expect("it answers");
    if let Err(error) = ended {
        let answers = String::from_utf8_lossy(&answers);
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "it is still open: {counts:?} {answers}");
    }
    drop(client);
    assert!(counts.connections <= 1 && counts.watched <= 1, "{counts:?}");
    if let Some(wrong) = WRONG.lock().expect("nobody panics with it").take() {
        panic!("its server got what is no request: {wrong}");
    }
    let came = REQUESTS.load(SeqCst) - before;
    assert!(is_http2 || came <= most, "{came} requests of {most}");
});
