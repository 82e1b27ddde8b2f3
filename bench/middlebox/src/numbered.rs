//! Numbered packets in both directions through a lab, and their outcome.
//!
//! One thread sends and receives on the source's core, so that an arrival is noticed within microseconds. The longest time
//! for which the thread itself was kept from running is recorded as well: such a gap is not caused by the box.

use std::{
    io,
    time::{Duration, Instant},
};

use dovetail_box::live::lab::{Lab, Place, Raw, datagram};

use crate::{
    cores::{SOURCE_CORE, stay_on},
    subject::Failed,
};

/// How long to wait for packets after the last one was sent, including duplicates.
const PATIENCE: Duration = Duration::from_millis(500);
/// Maximum burst, after the thread was kept from running.
const BURST: u64 = 32;

/// Description of the traffic.
#[derive(Debug, Clone, Copy)]
pub struct Traffic {
    /// Flows per direction.
    pub flows: u16,
    /// Packets per second in each direction.
    pub per_s: f64,
    pub bytes: usize,
}

/// The action of one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Send packets.
    Send,
    /// Send packets, and record the longest gap between arrivals.
    Listen,
    /// Stop sending.
    End,
}

/// Outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Records of the packets outbound and inbound.
    pub ways: [Record; 2],
    /// The longest time for which the sending and receiving thread was kept from running, since gaps were recorded.
    pub source_away: Duration,
}

/// Outcome of the packets of one direction.
#[derive(Debug)]
pub struct Record {
    pub sent: u64,
    /// Packets that arrived after a later one of their flow.
    pub reordered: u64,
    /// The longest time without an arrival, since gaps were recorded.
    pub silence: Duration,
    heard: Vec<u8>,
    /// One more than the highest number seen of each flow.
    highest: Vec<u64>,
    last: Instant,
}

/// One direction.
struct Way {
    from: Place,
    source: Raw,
    target: Raw,
    /// Packets that were due but are not sent any more.
    left_out: u64,
    record: Record,
}

impl Traffic {
    /// Sends until `turn`, which is called repeatedly with the elapsed time, returns the end.
    ///
    /// # Errors
    /// The system's errors, and those of `turn`.
    pub fn run(self, lab: &Lab, mut turn: impl FnMut(Duration) -> Result<Turn, Failed>) -> Result<Outcome, Failed> {
        stay_on(SOURCE_CORE)?;
        let way = |from, to| -> io::Result<Way> {
            let (source, target) = (lab.raw(from)?, lab.raw(to)?);
            Ok(Way { from, source, target, left_out: 0, record: Record::new(self.flows) })
        };
        let mut ways = [way(Place::Inside, Place::Outside)?, way(Place::Outside, Place::Inside)?];
        let (begun, mut before, mut source_away) = (Instant::now(), Instant::now(), Duration::ZERO);
        let mut ended = None;
        loop {
            let now = Instant::now();
            let elapsed = now - begun;
            let turn = if ended.is_some() { Turn::End } else { turn(elapsed)? };
            let listens = turn == Turn::Listen;
            if listens {
                source_away = source_away.max(now - before);
            }
            before = now;
            for way in &mut ways {
                way.receive(listens);
            }
            if turn != Turn::End {
                let due = (elapsed.as_secs_f64() * self.per_s) as u64;
                ways.iter_mut().try_for_each(|way| way.send(due, self))?;
            } else if now > *ended.get_or_insert(now) + PATIENCE {
                return Ok(Outcome { ways: ways.map(|way| way.record), source_away });
            }
        }
    }
}

impl Way {
    fn send(&mut self, due: u64, Traffic { flows, bytes, .. }: Traffic) -> io::Result<()> {
        let sent = &mut self.record.sent;
        self.left_out = self.left_out.max(due.saturating_sub(*sent + BURST));
        while *sent + self.left_out < due {
            let frame = datagram::frame(self.from, (*sent % u64::from(flows)) as u16, *sent, bytes);
            if self.source.send(std::iter::once(&*frame))? == 0 {
                break;
            }
            *sent += 1;
        }
        Ok(())
    }

    fn receive(&mut self, listens: bool) {
        let mut had_any = false;
        while let Some(frame) = self.target.receive() {
            if let Some(number) = datagram::number(frame) {
                self.record.note(number);
                had_any = true;
            }
        }
        let (now, record) = (Instant::now(), &mut self.record);
        if listens {
            record.silence = record.silence.max(now - record.last);
        }
        if had_any || !listens {
            record.last = now;
        }
    }
}

impl Record {
    fn new(flows: u16) -> Self {
        let highest = vec![0; flows.into()];
        Self { sent: 0, reordered: 0, silence: Duration::ZERO, heard: Vec::new(), highest, last: Instant::now() }
    }

    fn note(&mut self, number: u64) {
        let (at, flow) = (number as usize, (number % self.highest.len() as u64) as usize);
        if self.heard.len() <= at {
            self.heard.resize(at + 1, 0);
        }
        self.heard[at] = self.heard[at].saturating_add(1);
        let highest = &mut self.highest[flow];
        self.reordered += u64::from(number + 1 < *highest);
        *highest = (*highest).max(number + 1);
    }

    pub fn lost(&self) -> u64 {
        self.sent - self.heard.iter().filter(|&&times| times > 0).count() as u64
    }

    pub fn duplicated(&self) -> u64 {
        self.heard.iter().filter(|&&times| times > 1).count() as u64
    }
}
