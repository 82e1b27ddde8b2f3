//! Numbered packets from one side to the other, and their outcome.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// Minimum interval between two packets: they never catch up in a burst.
const PAUSE: Duration = Duration::from_micros(100);
/// No more packets arrive after this time.
const QUIET: Duration = Duration::from_secs(2);
/// Timeout for anything that has to happen, on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Sends numbers from 0 on, of this many flows in turn, until ended.
pub struct Stream {
    flows: u16,
    stop: Arc<AtomicBool>,
    quit: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    heard: Arc<Mutex<Vec<(u64, Instant)>>>,
    threads: [JoinHandle<()>; 2],
}

impl Stream {
    /// `send` returns whether a number left; `hear` returns the next number received, or `None` after a moment.
    pub fn start(
        flows: u16,
        mut send: impl FnMut(u64) -> bool + Send + 'static,
        mut hear: impl FnMut() -> Option<u64> + Send + 'static,
    ) -> Self {
        let [stop, quit] = [false, false].map(|flag| Arc::new(AtomicBool::new(flag)));
        let (sent, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Vec::new())));
        let hears = thread::spawn({
            let (quit, heard) = (Arc::clone(&quit), Arc::clone(&heard));
            move || {
                while !quit.load(Relaxed) {
                    if let Some(number) = hear() {
                        heard.lock().unwrap().push((number, Instant::now()));
                    }
                }
            }
        });
        let sends = thread::spawn({
            let (stop, sent) = (Arc::clone(&stop), Arc::clone(&sent));
            move || {
                while !stop.load(Relaxed) {
                    let number = sent.load(Relaxed);
                    if send(number) {
                        sent.store(number + 1, Relaxed);
                    }
                    thread::sleep(PAUSE);
                }
            }
        });
        Self { flows, stop, quit, sent, heard, threads: [sends, hears] }
    }

    /// Number of arrivals.
    pub fn heard(&self) -> usize {
        self.heard.lock().unwrap().len()
    }

    /// Waits for this many more arrivals.
    pub fn go_on(&self, more: usize) {
        let (from, asked) = (self.heard(), Instant::now());
        while self.heard() < from + more {
            assert!(asked.elapsed() < PATIENCE, "{} of {more} packets arrived", self.heard() - from);
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until this many more have been sent.
    pub fn send_on(&self, more: u64) {
        let until = self.sent.load(Relaxed) + more;
        while self.sent.load(Relaxed) < until {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops sending and waits for the remaining packets.
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
        // Duplicates arrive soon after.
        thread::sleep(Duration::from_millis(100));
        self.quit.store(true, Relaxed);
        hears.join().unwrap();
        let heard = std::mem::take(&mut *self.heard.lock().unwrap());
        Record { flows: self.flows, sent, heard }
    }
}

/// The arrivals, in order.
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

    /// Number of packets that did not arrive.
    pub fn lost(&self) -> usize {
        self.count().iter().filter(|&&times| times == 0).count()
    }

    /// Number of packets that arrived more than once.
    pub fn duplicated(&self) -> usize {
        self.count().iter().filter(|&&times| times > 1).count()
    }

    /// Number of packets that arrived after a later one of their flow.
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

/// Waits for this many more arrivals in each direction.
pub fn go_on(streams: &[Stream; 2], more: usize) {
    streams.iter().for_each(|stream| stream.go_on(more));
}

/// Prints the cost of a failure, which depends on the machine.
pub fn report(what: &str, from: Instant, records: &[Record; 2]) {
    for (record, way) in records.iter().zip(["out", "in"]) {
        let silence = record.longest_silence(from);
        println!(
            "{what}, {way}: {} of {} lost, {} late, silent for {silence:.1?}",
            record.lost(),
            record.sent,
            record.reordered()
        );
    }
}
