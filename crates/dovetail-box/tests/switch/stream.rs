//! Numbered datagrams from one side of a lab to the other, and what became of them.

use std::{
    io::ErrorKind,
    net::UdpSocket,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{HOST_INTERFACE, Lab, Place};
use dovetail_netns::tool;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

const PORT: u16 = 5005;
/// Between two datagrams, at least: they never catch up in a burst.
const PAUSE: Duration = Duration::from_micros(100);
/// Nothing comes any more.
const QUIET: Duration = Duration::from_secs(2);
/// How long anything may take that has to happen, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has hosts know each other's Ethernet addresses for good: a question about them may be lost.
pub fn introduce(lab: &Lab) {
    let sides =
        [(Place::Inside, Place::Outside, lab.spec().outside[0]), (Place::Outside, Place::Inside, lab.spec().inside[0])];
    for (here, there, address) in sides {
        let of = format!("-n {} -br link show {HOST_INTERFACE}", lab.namespace(there).name());
        let shown = String::from_utf8(tool("ip", &of).unwrap()).unwrap();
        let ethernet = shown.split_whitespace().nth(2).unwrap();
        let name = lab.namespace(here).name();
        let known = format!("-n {name} neigh replace {address} lladdr {ethernet} dev {HOST_INTERFACE} nud permanent");
        tool("ip", &known).unwrap();
    }
}

/// A stream that runs until it is ended.
pub struct Stream {
    stop: Arc<AtomicBool>,
    quit: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    heard: Arc<Mutex<Vec<(u64, Instant)>>>,
    threads: [JoinHandle<()>; 2],
}

impl Stream {
    /// Starts sending from one side, which is the inside or the outside, to the other.
    pub fn start(lab: &Lab, from: Place) -> Self {
        let spec = lab.spec();
        let (to, source, target) = match from {
            Place::Inside => (Place::Outside, spec.inside[0], spec.outside[0]),
            _ => (Place::Inside, spec.outside[0], spec.inside[0]),
        };
        let receiver = lab.namespace(to).within(|| UdpSocket::bind((target, PORT))).unwrap();
        // Room for all that a test sends, so that nothing is lost here.
        set_socket_recv_buffer_size_force(&receiver, 256 << 20).unwrap();
        receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let sender = lab.namespace(from).within(|| UdpSocket::bind((source, 0))).unwrap();
        sender.connect((target, PORT)).unwrap();

        let [stop, quit] = [false, false].map(|flag| Arc::new(AtomicBool::new(flag)));
        let (sent, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let hears = thread::spawn({
            let (quit, heard) = (Arc::clone(&quit), Arc::clone(&heard));
            move || {
                let mut datagram = [0; 8];
                while !quit.load(Relaxed) {
                    match receiver.recv(&mut datagram) {
                        Ok(8) => heard.lock().unwrap().push((u64::from_be_bytes(datagram), Instant::now())),
                        Ok(bytes) => panic!("a datagram of {bytes} bytes"),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        });
        let sends = thread::spawn({
            let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
            move || {
                while !stop.load(Relaxed) {
                    let number = sent.load(Relaxed);
                    // The port answers that nothing listens while namespaces go.
                    sender.send(&number.to_be_bytes()).unwrap();
                    sent.store(number + 1, Relaxed);
                    thread::sleep(PAUSE);
                }
            }
        });
        Self { stop, quit, sent, heard, threads: [sends, hears] }
    }

    /// How many have arrived.
    pub fn heard(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// Waits until so many more have arrived.
    pub fn go_on(&self, more: usize) {
        let (from, asked) = (self.heard(), Instant::now());
        while self.heard() < from + more {
            assert!(asked.elapsed() < PATIENCE, "{} of {more} datagrams arrived", self.heard() - from);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until so many more have been sent.
    pub fn send_on(&self, more: u64) {
        let until = self.sent.load(Relaxed) + more;
        while self.sent.load(Relaxed) < until {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops sending and waits for the rest.
    pub fn end(self) -> Record {
        self.stop.store(true, Relaxed);
        let [sends, hears] = self.threads;
        sends.join().unwrap();
        let sent = self.sent.load(Relaxed);
        let (mut seen, mut last) = (0, Instant::now());
        while last.elapsed() < QUIET && seen < sent as usize {
            let now = self.heard.lock().unwrap().len();
            if now > seen {
                (seen, last) = (now, Instant::now());
            }
            thread::sleep(Duration::from_millis(10));
        }
        // What is there twice comes soon after.
        thread::sleep(Duration::from_millis(100));
        self.quit.store(true, Relaxed);
        hears.join().unwrap();
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        Record { sent, heard }
    }
}

/// What arrived, in the order in which it did.
pub struct Record {
    sent: u64,
    heard: Vec<(u64, Instant)>,
}

impl Record {
    /// How many did not arrive.
    pub fn lost(&self) -> usize {
        self.count().iter().filter(|&&times| times == 0).count()
    }

    /// How many arrived more than once.
    pub fn duplicated(&self) -> usize {
        self.count().iter().filter(|&&times| times > 1).count()
    }

    /// How many arrived after a later one.
    pub fn reordered(&self) -> usize {
        let mut highest = None;
        let late = |&&(number, _): &&(u64, Instant)| {
            let is_late = highest.is_some_and(|highest| number < highest);
            highest = highest.max(Some(number));
            is_late
        };
        self.heard.iter().filter(late).count()
    }

    /// The longest time without an arrival, from this time on.
    pub fn longest_silence(&self, from: Instant) -> Duration {
        let times = self.heard.windows(2).filter(|pair| pair[1].1 > from).map(|pair| pair[1].1 - pair[0].1);
        times.max().unwrap_or_default()
    }

    pub fn arrivals(&self) -> usize {
        self.heard.len()
    }

    fn count(&self) -> Vec<u32> {
        let mut times = vec![0; self.sent as usize];
        for (number, _) in &self.heard {
            times[*number as usize] += 1;
        }
        times
    }
}
