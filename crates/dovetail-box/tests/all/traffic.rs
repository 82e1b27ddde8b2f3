//! Numbered frames of many flows from one side of a lab to the other, and what became of them.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, Raw, datagram};

use crate::live::FAR;

/// Between two frames, at least: they never catch up in a burst.
const PAUSE: Duration = Duration::from_micros(100);
/// Nothing comes any more.
const QUIET: Duration = Duration::from_secs(1);
/// How long anything may take that has to happen, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Frames that are sent until this is ended.
pub struct Traffic {
    flows: u16,
    stop: Arc<AtomicBool>,
    quit: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    heard: Arc<Mutex<Vec<(u64, Instant)>>>,
    threads: [JoinHandle<()>; 2],
}

impl Traffic {
    /// Frames of this length, of so many flows in turn, from one side, which is the inside or the outside.
    pub fn start(lab: &Lab, from: Place, flows: u16, bytes: usize) -> Self {
        let to = if from == Place::Inside { Place::Outside } else { Place::Inside };
        let (source, mut target) = (lab.raw(from).unwrap(), lab.raw(to).unwrap());
        let [stop, quit] = [false, false].map(|flag| Arc::new(AtomicBool::new(flag)));
        let (sent, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let hears = thread::spawn({
            let (quit, heard) = (quit.clone(), heard.clone());
            move || {
                while !quit.load(Relaxed) {
                    take(&mut target, &heard);
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let sends = thread::spawn({
            let (stop, sent) = (stop.clone(), sent.clone());
            move || {
                while !stop.load(Relaxed) {
                    let number = sent.load(Relaxed);
                    let frame = datagram::frame(from, (number % u64::from(flows)) as u16, number, bytes);
                    if source.send(std::iter::once(&*frame)).unwrap() == 1 {
                        sent.store(number + 1, Relaxed);
                    }
                    thread::sleep(PAUSE);
                }
            }
        });
        Self { flows, stop, quit, sent, heard, threads: [sends, hears] }
    }

    /// Both ways.
    pub fn both_ways(lab: &Lab) -> [Self; 2] {
        [Place::Inside, Place::Outside].map(|from| Self::start(lab, from, 7, 200))
    }

    /// How many have arrived.
    pub fn heard(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// Waits until so many more have arrived.
    pub fn go_on(&self, more: usize) {
        let (from, asked) = (self.heard(), Instant::now());
        while self.heard() < from + more {
            assert!(asked.elapsed() < PATIENCE, "{} of {more} frames arrived", self.heard() - from);
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
        Record { flows: self.flows, sent, heard }
    }
}

fn take(target: &mut Raw, heard: &Mutex<Vec<(u64, Instant)>>) {
    while let Some(frame) = target.receive() {
        if let Some(number) = datagram::number(frame) {
            heard.lock().unwrap().push((number, Instant::now()));
        }
    }
}

/// What arrived, in the order in which it did.
#[derive(Debug)]
pub struct Record {
    flows: u16,
    pub sent: u64,
    heard: Vec<(u64, Instant)>,
}

impl Record {
    pub fn new(flows: u16, sent: u64, heard: Vec<(u64, Instant)>) -> Self {
        Self { flows, sent, heard }
    }

    /// How many did not arrive.
    pub fn lost(&self) -> usize {
        self.count().iter().filter(|&&times| times == 0).count()
    }

    /// How many arrived more than once.
    pub fn duplicated(&self) -> usize {
        self.count().iter().filter(|&&times| times > 1).count()
    }

    /// How many arrived after a later one of their flow.
    pub fn reordered(&self) -> usize {
        let mut highest = vec![None; usize::from(self.flows)];
        let mut late = 0;
        for &(number, _) in &self.heard {
            let highest = &mut highest[(number % u64::from(self.flows)) as usize];
            late += usize::from(highest.is_some_and(|highest| number < highest));
            *highest = (*highest).max(Some(number));
        }
        late
    }

    /// The longest time without an arrival, from this time on.
    pub fn longest_silence(&self, from: Instant) -> Duration {
        let times = self.heard.windows(2).filter(|pair| pair[1].1 > from).map(|pair| pair[1].1 - pair[0].1);
        times.max().unwrap_or_default()
    }

    fn count(&self) -> Vec<u32> {
        let mut times = vec![0; self.sent as usize];
        for (number, _) in &self.heard {
            times[*number as usize] += 1;
        }
        times
    }
}

/// So many bytes go from the inside to the outside by TCP, and come back as they were.
pub fn echo(lab: &Lab, bytes: usize) {
    let listener = lab.namespace(Place::Outside).within(|| TcpListener::bind((FAR, 80))).unwrap();
    let answers = thread::spawn(move || {
        let (mut stream, _) = listener.accept()?;
        let mut got = vec![0; bytes];
        stream.read_exact(&mut got)?;
        stream.write_all(&got)
    });
    let connect = || TcpStream::connect_timeout(&(FAR, 80).into(), PATIENCE);
    let mut stream = lab.namespace(Place::Inside).within(connect).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let sent: Vec<u8> = (0..bytes as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    stream.write_all(&sent).unwrap();
    let mut back = vec![0; bytes];
    stream.read_exact(&mut back).unwrap();
    answers.join().unwrap().unwrap();
    assert!(back == sent);
}
