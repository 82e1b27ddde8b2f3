//! What two ends agree on in their SYNs: the size of segments, and timestamps.

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Connection, Flags, Options, Segment};

/// Acknowledgements of the second half of 2,000 full segments that arrive 200 us apart and are read at once. The peer accepts
/// segments of `maximum` bytes and sends such.
fn acknowledgements(config: &Config, maximum: u16) -> u32 {
    let mut end = Connection::listen(config, 9);
    let stamps = config.timestamps.then_some((100, 0));
    let options = Options {
        maximum_segment_size: Some(maximum),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: stamps,
        ..Options::default()
    };
    let syn = Segment { sequence: 999, flags: Flags::SYN, window: 60_000, options, ..Segment::default() };
    end.receive(&syn, Nanos::from_millis(1));
    assert!(end.poll_transmit(Nanos::from_millis(1)).is_some());
    let payload_bytes = u32::from(maximum) - if config.timestamps { 12 } else { 0 };
    let mut got = 0;
    for at in 0..2_000 {
        let now = Nanos::from_millis(2) + Nanos::from_micros(u64::from(at) * 200);
        let (sequence, options) = (1000 + at * payload_bytes, Options { timestamps: stamps, ..Options::default() });
        let (flags, acknowledgement) = (Flags::ACK, 10);
        end.receive(
            &Segment { sequence, acknowledgement, window: 60_000, flags, payload_bytes, options, ..Segment::default() },
            now,
        );
        assert_eq!(end.read(u64::MAX, now), u64::from(payload_bytes));
        while end.poll_transmit(now).is_some() {
            got += u32::from(at >= 1_000);
        }
    }
    got
}

/// RFC 5681, section 4.2; `quick_acks` changes the first ones only.
#[test]
fn every_second_full_segment_is_acknowledged_whatever_its_size() {
    for quick_acks in [false, true] {
        for timestamps in [false, true] {
            for maximum in [1460, 1000, 536] {
                let got = acknowledgements(&Config { quick_acks, timestamps, ..Config::linux() }, maximum);
                assert!((499..=501).contains(&got), "{got} of 1,000 segments of {maximum}: {quick_acks} {timestamps}");
            }
        }
    }
}

/// Of a window that is smaller than two segments, a segment takes half (RFC 9293, section 3.8.6.2.1): such segments are full
/// ones, and the second does not wait for the first to be acknowledged (RFC 896).
#[test]
fn both_halves_of_a_small_window_are_used() {
    let mut end = Connection::open(&Config::linux(), 9);
    let now = Nanos::from_millis(1);
    assert!(end.poll_transmit(now).is_some());
    let options = Options { maximum_segment_size: Some(1460), ..Options::default() };
    let (flags, acknowledgement, window) = (Flags::SYN | Flags::ACK, 10, 2000);
    end.receive(&Segment { sequence: 999, acknowledgement, window, flags, options, ..Segment::default() }, now);
    end.write(5000);
    let sent: Vec<_> = std::iter::from_fn(|| end.poll_transmit(now)).map(|segment| segment.payload_bytes).collect();
    assert_eq!(sent, [0, 1000, 1000], "a bare acknowledgement, and the window");
}

/// An end with timestamps after its handshake: bytes from 1,000 on follow.
fn stamped() -> Connection {
    let config = Config { timestamps: true, quick_acks: false, ..Config::linux() };
    let mut end = Connection::listen(&config, 9);
    let options = Options { timestamps: Some((100, 0)), sack_permitted: true, ..Options::default() };
    let syn = Segment { sequence: 999, flags: Flags::SYN, window: 60_000, options, ..Segment::default() };
    end.receive(&syn, Nanos::from_millis(1));
    assert!(end.poll_transmit(Nanos::from_millis(1)).is_some());
    let bare = Segment { payload_bytes: 0, ..data(0, 101) };
    end.receive(&bare, Nanos::from_millis(2));
    end
}

/// A segment of 500 bytes, with this timestamp.
fn data(from: u32, value: u32) -> Segment {
    let options = Options { timestamps: Some((value, 0)), ..Options::default() };
    let (flags, window, payload_bytes) = (Flags::ACK, 60_000, 500);
    Segment { sequence: 1000 + from, acknowledgement: 10, window, flags, payload_bytes, options, ..Segment::default() }
}

fn echo(end: &mut Connection, now: Nanos) -> Option<u32> {
    end.poll_transmit(now)?.options.timestamps.map(|(_, echo)| echo)
}

/// A delayed acknowledgement echoes the first segment that it covers, so that round trips include the delay.
#[test]
fn the_earliest_segment_without_an_acknowledgement_is_echoed() {
    let mut end = stamped();
    let ms = Nanos::from_millis;
    end.receive(&data(0, 110), ms(10));
    assert_eq!(echo(&mut end, ms(10)), None, "it waits for a second one");
    end.receive(&data(500, 120), ms(20));
    end.receive(&data(1000, 130), ms(30));
    assert_eq!(echo(&mut end, ms(50)), Some(110));
    // What arrives out of order is not echoed, and what fills the hole is (RFC 7323, section 4.3).
    end.receive(&data(2000, 140), ms(60));
    assert_eq!(echo(&mut end, ms(60)), Some(110));
    end.receive(&data(1500, 150), ms(70));
    assert_eq!(echo(&mut end, ms(70)), Some(150));
}

/// The original of a segment arrives after its retransmission.
#[test]
fn an_older_timestamp_is_not_echoed() {
    let mut end = stamped();
    let ms = Nanos::from_millis;
    end.receive(&data(0, 150), ms(10));
    assert_eq!(echo(&mut end, ms(50)), Some(150));
    end.receive(&data(0, 110), ms(60));
    assert_eq!(echo(&mut end, ms(60)), Some(150));
}
