//! The learnt capacity of an uplink, on a model of both links' queues that shares no code with it.

use dovetail_sched::{
    Nanos,
    request::{UplinkRate, Uploads},
};
use proptest::prelude::*;

const GIVEN: f64 = 64_000.0;
const STEP_S: f64 = 0.01;
/// What senders have in flight at most: 64 packets.
const WINDOW: f64 = 64.0 * 1_448.0;

/// Two queues that a probe goes through, in bytes of time: uploads as fast as they are paced, and whatever fills the other.
struct Links {
    uplink: UplinkRate,
    now_s: f64,
    // Sent and not yet carried; carried and not yet acknowledged.
    queue: f64,
    on_way: std::collections::VecDeque<f64>,
    other_s: f64,
    acked: f64,
    told: f64,
    sent: f64,
    late_s: f64,
    // What a dead server has not acknowledged.
    dead: f64,
    // What uploads would send if they were not paced.
    wanted: f64,
    // When each probe that is on its way is back, and its delay; what the last one that is back has seen.
    probes: std::collections::VecDeque<(f64, f64)>,
    seen_s: f64,
    // How long the cause was thought to be elsewhere.
    cleared_s: f64,
}

impl Links {
    fn new() -> Self {
        Self {
            uplink: UplinkRate::new(GIVEN),
            now_s: 0.0,
            queue: 0.0,
            on_way: std::iter::repeat_n(0.0, 5).collect(),
            other_s: 0.0,
            acked: 0.0,
            told: 0.0,
            sent: 0.0,
            late_s: 0.0,
            dead: 0.0,
            wanted: f64::INFINITY,
            probes: std::collections::VecDeque::new(),
            seen_s: 0.0,
            cleared_s: 0.0,
        }
    }

    /// Runs for this long on an uplink of `carries` bytes a second. `other` is the delay of another queue over time.
    fn run(&mut self, seconds: f64, carries: f64, other: impl Fn(f64) -> f64) {
        let steps = (seconds / STEP_S) as usize;
        for step in 0..steps {
            self.now_s += STEP_S;
            let in_flight = self.queue + self.on_way.iter().sum::<f64>();
            let sends = ((0.9 * self.uplink.rate()).min(self.wanted) * STEP_S).min(WINDOW - in_flight);
            self.sent += sends;
            self.queue += sends;
            let carried = self.queue.min(carries * STEP_S);
            self.queue -= carried;
            self.on_way.push_back(carried);
            self.acked += self.on_way.pop_front().unwrap_or(0.0);
            self.other_s = other(step as f64 * STEP_S);
            let delay_s = self.queue / carries + self.other_s;
            // Four frames may wait however slow the link is.
            let limit_s = f64::max(0.12, 4.0 * 1_514.0 / carries);
            self.late_s += if self.queue / carries > limit_s { STEP_S } else { 0.0 };
            while let Some(&(_, delay_s)) = self.probes.front().filter(|&&(back_s, _)| back_s <= self.now_s) {
                self.seen_s = delay_s;
                self.probes.pop_front();
            }
            if step % 10 == 9 {
                self.probes.push_back((self.now_s + delay_s, delay_s));
                let acked = self.acked.floor();
                let seen = Uploads {
                    acked_bytes: (acked - self.told) as u64,
                    unacked_bytes: (self.queue + self.on_way.iter().sum::<f64>() + self.dead) as u64,
                    counted_bytes: 0,
                    delay: Some(Nanos::from_f64(self.seen_s * 1e9)),
                };
                self.told = acked;
                let now = Nanos::from_f64(self.now_s * 1e9);
                self.uplink.look(&seen, now);
                self.cleared_s += if self.uplink.is_cleared(now) { 0.1 } else { 0.0 };
            }
        }
    }

    /// What was sent and how long the queue was late since the last call, a second.
    fn since(&mut self, seconds: f64) -> (f64, f64) {
        (std::mem::take(&mut self.sent) / seconds, std::mem::take(&mut self.late_s) / seconds)
    }
}

fn none(_: f64) -> f64 {
    0.0
}

#[test]
fn a_given_rate_that_is_right_stays() {
    let mut links = Links::new();
    links.run(300.0, GIVEN, none);
    assert!((links.uplink.capacity() - GIVEN).abs() < 1e-9);
}

#[test]
fn an_uplink_that_carries_less_is_filled_and_its_queue_is_short() {
    for part in [0.8, 0.5, 0.25, 0.1] {
        let (carries, mut links) = (part * GIVEN, Links::new());
        links.run(60.0, carries, none);
        links.since(60.0);
        links.run(300.0, carries, none);
        let (sent, late) = links.since(300.0);
        println!("{part}: {:.3} {late:.3}", sent / carries);
        assert!((0.8..1.0).contains(&(sent / carries)), "{part}: {}", sent / carries);
        assert!(late < 0.15, "{part}: {late}");
        assert!(links.cleared_s < 0.05, "{part}: {} s", links.cleared_s);
    }
}

#[test]
fn what_it_carries_again_is_found_within_two_minutes() {
    let mut links = Links::new();
    links.run(60.0, GIVEN / 4.0, none);
    assert!(links.uplink.capacity() < 0.3 * GIVEN);
    links.run(120.0, GIVEN, none);
    assert!(links.uplink.capacity() > 0.95 * GIVEN, "{}", links.uplink.capacity());
}

#[test]
fn a_queue_elsewhere_costs_uploads_hardly_anything() {
    for (name, other) in [
        ("steady", (|_| 0.4) as fn(f64) -> f64),
        ("waves", |at| 0.3 + 0.2 * at.sin()),
        ("bursts", |at| if at % 3.0 < 2.0 { 0.5 } else { 0.0 }),
    ] {
        let mut links = Links::new();
        links.run(300.0, GIVEN, other);
        let (sent, _) = links.since(300.0);
        println!(
            "{name}: {:.3} {:.3}, known for {:.0} s",
            sent / GIVEN,
            links.uplink.capacity() / GIVEN,
            links.cleared_s
        );
        // Nine tenths are sent at most.
        assert!(sent > 0.8 * GIVEN, "{name}: {}", sent / GIVEN);
        assert!(links.uplink.capacity() > 0.9 * GIVEN, "{name}");
    }
}

#[test]
fn a_long_queue_without_uploads_pauses_nothing() {
    let mut links = Links::new();
    links.wanted = 500.0;
    links.run(100.0, GIVEN, |_| 1.0);
    let (sent, _) = links.since(100.0);
    assert!((sent - 500.0).abs() < 1.0 && !links.uplink.is_cleared(Nanos::from_secs(100)));
}

#[test]
fn a_dead_server_costs_the_others_less_each_time() {
    let mut links = Links::new();
    links.dead = 300_000.0;
    links.run(300.0, GIVEN, |_| 0.4);
    let (sent, _) = links.since(300.0);
    println!("{:.3} of the rate", sent / GIVEN);
    assert!(sent > 0.7 * GIVEN, "{}", sent / GIVEN);
}

#[test]
fn a_queue_that_was_gone_for_a_moment_may_have_been_that_of_uploads() {
    // The delay is 450 ms, but for 200 ms once the pause is over and the delay has passed again.
    for (moment_ms, is_cleared) in [(400, true), (0, false)] {
        let (mut uplink, mut unacked_bytes, mut paused) = (UplinkRate::new(GIVEN), 50_000, None);
        for report in 0..40 {
            let now = Nanos::from_millis(100 * report);
            let is_moment = paused.is_some_and(|end| (end + 4..end + 6).contains(&report));
            let delay = Nanos::from_millis(if is_moment { moment_ms } else { 450 });
            uplink.look(&Uploads { acked_bytes: 0, unacked_bytes, counted_bytes: 0, delay: Some(delay) }, now);
            if uplink.is_testing() {
                unacked_bytes = 0;
                paused = paused.or(Some(report + 1));
            }
            if uplink.is_cleared(now) {
                assert!(is_cleared && report >= 20, "{report}");
            }
        }
        assert!(!uplink.is_testing());
        assert_eq!(uplink.is_cleared(Nanos::from_secs(4)), is_cleared, "{moment_ms}");
    }
}

#[test]
fn an_endless_delay_is_waited_for_no_longer_than_any_other() {
    let mut uplink = UplinkRate::new(GIVEN);
    let seen = Uploads { acked_bytes: 1_000, unacked_bytes: 100_000, counted_bytes: 0, delay: Some(Nanos::MAX) };
    let mut testing_s = 0.0;
    for report in 0..3_000 {
        uplink.look(&seen, Nanos::from_millis(100 * report));
        testing_s += if uplink.is_testing() { 0.1 } else { 0.0 };
    }
    println!("{testing_s:.1} of 300 s");
    assert!((20.0..100.0).contains(&testing_s), "{testing_s}");
}

proptest! {
    #[test]
    fn whatever_is_reported_the_rate_is_within_its_bounds(
        reports in prop::collection::vec((any::<[u64; 4]>(), 0_u32..64, 0_u8..4), 1..200),
        given in 1.0..1e12_f64,
    ) {
        let (mut uplink, mut now) = (UplinkRate::new(given), Nanos::ZERO);
        for ([acked, unacked, counted, delay], shift, kind) in reports {
            let part = |value: u64| value >> shift;
            now += Nanos(part(delay) >> 8);
            let seen = Uploads {
                acked_bytes: part(acked),
                unacked_bytes: part(unacked),
                counted_bytes: part(counted),
                delay: (kind > 0).then_some(Nanos(part(delay))),
            };
            let told = uplink.look(&seen, now);
            prop_assert!(told.is_none_or(|rate| rate == uplink.rate()));
            prop_assert!((given * 1e-3..=given).contains(&uplink.rate()), "{}", uplink.rate());
            prop_assert!((given / 16.0..=given).contains(&uplink.capacity()), "{}", uplink.capacity());
        }
    }
}
