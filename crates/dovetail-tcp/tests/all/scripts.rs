//! One end, with scripted arrivals and expected transmissions: a table of segments for each mechanism.
//!
//! A line is a time in milliseconds, a direction and a segment: `<` arrives at the end, `>` is sent by it. Numbers count from
//! the first byte of each stream, segments have 1,000 bytes. At each time all arrivals come first, then exactly the listed
//! segments must be sent, in order; between these times nothing may be sent.
//!
//! ```text
//! 100 > 0:1000            bytes 0 to 1,000
//! 200 < ack 1000 sack 2000-3000,5000-6000
//! 200 < 0:500 ack 1000    data arrives, with an acknowledgement
//! 300 > ack 500
//! ```
//!
//! `win N` is the window in bytes, 60,000 by default; `mark` an ECN mark on arriving data, `ece` and `cwr` the bits.
//! `write N`, `read N` and `close` are the application's actions. The end opened the connection at 0 ms, and the SYN-ACK
//! arrived at 100 ms.

use std::collections::BTreeSet;

use dovetail_sched::Nanos;
use dovetail_tcp::{Blocks, Config, Congestion, Connection, Ecn, Flags, Options, Segment, Timers};

const OURS: u32 = 77_000;
const THEIRS: u32 = 4_294_967_000;

pub fn ms(text: &str) -> Nanos {
    Nanos::from_f64(text.parse::<f64>().unwrap() * 1e6)
}

/// Parses a segment of the peer.
pub fn arriving(words: &[&str]) -> Segment {
    let number = |base: u32, text: &str| base.wrapping_add(1).wrapping_add(text.parse::<u32>().unwrap());
    let mut segment =
        Segment { sequence: number(THEIRS, "0"), flags: Flags::ACK, window: 60_000, ..Segment::default() };
    segment.acknowledgement = number(OURS, "0");
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "ack" => segment.acknowledgement = number(OURS, words.next().unwrap()),
            "win" => segment.window = words.next().unwrap().parse().unwrap(),
            "ece" => segment.flags = segment.flags | Flags::ECE,
            "cwr" => segment.flags = segment.flags | Flags::CWR,
            "fin" => segment.flags = segment.flags | Flags::FIN,
            "psh" => segment.flags = segment.flags | Flags::PSH,
            "mark" => segment.ecn = Ecn::Marked,
            "sack" => {
                let mut blocks = Blocks::default();
                for block in words.next().unwrap().split(',') {
                    let (from, to) = block.split_once('-').unwrap();
                    assert!(blocks.push((number(OURS, from), number(OURS, to))));
                }
                segment.options.sack = blocks;
            }
            data => {
                let (from, to) = data.split_once(':').unwrap();
                segment.sequence = number(THEIRS, from);
                segment.payload_bytes = to.parse::<u32>().unwrap() - from.parse::<u32>().unwrap();
            }
        }
    }
    segment
}

/// Formats a segment of this end as a line.
pub fn shown(segment: &Segment) -> String {
    let place = |base: u32, number: u32| number.wrapping_sub(base).wrapping_sub(1) as i32;
    let mut text = String::new();
    if segment.payload_bytes > 0 {
        let from = place(OURS, segment.sequence);
        text += &format!("{from}:{} ", i64::from(from) + i64::from(segment.payload_bytes));
    } else {
        text += &format!("ack {} ", place(THEIRS, segment.acknowledgement));
    }
    if segment.flags.has(Flags::FIN) {
        text += "fin ";
    }
    if segment.flags.has(Flags::ECE) {
        text += "ece ";
    }
    if segment.flags.has(Flags::CWR) {
        text += "cwr ";
    }
    let blocks = segment.options.sack.as_slice().iter();
    let blocks: Vec<_> = blocks.map(|&(a, b)| format!("{}-{}", place(THEIRS, a), place(THEIRS, b))).collect();
    if !blocks.is_empty() {
        text += &format!("sack {}", blocks.join(","));
    }
    text.trim_end().to_owned()
}

/// An open connection.
pub fn opened(config: &Config) -> Connection {
    established(Connection::open(config, OURS), config)
}

fn established(mut end: Connection, config: &Config) -> Connection {
    let syn = end.poll_transmit(Nanos::ZERO).unwrap();
    assert!(syn.flags.has(Flags::SYN) && end.poll_transmit(Nanos::ZERO).is_none());
    let flags = if config.ecn { Flags::SYN | Flags::ACK | Flags::ECE } else { Flags::SYN | Flags::ACK };
    let options =
        Options { maximum_segment_size: Some(1000), window_scale: Some(0), sack_permitted: true, ..Options::default() };
    let answer = Segment {
        sequence: THEIRS,
        acknowledgement: OURS.wrapping_add(1),
        window: 60_000,
        flags,
        options,
        ..Segment::default()
    };
    end.receive(&answer, ms("100"));
    let bare = end.poll_transmit(ms("100")).unwrap();
    assert_eq!(shown(&bare), "ack 0", "a bare acknowledgement ends the handshake");
    end
}

pub fn config() -> Config {
    Config { segment_bytes: 1000, congestion: Congestion::Reno, timers: Timers::Exact, ..Config::linux() }
}

#[track_caller]
fn plays(config: &Config, script: &str) -> Connection {
    let mut end = opened(config);
    let lines: Vec<Vec<&str>> = script
        .lines()
        .map(|line| line.split("//").next().unwrap().split_whitespace().collect::<Vec<_>>())
        .filter(|words| !words.is_empty())
        .collect();
    let times: BTreeSet<Nanos> = lines.iter().map(|words| ms(words[0])).collect();
    let mut last = ms("100");
    for &now in &times {
        // Anything due in between is sent when the end asks to be polled.
        while let Some(at) = end.poll_at(last).filter(|&at| at < now) {
            assert!(at >= last);
            if let Some(segment) = end.poll_transmit(at) {
                panic!("at {} ms, before {} ms: {}", at.0 as f64 / 1e6, now.0 as f64 / 1e6, shown(&segment));
            }
            assert!(end.poll_at(at).is_none_or(|next| next > at), "it wants to be called and does nothing");
            last = at;
        }
        last = now;
        let of_now = || lines.iter().filter(|words| ms(words[0]) == now);
        for words in of_now() {
            match words[1] {
                "<" => end.receive(&arriving(&words[2..]), now),
                "write" => assert_eq!(end.write(words[2].parse().unwrap()).to_string(), words[2]),
                "read" => assert_eq!(end.read(words[2].parse().unwrap(), now).to_string(), words[2]),
                "close" => end.close(),
                ">" => {}
                other => panic!("what is {other}?"),
            }
        }
        let expected: Vec<String> =
            of_now().filter(|words| words[1] == ">").map(|words| words[2..].join(" ")).collect();
        let sent: Vec<String> = std::iter::from_fn(|| end.poll_transmit(now)).map(|segment| shown(&segment)).collect();
        assert_eq!(sent, expected, "at {} ms", now.0 as f64 / 1e6);
    }
    end
}

/// An application that permits little at a time does not double the number of acknowledgements (`tcp_cleanup_rbuf`).
#[test]
fn a_window_is_announced_with_the_next_acknowledgement_unless_it_was_nearly_closed() {
    let config = Config { quick_acks: false, receive_bytes: 60_000, receive_grows: false, ..config() };
    let mut end = Connection::open(&config, OURS);
    end.allow(6_000);
    let mut end = established(end, &config);
    let mut sends = |after: &dyn Fn(&mut Connection)| {
        after(&mut end);
        std::iter::from_fn(|| end.poll_transmit(ms("200")))
            .map(|segment| (shown(&segment), segment.window))
            .collect::<Vec<_>>()
    };
    let comes = |data: &'static str| move |end: &mut Connection| end.receive(&arriving(&[data]), ms("200"));
    assert_eq!(sends(&comes("0:1000")), []);
    assert_eq!(sends(&comes("1000:2000")), [("ack 2000".to_owned(), 4_000)]);
    assert_eq!(sends(&|end| end.allow(8_000)), []);
    assert_eq!(sends(&comes("2000:3000")), []);
    assert_eq!(sends(&comes("3000:4000")), [("ack 4000".to_owned(), 4_000)]);
    assert_eq!(sends(&comes("4000:5000")), []);
    assert_eq!(sends(&comes("5000:6000")), [("ack 6000".to_owned(), 2_000)]);
    assert_eq!(sends(&comes("6000:7000")), []);
    assert_eq!(sends(&|end| end.allow(10_000)), [("ack 7000".to_owned(), 3_000)]);
}

#[test]
fn ten_segments_at_first_and_two_for_each_that_is_acknowledged() {
    plays(
        &config(),
        "110 write 30000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         110 > 6000:7000
         110 > 7000:8000
         110 > 8000:9000
         110 > 9000:10000
         210 < ack 2000
         210 > 10000:11000
         210 > 11000:12000
         210 > 12000:13000
         210 > 13000:14000",
    );
}

/// Three out-of-order segments mean that the first is lost; a fraction of what is delivered is sent (RFC 6937).
#[test]
fn recovery_is_proportional_to_what_is_delivered() {
    let end = plays(
        &Config { initial_window: 8, ..config() },
        "110 write 30000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         110 > 6000:7000
         110 > 7000:8000
         210 < ack 0 sack 1000-2000
         210 > 8000:9000            // one has left
         211 < ack 0 sack 1000-3000
         211 > 9000:10000
         212 < ack 0 sack 1000-4000
         212 > 0:1000               // eight were allowed, four are left
         213 < ack 0 sack 1000-5000 // half of what is delivered goes out
         214 < ack 0 sack 1000-6000
         214 > 10000:11000
         215 < ack 0 sack 1000-7000
         216 < ack 0 sack 1000-8000 // four are in flight
         310 < ack 0 sack 1000-9000 // as many as are delivered
         310 > 11000:12000
         311 < ack 0 sack 1000-10000
         311 > 12000:13000
         312 < ack 10000            // the hole is filled
         312 > 13000:14000",
    );
    assert_eq!((end.counts().recoveries, end.window_segments()), (1, 4));
}

/// The last segment is lost: it is retransmitted as a probe, which does not change the window (RFC 8985, section 7).
#[test]
fn the_tail_is_probed() {
    let end = plays(
        &config(),
        "110 write 3000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         210 < ack 2000
         510 > 2000:3000            // as soon as a timeout would expire
         610 < ack 3000",
    );
    assert_eq!((end.counts().timeouts, end.counts().probes), (0, 1));
}

/// No acknowledgements: after the round trip and 200 ms everything is retransmitted, one by one (RFC 6298).
#[test]
fn a_timeout_sends_the_first_again_and_waits_twice_as_long() {
    let end = plays(
        &Config { sack: false, ..config() },
        "110 write 2000
         110 > 0:1000
         110 > 1000:2000
         410 > 0:1000               // 100 ms and 200 ms
         1010 > 0:1000              // twice as long
         1110 < ack 1000
         1110 > 1000:2000",
    );
    assert_eq!(end.counts().timeouts, 2);
}

/// A delay longer than the timeout: the acknowledgement of an original transmission shows that nothing was lost (RFC 5682).
#[test]
fn a_spurious_timeout_is_undone() {
    let end = plays(
        &config(),
        "110 write 30000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         110 > 6000:7000
         110 > 7000:8000
         110 > 8000:9000
         110 > 9000:10000
         312 > 10000:11000          // a probe of the tail
         612 > 0:1000               // a timeout
         700 < ack 1000             // it may be an answer to either: new data is sent
         700 > 11000:12000
         700 > 12000:13000
         701 < ack 2000             // an answer to what was sent once: eleven are in flight, as before",
    );
    assert_eq!((end.counts().timeouts, end.counts().undone), (1, 1));
    assert!(end.window_segments() >= 10, "{}", end.window_segments());
}

/// The retransmitted segment had arrived (RFC 2883): the window is restored.
#[test]
fn a_reduction_is_undone_when_nothing_was_lost() {
    let end = plays(
        &Config { initial_window: 6, ..config() },
        "110 write 30000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         210 < ack 0 sack 1000-4000
         210 > 0:1000
         211 < ack 4000             // it was only late
         211 > 6000:7000
         310 < ack 6000 sack 0-1000 // and came twice: six again, and two more as two were acknowledged
         310 > 7000:8000
         310 > 8000:9000
         310 > 9000:10000
         310 > 10000:11000
         310 > 11000:12000
         310 > 12000:13000
         310 > 13000:14000",
    );
    assert_eq!((end.counts().undone, end.window_segments()), (1, 8));
}

/// Without SACK: a partial acknowledgement triggers retransmission of the next hole (RFC 6582).
#[test]
fn an_acknowledgement_of_a_part_sends_the_next_hole_again() {
    let end = plays(
        &Config { initial_window: 8, ..Config { segment_bytes: 1000, ..Config::year_2005() } },
        "110 write 8000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         110 > 6000:7000
         110 > 7000:8000
         210 < ack 1000
         211 < ack 1000
         212 < ack 1000
         213 < ack 1000
         213 > 1000:2000            // the third duplicate
         313 < ack 4000             // of a part: 4000 is lost too
         313 > 4000:5000
         413 < ack 8000",
    );
    assert_eq!((end.counts().timeouts, end.counts().recoveries, end.counts().again), (0, 1, 2));
}

/// Acknowledgements that were overtaken by a newer one: they are no duplicates (RFC 5681, section 2), and their windows are out
/// of date (RFC 9293, section 3.10.7.4), also if data that was sent earlier and acknowledged more came first.
#[test]
fn an_overtaken_acknowledgement_says_nothing() {
    let old = Config { segment_bytes: 1000, quick_acks: false, ..Config::year_2005() };
    let end = plays(
        &Config { initial_window: 5, ..old },
        "110 write 5000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         210 < ack 1000
         211 < ack 0
         212 < ack 0
         213 < ack 0
         310 < ack 5000",
    );
    assert_eq!(end.counts().recoveries, 0);
    plays(
        &old,
        "110 write 3000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         210 < ack 3000 win 3000
         211 < 1000:2000 ack 1000 win 2000
         211 > ack 0
         220 write 1000
         220 > 3000:4000",
    );
}

/// A closed window is probed, at intervals that double (RFC 9293, section 3.8.6.1).
#[test]
fn a_shut_window_is_probed() {
    plays(
        &config(),
        "110 write 4000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         210 < ack 4000 win 0
         220 write 1000
         520 > ack 0                // an empty segment, of a number that was acknowledged
         620 < ack 4000 win 0
         1220 > ack 0
         1320 < ack 4000 win 5000
         1320 > 4000:5000",
    );
}

/// Every second segment, and a single one after 40 ms; out-of-order segments at once, with blocks.
#[test]
fn acknowledgements_are_held_back_and_say_what_is_missing() {
    let calm = Config { quick_acks: false, ..config() };
    plays(
        &calm,
        "110 < 0:1000
         150 > ack 1000             // 40 ms
         200 < 1000:2000
         201 < 2000:3000
         201 > ack 3000             // the second
         210 < 4000:5000
         210 > ack 3000 sack 4000-5000
         211 < 6000:7000
         211 > ack 3000 sack 6000-7000,4000-5000
         212 < 4000:5000
         212 > ack 3000 sack 4000-5000,4000-5000,6000-7000
         213 < 3000:4000
         213 > ack 5000 sack 6000-7000
         214 < 0:1000
         214 > ack 5000 sack 0-1000,6000-7000",
    );
}

/// A mark halves the window once per round trip, and is echoed until the peer signals that it knows (RFC 3168).
#[test]
fn marks_reduce_once_and_are_echoed() {
    let end = plays(
        &Config { ecn: true, quick_acks: false, ack_delay: Nanos::ZERO, initial_window: 8, ..config() },
        "110 write 30000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         110 > 6000:7000
         110 > 7000:8000
         210 < ack 1000 ece         // from eight to four: one in two
         210 > 8000:9000 cwr
         211 < ack 2000 ece
         212 < ack 3000 ece
         212 > 9000:10000
         300 < 0:1000 ack 3000 mark
         300 > ack 1000 ece
         301 < 1000:2000 ack 3000
         301 > ack 2000 ece
         302 < 2000:3000 ack 3000 cwr
         302 > ack 3000",
    );
    assert_eq!(end.counts().again, 0);
}

/// A reduction for a loss or after a timeout is signalled as well, or the receiver would echo an earlier mark until the window
/// falls once more; a FIN without data cannot be marked (RFC 3168, sections 6.1.2 and 6.1.4).
#[test]
fn every_reduction_is_signalled_with_the_next_new_data() {
    let config = Config { ecn: true, initial_window: 8, ..config() };
    let end = plays(
        &config,
        "110 write 30000
         110 > 0:1000
         110 > 1000:2000
         110 > 2000:3000
         110 > 3000:4000
         110 > 4000:5000
         110 > 5000:6000
         110 > 6000:7000
         110 > 7000:8000
         210 < ack 0 ece sack 1000-4000
         210 > 0:1000               // lost, and another one marked
         211 < ack 0 ece sack 1000-5000
         212 < ack 0 ece sack 1000-6000
         212 > 8000:9000 cwr
         213 < ack 0 ece sack 1000-7000
         213 > 9000:10000
         214 < ack 0 ece sack 1000-8000
         214 > 10000:11000",
    );
    assert_eq!(end.counts().recoveries, 1);
    plays(
        &Config { sack: false, initial_window: 2, ..config },
        "110 write 10000
         110 > 0:1000
         110 > 1000:2000
         410 > 0:1000               // a timeout
         510 < ack 2000
         510 > 2000:3000 cwr
         510 > 3000:4000",
    );
    let mut end = opened(&config);
    end.write(1000);
    assert_eq!(end.poll_transmit(ms("110")).map(|data| data.ecn), Some(Ecn::Capable));
    end.close();
    assert_eq!(
        end.poll_transmit(ms("110")).map(|fin| (shown(&fin), fin.ecn)),
        Some(("ack 0 fin".into(), Ecn::NotCapable))
    );
}

/// A reset counts only if it has exactly the expected number; others in the window are answered (RFC 5961, section 3.2).
#[test]
fn a_reset_beside_the_mark_is_answered() {
    let mut end = opened(&config());
    let near = Segment { sequence: THEIRS.wrapping_add(500), flags: Flags::RST, ..Segment::default() };
    end.receive(&near, ms("200"));
    assert_eq!(end.broken(), None);
    assert_eq!(shown(&end.poll_transmit(ms("200")).unwrap()), "ack 0");
    end.receive(&near, ms("201"));
    assert_eq!(end.poll_transmit(ms("201")), None, "not twice in half a second");
    let exact = Segment { sequence: THEIRS.wrapping_add(1), ..near };
    end.receive(&exact, ms("202"));
    assert_eq!(end.broken(), Some(dovetail_tcp::Broken::Reset));
}

/// A reset arrives together with the answer to the SYN: nothing is left to do.
#[test]
fn a_reset_right_behind_the_handshake_ends_it() {
    let mut end = Connection::open(&config(), OURS);
    assert!(end.poll_transmit(Nanos::ZERO).is_some());
    let flags = Flags::SYN | Flags::ACK;
    let acknowledgement = OURS.wrapping_add(1);
    end.receive(&Segment { sequence: THEIRS, acknowledgement, flags, ..Segment::default() }, ms("100"));
    end.receive(&Segment { sequence: THEIRS.wrapping_add(1), flags: Flags::RST, ..Segment::default() }, ms("100"));
    assert_eq!(end.broken(), Some(dovetail_tcp::Broken::Reset));
    assert_eq!((end.poll_transmit(ms("100")), end.poll_at(ms("100"))), (None, None));
}

/// Everything has arrived on both sides, so that a reset of the peer only ends the wait.
#[test]
fn a_reset_after_both_ends_closed_is_no_error() {
    let mut end = opened(&config());
    end.close();
    assert!(end.poll_transmit(ms("200")).is_some_and(|fin| fin.flags.has(Flags::FIN)));
    let their = |flags: Flags, place: u32| Segment {
        sequence: THEIRS.wrapping_add(place),
        acknowledgement: OURS.wrapping_add(2),
        flags,
        ..Segment::default()
    };
    end.receive(&their(Flags::FIN | Flags::ACK, 1), ms("300"));
    assert_eq!(end.state(), dovetail_tcp::State::TimeWait);
    end.receive(&their(Flags::RST, 2), ms("300"));
    assert_eq!((end.state(), end.broken()), (dovetail_tcp::State::Closed, None));
    assert_eq!((end.poll_transmit(ms("300")), end.poll_at(ms("300"))), (None, None));
}

/// Data before a reset are lost, so that it does not have the expected number: the peer's next segment is answered with one
/// that has (RFC 9293, section 3.10.7.1).
#[test]
fn an_aborted_end_resets_a_peer_that_missed_it() {
    let mut end = opened(&config());
    end.write(1000);
    assert!(end.poll_transmit(ms("200")).is_some());
    end.abort();
    let reset = end.poll_transmit(ms("201")).unwrap();
    assert!(reset.flags.has(Flags::RST) && reset.sequence == OURS.wrapping_add(1001));
    assert_eq!((end.poll_at(ms("201")), end.poll_transmit(ms("201"))), (None, None));
    end.receive(&arriving(&["ack", "0"]), ms("250"));
    assert_eq!(end.poll_at(ms("250")), Some(ms("250")));
    let another = end.poll_transmit(ms("250")).unwrap();
    assert!(another.flags.has(Flags::RST) && another.sequence == OURS.wrapping_add(1));
    let mut peer = another;
    peer.flags = Flags::RST | Flags::ACK;
    end.receive(&peer, ms("300"));
    assert_eq!(end.poll_transmit(ms("300")), None, "a reset is never answered");
}

/// A send buffer without a limit: one write takes no more time and memory than another, and places do not overflow.
#[test]
fn a_stream_may_be_written_at_once() {
    for opens_first in [false, true] {
        let config = Config { send_bytes: u64::MAX, ..config() };
        let mut end = Connection::open(&config, OURS);
        if opens_first {
            end = opened(&config);
        }
        assert_eq!((end.write(u64::MAX), end.write(u64::MAX)), (1 << 62, 0));
        assert_eq!(end.unacknowledged_bytes(), 1 << 62);
        assert_eq!(end.clone().poll_transmit(ms("100")).map(|segment| segment.payload_bytes > 0), Some(opens_first));
        if !opens_first {
            let flags = Flags::SYN | Flags::ACK;
            let acknowledgement = OURS.wrapping_add(1);
            assert!(end.poll_transmit(ms("100")).is_some());
            end.receive(
                &Segment { sequence: THEIRS, acknowledgement, window: 60_000, flags, ..Segment::default() },
                ms("200"),
            );
            let sent = std::iter::from_fn(|| end.poll_transmit(ms("200"))).count();
            assert_eq!(sent, 11, "a bare acknowledgement, and the first window");
        }
    }
}

/// A SYN without an answer: retransmitted at intervals of a second, then doubling; the last after 67 s, abandoned after 131
/// s, as Linux documents for `tcp_syn_retries`.
#[test]
fn a_syn_is_sent_again_and_given_up() {
    let mut end = Connection::open(&config(), OURS);
    let (mut now, mut sent) = (Nanos::ZERO, Vec::new());
    while let Some(at) = end.poll_at(now) {
        now = at;
        while let Some(syn) = end.poll_transmit(now) {
            assert!(syn.flags.has(Flags::SYN));
            sent.push(now.0 / 1_000_000_000);
        }
    }
    assert_eq!(sent, [0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
    assert_eq!((end.broken(), now), (Some(dovetail_tcp::Broken::TimedOut), Nanos::from_secs(131)));
}
