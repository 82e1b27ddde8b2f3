//! Drives an end with segments that no honest peer sends, and checks invariants.
//!
//! This crate's fuzz target uses it too.

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Connection, Segment};

/// A segment, its delay after the previous one, and the application's action at that time.
#[derive(Debug, Clone)]
pub struct Step {
    pub segment: Segment,
    pub later: Nanos,
    pub does: u8,
}

/// An end that sends this many segments at the same instant might never stop.
const MAX_AT_ONCE: usize = 10_000;
/// Tolerance of a window relative to its room, if its field counts in larger units.
const GRAIN_BYTES: u64 = 1 << 14;

/// Nothing panics, no time is in the past, no segment is too long, and memory is bounded by windows.
pub fn drive(config: &Config, opens: bool, steps: impl IntoIterator<Item = Step>) {
    let mut end = if opens { Connection::open(config, 100) } else { Connection::listen(config, 100) };
    let mut now = Nanos::ZERO;
    for Step { segment, later, does } in steps {
        now += later;
        match does % 8 {
            0 => drop(end.write(u64::from(does) * 1000)),
            1 => drop(end.read(u64::from(does) * 100, now)),
            2 if does > 250 => end.close(),
            3 if does > 250 => end.abort(),
            4 => end.allow(u64::from(does) * 1000),
            _ => {}
        }
        end.receive(&segment, now);
        let mut sent = 0;
        while let Some(segment) = end.poll_transmit(now) {
            sent += 1;
            assert!(segment.payload_bytes <= config.segment_bytes);
            assert!(sent < MAX_AT_ONCE, "an end that never stops sending");
        }
        assert!(end.poll_at(now).is_none_or(|at| at > now), "it wants to be called and does nothing");
        let room = u64::from(config.receive_bytes) + GRAIN_BYTES;
        assert!(end.bytes_out_of_order() <= room && end.readable_bytes() <= room);
        assert!(end.unacknowledged_bytes() <= config.send_bytes + 1);
    }
}
