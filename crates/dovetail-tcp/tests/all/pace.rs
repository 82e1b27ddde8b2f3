//! Paced segments, and BBR's model of a path, observed from outside: when segments are sent, and how many are queued.

use std::collections::VecDeque;

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Congestion, Connection, Segment};

/// Transmission time of a full segment at 10 Mbit/s.
const TAKES: Nanos = Nanos::from_micros(1200);
const EACH_WAY: Nanos = Nanos::from_millis(20);

/// Observations of one flow over a link without loss.
struct Seen {
    /// When each segment with data was sent.
    left: Vec<Nanos>,
    /// After each acknowledgement: the time, and the number of segments queued at the link.
    queued: Vec<(Nanos, usize)>,
    read: u64,
}

/// Sends without pauses until `until`, or a hundred segments every `pauses`, if given; a full segment takes the link `takes`.
fn over_a_link(config: &Config, takes: Nanos, pauses: Option<Nanos>, until: Nanos) -> Seen {
    let (mut sender, mut receiver) = (Connection::open(config, 7), Connection::listen(config, 9));
    let mut queue = VecDeque::new();
    let mut to_receiver = VecDeque::new();
    let mut to_sender = VecDeque::new();
    let mut link_free_at = Nanos::ZERO;
    let mut writes_at = Nanos::ZERO;
    let mut now = Nanos::ZERO;
    let mut seen = Seen { left: Vec::new(), queued: Vec::new(), read: 0 };
    while now < until {
        while let Some(segment) = due(&mut to_receiver, now) {
            receiver.receive(&segment, now);
            seen.read += receiver.read(u64::MAX, now);
        }
        while let Some(segment) = receiver.poll_transmit(now) {
            to_sender.push_back((now + EACH_WAY, segment));
        }
        while let Some(segment) = due(&mut to_sender, now) {
            sender.receive(&segment, now);
            seen.queued.push((now, queue.len()));
        }
        if now >= writes_at {
            sender.write(if pauses.is_some() { 100 * 1460 } else { u64::MAX });
            writes_at = now + pauses.unwrap_or(Nanos::from_millis(1));
        }
        while let Some(segment) = sender.poll_transmit(now) {
            if segment.payload_bytes > 0 {
                seen.left.push(now);
            }
            queue.push_back(segment);
        }
        while link_free_at <= now
            && let Some(segment) = queue.pop_front()
        {
            link_free_at = now + if segment.payload_bytes > 0 { takes } else { takes.min(Nanos::from_micros(32)) };
            to_receiver.push_back((link_free_at + EACH_WAY, segment));
        }
        let link = (!queue.is_empty()).then_some(link_free_at);
        let fronts = [to_receiver.front(), to_sender.front()].map(|front| front.map(|(at, _)| *at));
        let ends = [sender.poll_at(now), receiver.poll_at(now)];
        let all = fronts.into_iter().chain(ends).chain([Some(writes_at), link]);
        now = all.flatten().min().unwrap().max(now + Nanos(1));
    }
    seen
}

/// Removes a segment that has arrived by `now`.
fn due(on_its_way: &mut VecDeque<(Nanos, Segment)>, now: Nanos) -> Option<Segment> {
    let is_there = on_its_way.front().is_some_and(|(at, _)| *at <= now);
    if is_there { on_its_way.pop_front().map(|(_, segment)| segment) } else { None }
}

fn longest_burst(left: &[Nanos]) -> usize {
    left.chunk_by(|one, next| one == next).map(<[Nanos]>::len).max().unwrap()
}

#[test]
fn a_paced_window_leaves_one_by_one() {
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        let config = Config { congestion, pacing: true, ..Config::linux() };
        let until = Nanos::from_secs(5);
        let paced = over_a_link(&config, TAKES, None, until);
        // The first ten are sent together, and none after that.
        assert_eq!(longest_burst(&paced.left), 10, "{congestion:?}");
        assert_eq!(longest_burst(&paced.left[10..]), 1, "{congestion:?}");
        let plain = over_a_link(&Config { pacing: false, ..config }, TAKES, None, until);
        assert!(longest_burst(&plain.left[10..]) > 1, "{congestion:?}: a window that grows sends two at once");
        assert!(paced.read as f64 > 0.97 * plain.read as f64, "{congestion:?}: {} and {}", paced.read, plain.read);
    }
}

/// A train of paced acknowledgements is long because of the pacing, which must not end slow start (`hystart`).
#[test]
fn a_paced_slow_start_fills_a_path_as_an_unpaced_one_does() {
    let config = Config { receive_bytes: 1 << 22, ..Config::linux() };
    // 100 Mbit/s and 40 ms: the path holds 340 segments.
    let [plain, paced] = [false, true].map(|pacing| {
        over_a_link(&Config { pacing, ..config }, Nanos::from_micros(120), None, Nanos::from_secs(1)).read
    });
    assert!(paced as f64 > 0.95 * plain as f64, "{paced} and {plain} bytes in a second");
}

/// A gap is no shorter than 1.25 times the bandwidth permits, halved if the previous segment was late; and the pace of a
/// measured path remains after a pause.
#[test]
fn a_pause_is_followed_by_no_burst_of_bbr() {
    let config = Config { congestion: Congestion::Bbr, ..Config::linux() };
    let seen = over_a_link(&config, TAKES, Some(Nanos::from_millis(700)), Nanos::from_secs(8));
    let after_startup = seen.left.partition_point(|&at| at < Nanos::from_secs(3));
    let left = &seen.left[after_startup..];
    assert!(left.windows(2).any(|pair| pair[1] - pair[0] > Nanos::from_millis(400)), "there are pauses");
    let shortest = left.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(shortest.as_secs_f64() > TAKES.as_secs_f64() / 1.3 / 2.0, "{shortest}");
}

/// BBR leaves the queue nearly empty that CUBIC fills whatever its length; and every ten seconds it lets the path drain, to
/// measure its round-trip time.
#[test]
fn bbr_keeps_a_path_full_and_its_queue_short() {
    let run = |congestion| {
        let config = Config { congestion, hystart: false, ..Config::linux() };
        let seen = over_a_link(&config, TAKES, None, Nanos::from_secs(25));
        let steady: Vec<_> = seen.queued.iter().filter(|(at, _)| *at > Nanos::from_secs(2)).copied().collect();
        let mean = steady.iter().map(|(_, queued)| *queued as f64).sum::<f64>() / steady.len() as f64;
        (seen, mean)
    };
    let (bbr, bbr_queue) = run(Congestion::Bbr);
    let (cubic, cubic_queue) = run(Congestion::Cubic);
    println!("queues: BBR {bbr_queue:.1}, CUBIC {cubic_queue:.1} segments");
    assert!(bbr.read as f64 > 0.95 * cubic.read as f64, "{} and {}", bbr.read, cubic.read);
    // A receiver's window of 256 KiB is five times what the path holds.
    assert!(cubic_queue > 100.0 && bbr_queue < 10.0, "{cubic_queue} and {bbr_queue}");
    // Four segments a round trip for 200 ms; the path needs 35 to be full.
    let of = |from_ms: u64| {
        let [from, to] = [from_ms, from_ms + 200].map(|ms| bbr.left.partition_point(|&at| at < Nanos::from_millis(ms)));
        to - from
    };
    let least = |from_s: u64, to_s: u64| (from_s * 1000..to_s * 1000).step_by(20).map(of).min().unwrap();
    assert!(least(9, 12) <= 30 && least(19, 23) <= 30, "{} and {}", least(9, 12), least(19, 23));
    assert!(least(3, 9) > 100 && least(12, 19) > 100, "{} and {}", least(3, 9), least(12, 19));
}
