//! The transport alone: nanoseconds per data segment, from its sender to its receiver and back.
//!
//! One unlimited flow over 10 Mbit/s with 20 ms each way and a buffer of 33 packets, which it fills and overflows, so that
//! recovery is included. A segment's time covers both ends, its acknowledgement and the path's two queues.

use std::collections::VecDeque;

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Congestion, Connection, Segment};

use crate::{clock::Stopwatch, goals, row::Row, row::Unit, spread::Spread};

const UNTIL: Nanos = Nanos::from_secs(600);
const EACH_WAY: Nanos = Nanos::from_millis(20);
const BITS_PER_S: u64 = 10_000_000;
const BUFFER_PACKETS: usize = 33;
const SUBJECTS: [(&str, Congestion); 3] =
    [("reno", Congestion::Reno), ("cubic", Congestion::Cubic), ("bbr", Congestion::Bbr)];

/// One row per congestion control; they take turns.
pub fn rows(rounds: u64) -> Vec<Row> {
    let mut measured = SUBJECTS.map(|_| Vec::new());
    for _ in 0..rounds {
        for ((_, congestion), nanos) in SUBJECTS.iter().zip(&mut measured) {
            nanos.push(run(*congestion));
        }
    }
    let row = |((subject, _), nanos): (&(&str, Congestion), Vec<f64>)| {
        let spread = Spread::of(&nanos)?;
        let (benchmark, subject) = ("a segment of TCP, both ends".into(), (*subject).into());
        Some(Row { benchmark, subject, flows: 1, spread, unit: Unit::Nanos, goal: Some(goals::SEGMENT) })
    };
    SUBJECTS.iter().zip(measured).filter_map(row).collect()
}

/// Nanoseconds per data segment.
fn run(congestion: Congestion) -> f64 {
    let config = Config { congestion, ..Config::linux() };
    let start = Stopwatch::start();
    let segments = sent(&config, UNTIL);
    start.elapsed().as_secs_f64() * 1e9 / segments as f64
}

/// Data segments that a flow sends by `until`.
fn sent(config: &Config, until: Nanos) -> u64 {
    let (mut sender, mut receiver) = (Connection::open(config, 7), Connection::listen(config, 9));
    let (mut buffer, mut forth, mut back) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
    let (mut now, mut link_free_at) = (Nanos::ZERO, Nanos::ZERO);
    while now < until {
        while let Some(segment) = due(&mut forth, now) {
            receiver.receive(&segment, now);
            receiver.read(u64::MAX, now);
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            back.push_back((now + EACH_WAY, segment));
        }
        while let Some(segment) = due(&mut back, now) {
            sender.receive(&segment, now);
        }
        sender.write(u64::MAX);
        while let Some(segment) = sender.poll_transmit(now) {
            if buffer.len() < BUFFER_PACKETS {
                buffer.push_back(segment);
            }
        }
        while link_free_at <= now
            && let Some(segment) = buffer.pop_front()
        {
            let bytes = u64::from(20 + segment.header_bytes() + segment.payload_bytes);
            link_free_at = now + Nanos(bytes * 8_000_000_000 / BITS_PER_S);
            forth.push_back((link_free_at + EACH_WAY, segment));
        }
        let link = (!buffer.is_empty()).then_some(link_free_at);
        let fronts = [&forth, &back].map(|queue| queue.front().map(|(at, _)| *at));
        let ends = [sender.poll_at(now), receiver.poll_at(now)];
        now = fronts.into_iter().chain(ends).chain([link]).flatten().min().unwrap_or(until).max(now + Nanos(1));
    }
    sender.counts().segments
}

/// The segment that has arrived by `now`, if any.
fn due(queue: &mut VecDeque<(Nanos, Segment)>, now: Nanos) -> Option<Segment> {
    let is_there = queue.front().is_some_and(|(at, _)| *at <= now);
    if is_there { queue.pop_front().map(|(_, segment)| segment) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_full() {
        for (name, congestion) in SUBJECTS {
            let segments = sent(&Config { congestion, ..Config::linux() }, Nanos::from_secs(10));
            // The link carries 833 segments per second.
            assert!((7_900..9_200).contains(&segments), "{name}: {segments}");
        }
    }
}
