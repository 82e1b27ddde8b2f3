//! A bottleneck between senders and receivers: a rate, a first-in-first-out buffer, a delay, and what it does to packets.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Connection, Ecn, Segment};

/// What is written is unlimited.
pub const UNLIMITED: u64 = u64::MAX / 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin(usize),
    Sent,
    AtReceiver(usize),
    AtSender(usize),
    Wake(usize, bool),
}

/// A flow of so many bytes that begins at a time.
#[derive(Debug, Clone)]
pub struct Flow {
    pub begins: Nanos,
    pub bytes: u64,
    pub config: Config,
}

/// What became of a flow.
#[derive(Debug, Clone, Default)]
pub struct Got {
    /// Bytes in each tenth of a second.
    pub tenths: Vec<u64>,
    pub ended: Option<Nanos>,
    pub dropped: u64,
    pub counts: Option<dovetail_tcp::Counts>,
}

/// A path: a rate with a buffer before it, and a delay on each way.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub bits_per_s: u64,
    pub delay: Nanos,
    /// Including the packet that is being sent.
    pub buffer_packets: usize,
    /// Packets that join a queue longer than this are marked, if they may be.
    pub mark_above: usize,
    /// How many packets the link sends at once after a pause, as a token bucket does.
    pub bucket_bytes: u64,
}

/// Sends the flows over the path until `until`.
pub fn run(path: &Path, flows: &[Flow], until: Nanos) -> Vec<Got> {
    let mut ends: Vec<[Connection; 2]> = flows
        .iter()
        .enumerate()
        .map(|(at, flow)| {
            let number = 1_000_003 * at as u32;
            [Connection::open(&flow.config, number), Connection::listen(&flow.config, !number)]
        })
        .collect();
    let mut left: Vec<u64> = flows.iter().map(|flow| flow.bytes).collect();
    let mut got: Vec<Got> = flows.iter().map(|_| Got::default()).collect();
    let mut read = vec![0; flows.len()];
    let mut heap = BinaryHeap::new();
    let mut order = 0u64;
    let mut queue: VecDeque<(usize, Segment)> = VecDeque::new();
    let mut sending = None::<(usize, Segment)>;
    let mut packets: Vec<Option<Segment>> = Vec::new();
    let mut owner: Vec<usize> = Vec::new();
    let mut add = |heap: &mut BinaryHeap<_>, at: Nanos, event: Event| {
        heap.push(Reverse((at, order, event)));
        order += 1;
    };
    for (at, flow) in flows.iter().enumerate() {
        add(&mut heap, flow.begins, Event::Begin(at));
    }
    let mut tokens = path.bucket_bytes;
    let mut filled_at = Nanos::ZERO;
    while let Some(Reverse((now, _, event))) = heap.pop() {
        if now >= until {
            break;
        }
        let mut turn = None;
        match event {
            Event::Begin(at) => turn = Some((at, true)),
            Event::Wake(at, is_sender) => turn = Some((at, is_sender)),
            Event::AtReceiver(packet) => {
                let segment = packets[packet].take().unwrap();
                ends[owner[packet]][1].receive(&segment, now);
                turn = Some((owner[packet], false));
            }
            Event::AtSender(packet) => {
                let segment = packets[packet].take().unwrap();
                ends[owner[packet]][0].receive(&segment, now);
                turn = Some((owner[packet], true));
            }
            Event::Sent => {
                let (at, segment) = sending.take().unwrap();
                packets.push(Some(segment));
                owner.push(at);
                add(&mut heap, now + path.delay, Event::AtReceiver(packets.len() - 1));
            }
        }
        if let Some((at, is_sender)) = turn {
            let end = &mut ends[at][usize::from(!is_sender)];
            if is_sender {
                left[at] -= end.write(left[at]);
                if left[at] == 0 {
                    end.close();
                }
            } else {
                let bytes = end.read(u64::MAX);
                let tenth = (now.0 / 100_000_000) as usize;
                let tenths = &mut got[at].tenths;
                tenths.resize(tenths.len().max(tenth + 1), 0);
                tenths[tenth] += bytes;
                read[at] += bytes;
                if read[at] == flows[at].bytes {
                    got[at].ended.get_or_insert(now);
                    end.close();
                }
            }
            while let Some(mut segment) = end.poll_transmit(now) {
                if is_sender {
                    let held = queue.len() + usize::from(sending.is_some());
                    if held >= path.buffer_packets {
                        got[at].dropped += 1;
                        if std::env::var_os("TRACE").is_some() { println!("drop {:.3} cwnd {} counts {:?}", now.as_secs_f64(), end.window_segments(), end.counts()); }
                        continue;
                    }
                    if held >= path.mark_above && segment.ecn == Ecn::Capable {
                        segment.ecn = Ecn::Marked;
                    }
                    queue.push_back((at, segment));
                } else {
                    packets.push(Some(segment));
                    owner.push(at);
                    add(&mut heap, now + path.delay, Event::AtSender(packets.len() - 1));
                }
            }
            if let Some(when) = end.poll_at(now) {
                add(&mut heap, when.max(now + Nanos(1)), Event::Wake(at, is_sender));
            }
        }
        if sending.is_none()
            && let Some((at, segment)) = queue.pop_front()
        {
            let bytes = u64::from(20 + segment.header_bytes() + segment.payload_bytes);
            let nanos = |bytes: u64| Nanos(bytes * 8 * 1_000_000_000 / path.bits_per_s);
            let took = if path.bucket_bytes == 0 {
                nanos(bytes)
            } else {
                // It goes all at once, as soon as there are tokens for it.
                let earned = u128::from((now - filled_at).0) * u128::from(path.bits_per_s) / 8_000_000_000;
                tokens = (tokens + earned as u64).min(path.bucket_bytes);
                filled_at = now;
                let wait = nanos(bytes.saturating_sub(tokens));
                let earned = u128::from(wait.0) * u128::from(path.bits_per_s) / 8_000_000_000;
                filled_at += wait;
                tokens = (tokens + earned as u64).saturating_sub(bytes);
                wait.max(Nanos(1))
            };
            sending = Some((at, segment));
            add(&mut heap, now + took, Event::Sent);
        }
    }
    for (got, ends) in got.iter_mut().zip(&ends) {
        got.counts = Some(ends[0].counts());
    }
    got
}
