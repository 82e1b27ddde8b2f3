//! Runs a gateway under a mixed load for a given time, and checks that its memory does not grow.
//!
//! ```sh
//! cargo run --release -p dovetail-gateway --example soak -- [MINUTES]
//! ```
//!
//! The gateway runs in a process of its own. Sixteen clients with ever new addresses fetch, upload, tunnel, cancel and request
//! what does not exist, from servers that answer, abort, reset and hang. Every five seconds the gateway's configuration is
//! reloaded: with another link rate, from 100 Mbit/s to 2 Gbit/s, other weights, and every other time an additional class.
//! Every minute its clock is set 25 hours ahead, so that the quotas of users and classes, which are kept in a store, are
//! renewed. Its admin port is polled like the page does. A status line is printed every 30 s. It fails if the gateway's memory
//! is on average over 5 % more in the last third than in the middle one, if a reload failed, or if anything is still in flight
//! when the clients are gone.

#[path = "../tests/hostile/strict.rs"]
mod strict;

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Lines, Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use dovetail_gateway::{Control, config::Config, run};
use jiff::SignedDuration;
use socket2::{Domain, SockRef, Socket, Type};
use tokio::sync::{mpsc, oneshot};

const CLIENTS: u64 = 16;
const LONG: Duration = Duration::from_secs(20);

fn main() -> io::Result<ExitCode> {
    let mut args = env::args().skip(1);
    match args.next().as_deref() {
        Some("gateway") => {
            tracing_subscriber::fmt().with_writer(io::stderr).init();
            gateway(&args.next().unwrap_or_default());
            Ok(ExitCode::SUCCESS)
        }
        minutes => {
            let minutes: f64 = minutes.and_then(|minutes| minutes.parse().ok()).unwrap_or(10.0);
            load(Duration::from_secs_f64(minutes * 60.0))
        }
    }
}

/// Runs a gateway that reaches a server's port. It prints its address; for each empty line of input it prints its counts, for a
/// number it reloads, for a `+` and a number it sets its clock that many hours ahead; and it ends with its input.
fn gateway(port: &str) {
    let admin = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    let store = env::temp_dir().join(format!("dovetail-soak-{}.db", std::process::id()));
    let at = store.display().to_string();
    let config = move |number: u64| {
        let rate = [1000, 100, 400, 2000][number as usize % 4];
        let weight = 1 + number % 7;
        let more = if number % 2 == 1 { "[[class]]\nname = \"guests\"\nclients = [\"127.24.0.0/16\"]\n" } else { "" };
        let text = format!(
            "[proxy]\nlisten = [\"127.0.0.1:0\"]\n[downlink]\nrate = \"{rate}Mbps\"\nprobe = \"off\"\n[access]\n\
             clients = [\"127.0.0.0/8\"]\nconnect_ports = [{port}]\ndestinations = {{ allow = [\"127.0.0.1/32\"] }}\n\
             [timeouts]\nresponse = \"2s\"\n[admin]\nlisten = \"{admin}\"\n[log]\naccess = \"/dev/null\"\n\
             [[class]]\nname = \"office\"\nweight = {weight}\nclients = [\"127.16.0.0/14\"]\n{more}\
             [[quota]]\nname = \"user\"\nbytes = \"60kB\"\nevery = \"day\"\nbeyond = {{ weight = 0.5 }}\n\
             [[quota]]\nname = \"class\"\nbytes = \"1GB\"\nevery = \"day\"\nper = \"class\"\nbeyond = {{ weight = 0.2 }}\n\
             [store]\npath = \"{at}\"\nevery = \"1s\"\n"
        );
        Config::parse(&text).expect("a configuration")
    };
    let (control, controlled) = mpsc::channel(1);
    let first = config(0);
    let runs = thread::spawn(move || run(first, controlled, |addresses| println!("{} {admin}", addresses[0])));
    for line in io::stdin().lines() {
        let hours = line.as_ref().ok().and_then(|line| line.strip_prefix('+')?.parse().ok());
        if let Some(hours) = hours {
            if control.blocking_send(Control::SetClock(SignedDuration::from_hours(hours))).is_err() {
                break;
            }
            continue;
        }
        if let Some(number) = line.as_ref().ok().and_then(|line| line.parse().ok()) {
            if control.blocking_send(Control::Reload(Box::new(config(number)))).is_err() {
                break;
            }
            continue;
        }
        let (sender, counts) = oneshot::channel();
        if line.is_err() || control.blocking_send(Control::Look(sender)).is_err() {
            break;
        }
        let counts = counts.blocking_recv().expect("counts");
        println!("{} {} {} {}", counts.requests, counts.watched, counts.connections, counts.pooled);
    }
    drop(control);
    runs.join().expect("it does not panic").expect("it runs");
    drop(fs::remove_file(store));
}

/// A gateway in another process.
struct Gateway {
    child: Child,
    ask: ChildStdin,
    told: Lines<BufReader<ChildStdout>>,
}

impl Gateway {
    fn line(&mut self) -> io::Result<String> {
        self.told.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
    }

    /// Counts of requests, watched, connections and pooled.
    fn look(&mut self) -> io::Result<Vec<u64>> {
        writeln!(self.ask)?;
        Ok(self.line()?.split(' ').filter_map(|count| count.parse().ok()).collect())
    }

    fn resident_kib(&self) -> io::Result<f64> {
        let pages = fs::read_to_string(format!("/proc/{}/statm", self.child.id()))?;
        Ok(pages.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(0.0) * 4.0)
    }
}

fn load(lasts: Duration) -> io::Result<ExitCode> {
    let server = server()?;
    let mut child = Command::new(env::current_exe()?)
        .args(["gateway", &server.port().to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (ask, told) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let mut gateway = Gateway { child, ask, told: BufReader::new(told).lines() };
    let line = gateway.line()?;
    let (at, admin) = line.split_once(' ').expect("two addresses");
    let (at, admin): (SocketAddr, SocketAddr) = (at.parse().expect("an address"), admin.parse().expect("an address"));

    let (ends, wrong, done) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (ends, wrong, done) = (Arc::clone(&ends), Arc::clone(&wrong), Arc::clone(&done));
            thread::spawn(move || {
                let mut random = Random(number + 1);
                while !ends.load(Relaxed) {
                    if let Err(why) = once(&mut random, at, server) {
                        eprintln!("{why}");
                        wrong.fetch_add(1, Relaxed);
                    }
                    done.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    let (began, mut samples, mut reloads, mut days) = (Instant::now(), Vec::new(), 0, 0);
    println!("{:>6} {:>10} {:>10} requests watched connections pooled", "s", "rss KiB", "exchanges");
    while began.elapsed() < lasts {
        thread::sleep(Duration::from_secs(1).min(lasts));
        samples.push(gateway.resident_kib()?);
        if samples.len() % 5 == 0 {
            writeln!(gateway.ask, "{}", samples.len() / 5)?;
            reloads += 1;
        }
        if samples.len() % 60 == 0 {
            days += 1;
            writeln!(gateway.ask, "+{}", 25 * days)?;
        }
        for path in ["/status.json", "/hour.json", "/history.json?user=127.16.0.1", "/metrics"] {
            if !polled(admin, path) {
                eprintln!("the admin port does not answer {path}");
                wrong.fetch_add(1, Relaxed);
            }
        }
        if samples.len() % 30 == 0 {
            let there = gateway.look()?;
            println!("{:>6} {:>10} {:>10} {there:?}", samples.len(), samples[samples.len() - 1], done.load(Relaxed));
        }
    }
    ends.store(true, Relaxed);
    clients.into_iter().for_each(|client| client.join().expect("a client does not panic"));
    let until = Instant::now() + LONG;
    let mut there = gateway.look()?;
    while there[..3] != [0, 0, 0] && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
        there = gateway.look()?;
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let third = samples.len() / 3;
    let (first, middle, last) =
        (mean(&samples[..third]), mean(&samples[third..2 * third]), mean(&samples[2 * third..]));
    let (done, wrong) = (done.load(Relaxed), wrong.load(Relaxed));
    println!(
        "{done} exchanges, {wrong} wrong, {reloads} reloads, {days} days; at the end {there:?}; {first:.0} KiB in the first third, {middle:.0} in \
         the middle one, {last:.0} in the last"
    );
    drop(gateway.ask);
    let is_ended = gateway.child.wait()?.success();
    let is_fine = is_ended && wrong == 0 && there[..3] == [0, 0, 0] && last <= middle * 1.05;
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the admin port answers.
fn polled(admin: SocketAddr, path: &str) -> bool {
    let ask = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(admin)?;
        stream.set_read_timeout(Some(LONG))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200"))
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % most
    }
}

/// A client that connects, does something and disconnects.
fn once(random: &mut Random, gateway: SocketAddr, server: SocketAddr) -> Result<(), String> {
    let from = Ipv4Addr::new(127, 16 + random.below(16) as u8, random.below(256) as u8, 1 + random.below(254) as u8);
    let length = 1 << random.below(18);
    let fails = |why: io::Error| format!("{from}: {why}");
    let mut stream = connect(from, gateway).map_err(fails)?;
    let request = |method: &str, path: &str, more: &str| {
        format!("{method} http://{server}/{path} HTTP/1.1\r\nHost: x\r\n{more}\r\n")
    };
    let close = "Connection: close\r\n";
    let (text, expected) = match random.below(12) {
        0..=3 => (request("GET", &length.to_string(), close), Some(length)),
        4 => {
            for _ in 0..4 {
                stream.write_all(request("HEAD", "0", "").as_bytes()).map_err(fails)?;
                head(&mut stream).map_err(fails)?;
            }
            (request("GET", &length.to_string(), close), Some(length))
        }
        5 => {
            let head = request("POST", "100", &format!("{close}Content-Length: {length}\r\n"));
            (head + &"x".repeat(length), Some(100))
        }
        6 => {
            let connect = format!("CONNECT {server} HTTP/1.1\r\nHost: x\r\n\r\n");
            stream.write_all(connect.as_bytes()).map_err(fails)?;
            head(&mut stream).map_err(fails)?;
            (format!("GET /{length} HTTP/1.1\r\nHost: x\r\n\r\n"), None)
        }
        7 => (request("GET", "1000000", ""), None),
        8 => (request("GET", ["die", "reset", "hang"][random.below(3) as usize], close), None),
        9 => (request("POST", "100", "Content-Length: 1000\r\n") + "abc", None),
        10 => ("GET nonsense\r\n\r\n".into(), None),
        _ => (request("GET", "0", close).replace(&server.to_string(), "10.0.0.1"), None),
    };
    stream.write_all(text.as_bytes()).map_err(fails)?;
    let Some(expected) = expected else {
        // Reads a little of it and disconnects, or disconnects at once.
        if random.below(2) == 0 {
            drop(stream.read(&mut [0; 1000]));
        }
        return Ok(());
    };
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(fails)?;
    let body = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(0, |end| answer.len() - end - 4);
    let is_fine = answer.starts_with(b"HTTP/1.1 200") && body == expected;
    if is_fine {
        Ok(())
    } else {
        Err(format!("{from}: {body} bytes of {expected}: {:.60?}", String::from_utf8_lossy(&answer)))
    }
}

fn connect(from: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(from.into(), 0).into())?;
    socket.connect(&to.into())?;
    socket.set_read_timeout(Some(LONG))?;
    socket.set_write_timeout(Some(LONG))?;
    Ok(socket.into())
}

/// Reads exactly a header.
fn head(stream: &mut TcpStream) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(())
}

/// A server whose answers are as long as the path says, are aborted, or never come.
fn server() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || drop(answer(stream)));
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    while let Ok(Some(message)) = strict::request(&mut stream) {
        match &message.target[1..] {
            "hang" => drop(stream.read(&mut [0])?),
            "reset" => return SockRef::from(&stream).set_linger(Some(Duration::ZERO)),
            "die" => return stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc"),
            length => {
                let length: usize = length.parse().unwrap_or(0);
                let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
                answer.resize(answer.len() + length, b'x');
                stream.write_all(&answer)?;
            }
        }
    }
    Ok(())
}
