//! Memory use under hostile load, with each gateway in a process of its own whose memory is measured. Figures are printed:
//!
//! ```console
//! $ cargo test --release -p dovetail-gateway --test hostile memory -- --nocapture --test-threads 1
//! ```

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{self, Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    answer::answer,
    server::{Server, canned, strict_server},
    strict,
    support::{LONG, Setup, connect_from, get},
};

/// The configuration of a gateway in a process of its own, beyond the common one.
const GATEWAY: &str = "DOVETAIL_TEST_MEMORY";
/// Duration of an attack.
const ATTACK: Duration = Duration::from_secs(4);
/// Number of concurrent attackers.
const CONNECTIONS: usize = 10;

/// A gateway that prints its address, and its counts for each line of input.
#[test]
fn the_gateway() {
    let Ok(rest) = env::var(GATEWAY) else { return };
    let gateway = Setup::rest(&rest).start();
    println!("\nat {}", gateway.address);
    for line in io::stdin().lines() {
        line.unwrap();
        let counts = gateway.look();
        println!("\nthere {} {} {}", counts.requests, counts.watched, counts.connections);
    }
}

/// A gateway in a process of its own, and its memory.
struct Apart {
    child: Child,
    ask: ChildStdin,
    told: BufReader<ChildStdout>,
    at: SocketAddr,
}

impl Apart {
    fn start(rest: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "memory::the_gateway", "--nocapture"])
            .env(GATEWAY, rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (ask, told) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut apart = Self { child, ask, told, at: ([127, 0, 0, 1], 0).into() };
        apart.at = apart.line("at ").parse().unwrap();
        apart
    }

    /// The rest of the next line with this prefix.
    fn line(&mut self, begins: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.told.read_line(&mut line).unwrap(), 0, "the gateway is gone");
            if let Some(rest) = line.trim_end().strip_prefix(begins) {
                return rest.to_owned();
            }
        }
    }

    /// Counts of requests, watched entries and connections.
    fn counts(&mut self) -> [usize; 3] {
        writeln!(self.ask).unwrap();
        let line = self.line("there ");
        let counts: Vec<_> = line.split(' ').map(|count| count.parse().unwrap()).collect();
        counts.try_into().unwrap()
    }

    fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    /// The maximum memory while this runs, relative to before.
    fn most_during<T: Send>(&self, work: impl FnOnce() -> T + Send) -> (u64, T) {
        let before = self.resident_bytes();
        thread::scope(|scope| {
            let work = scope.spawn(work);
            let mut most = before;
            while !work.is_finished() {
                most = most.max(self.resident_bytes());
                thread::sleep(Duration::from_millis(10));
            }
            (most - before, work.join().unwrap())
        })
    }

    /// Checks that it serves others, and that nothing is left.
    fn serves_and_is_quiet(&mut self) {
        let server = strict_server();
        let mut stream = connect_from([127, 0, 9, 9], self.at);
        stream.write_all(get(&server.url("/after")).as_bytes()).unwrap();
        assert_eq!(answer(&mut stream).status, 200);
        drop(stream);
        let began = Instant::now();
        while self.counts() != [0; 3] {
            assert!(began.elapsed() < 6 * LONG, "something is left: {:?}", self.counts());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether this process, and those that it starts, may open this many files.
fn may_open(files: usize) -> bool {
    let set = |limits: String| {
        let to = [format!("--pid={}", process::id()), format!("--nofile={limits}")];
        Command::new("prlimit").args(to).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    // The hard limit is left as it is if that suffices.
    set(format!("{files}:")) || set(format!("{files}:{files}"))
}

/// An HTTP/2 frame (RFC 9113, section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A client's preface, with maximum windows.
fn preface() -> Vec<u8> {
    let longest: u32 = (1 << 31) - 1;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let window = [&[0, 4][..], &longest.to_be_bytes()].concat();
    bytes.extend(frame(SETTINGS, 0, 0, &window));
    bytes.extend(frame(WINDOW_UPDATE, 0, 0, &(longest - 65_535).to_be_bytes()));
    bytes
}

/// Fields of a GET (RFC 7541): indexed, except the authority.
fn fields(authority: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x84, 0x01, u8::try_from(authority.len()).unwrap()];
    block.extend_from_slice(authority.as_bytes());
    block
}

/// Attackers who reconnect whenever they are disconnected. Returns the sum over all of them.
fn attack(at: SocketAddr, one: impl Fn(TcpStream, Instant) -> u64 + Sync) -> (u64, u64) {
    let ends = Instant::now() + ATTACK;
    let of_one = |number: usize| {
        let (mut done, mut connections) = (0, 0);
        while Instant::now() < ends {
            done += one(connect_from([127, 0, 2, number as u8 + 1], at), ends);
            connections += 1;
        }
        (done, connections)
    };
    let all = thread::scope(|scope| {
        let of_one = &of_one;
        let begun: Vec<_> = (0..CONNECTIONS).map(|number| scope.spawn(move || of_one(number))).collect();
        begun.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
    });
    (all.iter().map(|(done, _)| done).sum(), all.iter().map(|(_, connections)| connections).sum())
}

/// Reads and discards.
fn swallow(stream: &TcpStream) {
    let mut stream = stream.try_clone().unwrap();
    thread::spawn(move || drop(io::copy(&mut stream, &mut io::sink())));
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[test]
fn rapid_resets_take_little() {
    let server = canned("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false);
    let authority = server.url("/").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let block = fields(&authority);
    let mut gateway = Apart::start("");
    let at = gateway.at;
    let (most, (resets, connections)) = gateway.most_during(|| {
        attack(at, |mut stream, ends| {
            swallow(&stream);
            let (mut id, mut resets) = (1_u32, 0);
            let mut bytes = preface();
            while Instant::now() < ends && id < 1 << 30 {
                for _ in 0..100 {
                    bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, id, &block));
                    bytes.extend(frame(RST_STREAM, 0, id, &8_u32.to_be_bytes()));
                    id += 2;
                }
                if stream.write_all(&bytes).is_err() {
                    break;
                }
                resets += 100;
                bytes.clear();
            }
            resets
        })
    });
    println!(
        "rapid reset: {resets} streams opened and reset over {connections} connections: {:.1} MB at most",
        mb(most)
    );
    assert!(resets > 1000, "{resets}");
    assert!(most < 32_000_000, "{most}");
    gateway.serves_and_is_quiet();
}

#[test]
fn headers_that_go_on_and_on_take_little() {
    for (name, piece) in [("16 kB each", vec![0; 16_384]), ("empty", Vec::new())] {
        let mut gateway = Apart::start("");
        let at = gateway.at;
        let (most, (sent, connections)) = gateway.most_during(|| {
            attack(at, |mut stream, ends| {
                swallow(&stream);
                let mut bytes = preface();
                bytes.extend(frame(HEADERS, END_STREAM, 1, &fields("x")));
                let mut sent = 0;
                while stream.write_all(&bytes).is_ok() && Instant::now() < ends {
                    bytes.clear();
                    for _ in 0..16 {
                        bytes.extend(frame(CONTINUATION, 0, 1, &piece));
                    }
                    sent += 16;
                }
                sent
            })
        });
        println!("CONTINUATION, {name}: {sent} frames sent over {connections} connections: {:.1} MB at most", mb(most));
        assert!(sent > 100, "{sent}");
        assert!(most < 32_000_000, "{most}");
        gateway.serves_and_is_quiet();
    }
}

/// Sends for as long as it is read.
fn endless() -> Server<()> {
    Server::start(|mut connection| {
        drop(strict::request(&mut connection.stream));
        connection.stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n";
        drop(connection.stream.write_all(head.as_bytes()));
        while connection.stream.write_all(&[b'x'; 65_536]).is_ok() {}
        connection.tell(());
    })
}

#[test]
fn a_thousand_responses_that_nobody_reads_take_little() {
    const STREAMS: u32 = 100;
    if !may_open(20_000) {
        return dovetail_skip::skipped("this process may not open so many files");
    }
    let server = endless();
    let authority = server.url("/").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let block = fields(&authority);
    let mut gateway = Apart::start("");
    let at = gateway.at;
    let (most, kept) = gateway.most_during(|| {
        let connect = |number: usize| {
            let mut stream = connect_from([127, 0, 2, number as u8 + 1], at);
            let mut bytes = preface();
            for stream in 0..STREAMS {
                bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, 2 * stream + 1, &block));
            }
            stream.write_all(&bytes).unwrap();
            stream
        };
        let kept: Vec<_> = (0..CONNECTIONS).map(connect).collect();
        thread::sleep(2 * ATTACK);
        kept
    });
    let each = mb(most) / (CONNECTIONS as f64 * f64::from(STREAMS)) * 1e3;
    println!(
        "slow readers: {CONNECTIONS} connections of {STREAMS} streams of fast servers: {:.1} MB at most, {each:.1} kB a stream",
        mb(most)
    );
    let [requests, ..] = gateway.counts();
    assert!(requests >= CONNECTIONS * STREAMS as usize / 2, "{requests} requests: they were not there");
    assert!(most < 128_000_000, "{most}");
    drop(kept);
    gateway.serves_and_is_quiet();
}

#[test]
fn twenty_thousand_idle_connections_take_little() {
    // As many as this machine permits: the gateway needs a file for each one's server too.
    let Some(idle) = [20_000, 9_500].into_iter().find(|idle| may_open(2 * idle + 500)) else {
        return dovetail_skip::skipped("this process may not open so many files");
    };
    if idle < 20_000 {
        dovetail_skip::skipped(format_args!("20,000 connections: the limit of open files permits {idle}"));
    }
    let mut gateway = Apart::start(&format!("[limits]\nconnections = {}\nconnections_per_user = {idle}", idle + 50));
    let before = gateway.resident_bytes();
    let clients: Vec<_> = (0..idle).map(|n| connect_from([127, 0, 1, (n % 250) as u8 + 1], gateway.at)).collect();
    let began = Instant::now();
    while gateway.counts()[2] < idle {
        assert!(began.elapsed() < 6 * LONG, "{:?}", gateway.counts());
        thread::sleep(Duration::from_millis(50));
    }
    let most = gateway.resident_bytes().saturating_sub(before);
    println!("idle: {idle} connections: {:.1} MB, {} bytes each", mb(most), most / idle as u64);
    assert!(most < 8_000 * idle as u64, "{most}");
    // Others are served meanwhile.
    let server = strict_server();
    let mut stream = connect_from([127, 0, 9, 9], gateway.at);
    stream.write_all(get(&server.url("/meanwhile")).as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    drop(clients);
    gateway.serves_and_is_quiet();
}
