//! Two ends over a path that loses, reorders, duplicates and marks, with arbitrary settings: all bytes arrive in order.
//!
//! The oracle records which bytes of a stream were in segments that arrived, by their sequence numbers: an end may let its
//! application read only what arrived without a gap.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Congestion, Connection, Ecn, Flags, Segment, State};
use proptest::prelude::*;

/// What a path does to packets, in percent.
#[derive(Debug, Clone, Copy)]
struct Harm {
    loses: u64,
    late: u64,
    doubles: u64,
    marks: u64,
}

/// Time, order of scheduling, index of the packet that arrives (if any), and the end concerned.
type Event = (Nanos, u64, Option<usize>, usize);

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn percent(&mut self, of: u64) -> bool {
        self.next() % 100 < of
    }
}

/// Bytes of a stream that arrived: start to end.
#[derive(Debug, Default)]
struct Came(BTreeMap<u64, u64>);

impl Came {
    fn add(&mut self, from: u64, to: u64) {
        let (mut from, mut to) = (from, to);
        while let Some((&a, &b)) = self.0.range(..=to).next_back().filter(|(_, b)| **b >= from) {
            self.0.remove(&a);
            (from, to) = (from.min(a), to.max(b));
        }
        self.0.insert(from, to);
    }

    fn without_gap(&self) -> u64 {
        self.0.get(&0).copied().unwrap_or(0)
    }
}

struct End {
    connection: Connection,
    first: u32,
    to_write: u64,
    written: u64,
    read: u64,
    came: Came,
    // The application does not read before.
    reads_from: Nanos,
}

impl End {
    fn apply(&mut self, now: Nanos) {
        self.written += self.connection.write(self.to_write - self.written);
        let is_open = !matches!(self.connection.state(), State::Listen | State::SynSent);
        if self.written == self.to_write && is_open {
            self.connection.close();
        }
        if now >= self.reads_from {
            self.read += self.connection.read(u64::MAX, now);
        }
        assert!(
            self.read + self.connection.readable_bytes() <= self.came.without_gap(),
            "what did not come is readable"
        );
    }
}

fn transfer(configs: [Config; 2], bytes: [u64; 2], harm: Harm, delay: Nanos, stops: Nanos, seed: u64) {
    let mut random = Random(seed);
    let firsts = [random.next() as u32, random.next() as u32];
    let mut ends = [0, 1].map(|side| End {
        connection: match side {
            0 => Connection::open(&configs[0], firsts[0]),
            _ => Connection::listen(&configs[1], firsts[1]),
        },
        first: firsts[side],
        to_write: bytes[side],
        written: 0,
        read: 0,
        came: Came::default(),
        reads_from: if side == 1 { stops } else { Nanos::ZERO },
    });
    let mut heap: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    let mut packets: Vec<Segment> = Vec::new();
    let mut order = 0;
    heap.push(Reverse((Nanos::ZERO, 0, None, 0)));
    heap.push(Reverse((Nanos::ZERO, 0, None, 1)));
    heap.push(Reverse((stops, 0, None, 1)));
    let mut planned = [Nanos::MAX; 2];
    let mut events = 0;
    while let Some(Reverse((now, _, packet, side))) = heap.pop() {
        events += 1;
        assert!(events < 200_000 && now < Nanos::from_secs(100_000), "it comes to no end: {:?}", ends[side].connection);
        if let Some(packet) = packet {
            let segment = packets[packet];
            let from = &ends[1 - side];
            if segment.payload_bytes > 0 {
                let at = u64::from(segment.sequence.wrapping_sub(from.first).wrapping_sub(1));
                assert!(at + u64::from(segment.payload_bytes) <= from.written, "bytes that were never written");
                ends[side].came.add(at, at + u64::from(segment.payload_bytes));
            }
            ends[side].connection.receive(&segment, now);
        }
        let end = &mut ends[side];
        end.apply(now);
        while let Some(mut segment) = end.connection.poll_transmit(now) {
            assert!(segment.payload_bytes <= configs[side].segment_bytes);
            assert!(!segment.flags.has(Flags::RST), "nobody breaks it off");
            if random.percent(harm.loses) {
                continue;
            }
            if segment.ecn == Ecn::Capable && random.percent(harm.marks) {
                segment.ecn = Ecn::Marked;
            }
            for _ in 0..=u64::from(random.percent(harm.doubles)) {
                let late =
                    if random.percent(harm.late) { Nanos(random.next() % (3 * delay.0 + 1)) } else { Nanos::ZERO };
                order += 1;
                heap.push(Reverse((now + delay + late, order, Some(packets.len()), 1 - side)));
                packets.push(segment);
            }
        }
        // One wake-up per end is enough: one that is too early schedules the next.
        if packet.is_none() && planned[side] == now {
            planned[side] = Nanos::MAX;
        }
        if let Some(at) = end.connection.poll_at(now).map(|at| at.max(now + Nanos(1))).filter(|&at| at < planned[side])
        {
            planned[side] = at;
            order += 1;
            heap.push(Reverse((at, order, None, side)));
        }
        let is_over = |end: &End| {
            matches!(end.connection.state(), State::Closed | State::TimeWait) && end.connection.readable_bytes() == 0
        };
        // The last acknowledgement was lost once too often: the end that waited for stray segments waits no longer (RFC 9293,
        // section 3.6.1), and a host would answer with a reset.
        let state = |at: usize| ends[at].connection.state();
        let was_left = |at: usize| {
            let waits = matches!(state(at), State::LastAck | State::Closing);
            state(1 - at) == State::Closed && waits && ends[1 - at].read == bytes[at]
        };
        if ends.iter().all(is_over) || was_left(0) || was_left(1) {
            break;
        }
    }
    for side in [0, 1] {
        assert_eq!(ends[side].connection.broken(), None);
        assert_eq!(ends[side].read, bytes[1 - side], "all arrives");
        assert!(ends[side].connection.is_finished(), "and the end is known");
        assert_eq!(ends[side].connection.bytes_out_of_order(), 0);
        let was_left = matches!(ends[side].connection.state(), State::LastAck | State::Closing);
        assert!(was_left || ends[side].connection.unacknowledged_bytes() == 0);
    }
}

fn configs() -> impl Strategy<Value = Config> {
    let switches = any::<[bool; 8]>();
    let congestion = prop_oneof![Just(Congestion::Reno), Just(Congestion::Cubic), Just(Congestion::Bbr)];
    (switches, congestion, 1u32..3000, 1u32..200_000, 1u32..20, 0u64..200).prop_map(
        |([old, pacing, sack, stamps, ecn, nagle, quick, hystart], congestion, segment, room, first, delay_ms)| {
            Config {
                segment_bytes: segment,
                receive_bytes: room,
                send_bytes: u64::from(room),
                congestion,
                pacing,
                initial_window: first,
                ack_delay: Nanos::from_millis(delay_ms),
                sack,
                timestamps: stamps && segment > 12,
                ecn,
                nagle,
                quick_acks: quick,
                hystart,
                syn_retries: u32::MAX,
                syn_ack_retries: u32::MAX,
                retries: u32::MAX,
                ..if old { Config::year_2005() } else { Config::linux() }
            }
        },
    )
}

fn harms() -> impl Strategy<Value = Harm> {
    (0u64..35, 0u64..60, 0u64..30, 0u64..50).prop_map(|(loses, late, doubles, marks)| Harm {
        loses,
        late,
        doubles,
        marks,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn all_bytes_arrive_in_order(
        configs in [configs(), configs()],
        segments in [0u64..60, 0u64..20],
        harm in harms(),
        delay_us in 1u64..300_000,
        stops_ms in prop_oneof![Just(0), 0u64..5_000],
        seed: u64,
    ) {
        // Limit of a segment's size: half of the peer's buffer, and this end's.
        let most = |side: usize| configs[side].segment_bytes.min(configs[1 - side].segment_bytes);
        let room = |side: usize| u64::from(configs[1 - side].receive_bytes.div_ceil(2)).min(configs[side].send_bytes);
        let fits = |side: usize| u64::from(most(side)).min(room(side));
        let bytes = [0, 1].map(|side| segments[side] * fits(side) + seed % 7);
        let (delay, stops) = (Nanos::from_micros(delay_us), Nanos::from_millis(stops_ms));
        transfer(configs, bytes, harm, delay, stops, seed);
    }
}
