use alloc::{collections::VecDeque, vec, vec::Vec};

use super::*;

const AIM: Nanos = Nanos::from_millis(60);

fn near(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn the_pace_follows_the_far_queue() {
    let mut pace = Pace::new(1000.0, 1, AIM, true);
    near(pace.pace(), 950.0);
    for (delay_ms, expected) in [(0, 1150.0), (30, 1075.0), (60, 1000.0), (90, 925.0), (120, 850.0), (9999, 850.0)] {
        pace.tell(Some(FarDelay::of(Nanos::from_millis(delay_ms))), Nanos::ZERO);
        near(pace.pace(), expected);
    }
    pace.advance(Nanos::from_millis(1999));
    near(pace.pace(), 850.0);
    pace.advance(Nanos::from_secs(2));
    near(pace.pace(), 950.0);
    near(pace.capacity(), 1000.0);
}

#[test]
fn a_queue_shall_be_shorter_beside_many_stalled_senders() {
    // 60 of 1,000 a second and turns of 3 are 20 turns, and 500 stalled responses.
    let mut pace = Pace::new(1000.0, 3, AIM, true);
    for (stalled, aim_ms) in [(0, 60), (500, 60), (1_000, 30), (1_999, 15), (usize::MAX, 15), (600, 50)] {
        pace.set_stalled(stalled);
        assert!(pace.aim.target().0.abs_diff(aim_ms * 1_000_000) < 20_000, "{stalled}: {:?}", pace.aim.target());
    }
    // Beside 1,000 stalled responses the pace falls by `g` at 60 ms, and by twice that at 90 ms and more.
    for (stalled, delay_ms, paced) in [(500, 120, 850.0), (1_000, 60, 850.0), (1_000, 90, 700.0), (1_000, 900, 700.0)] {
        pace.set_stalled(stalled);
        pace.tell(Some(FarDelay::of(Nanos::from_millis(delay_ms))), Nanos::ZERO);
        assert!((pace.pace() - paced).abs() < 0.1, "{stalled}, {delay_ms} ms: {}", pace.pace());
    }
    // Half of a room of 80 ms is less than configured, and what remains is a fraction of that.
    pace.tell(Some(FarDelay { delay: AIM, room: Some(Nanos::from_millis(80)) }), Nanos::ZERO);
    for (stalled, aim_ms) in [(500, 40), (1_000, 20), (0, 40)] {
        pace.set_stalled(stalled);
        assert!(pace.aim.target().0.abs_diff(aim_ms * 1_000_000) < 20_000, "{stalled}: {:?}", pace.aim.target());
    }
}

#[test]
fn capacity_is_learnt_from_what_the_queue_can_tell_and_within_its_range() {
    let mut pace = Pace::new(1000.0, 1, AIM, true);
    let mut second = 0;
    let mut run = |pace: &mut Pace, demand, delay, seconds| {
        pace.set_demand(demand);
        for _ in 0..seconds {
            pace.came(pace.pace() as u64);
            pace.tell(Some(FarDelay::of(delay)), Nanos::from_secs(second));
            second += 1;
            pace.advance(Nanos::from_secs(second));
        }
        pace.capacity()
    };
    let long = Nanos::from_secs(9);
    near(run(&mut pace, Demand::Waits, Nanos::ZERO, 20), 1000.0 * f64::exp(0.7));
    near(run(&mut pace, Demand::Met, Nanos::ZERO, 20), 1000.0 * f64::exp(0.7));
    near(run(&mut pace, Demand::None, long, 20), 1000.0 * f64::exp(0.7));
    near(run(&mut pace, Demand::Waits, AIM, 20), 1000.0 * f64::exp(0.7));
    near(run(&mut pace, Demand::Met, long, 20), 1000.0 * f64::exp(0.7));
    near(run(&mut pace, Demand::Fills, Nanos::ZERO, 20), 1000.0 * f64::exp(0.7));
    near(run(&mut pace, Demand::Fills, long, 20), 1000.0);
    near(run(&mut pace, Demand::Waits, long, 20), 1000.0 * f64::exp(-0.7));
    near(run(&mut pace, Demand::Waits, long, 1000), 1000.0 / 64.0);
    near(run(&mut pace, Demand::Waits, Nanos::ZERO, 1000), 64_000.0);
    pace.set_rate(77.0, Nanos::from_secs(5000));
    near(pace.capacity(), 77.0);
}

/// Half a minute on a link of this many units per second, which delivers everything let in or what it can carry, with a far
/// queue of this delay: returns the estimated capacity after each second, and the longest time that turns had to wait in it.
fn play(pace: &mut Pace, from_s: u64, carries: f64, delay: Nanos) -> Vec<(f64, f64)> {
    let (mut seen, mut waits_s) = (Vec::new(), 0.0_f64);
    for step in 0..300 {
        let now = Nanos::from_millis(from_s * 1000 + 100 * step);
        pace.tell(Some(FarDelay::of(delay)), now);
        pace.set_demand(Demand::Waits);
        pace.came((pace.pace().min(carries) / 10.0) as u64);
        waits_s = waits_s.max((pace.opens(Nanos::ZERO) - now).as_secs_f64());
        if step % 10 == 9 {
            seen.push((pace.capacity(), waits_s));
            waits_s = 0.0;
        }
    }
    seen
}

#[test]
fn a_link_that_brings_far_less_is_believed_at_once_and_its_queue_goes_first() {
    let mut pace = Pace::new(1e6, 10, AIM, true);
    play(&mut pace, 0, 1e6, AIM);
    let before = pace.capacity();
    assert!((0.99e6..1.01e6).contains(&before), "{before}");
    let seen = play(&mut pace, 30, 2.5e5, Nanos::from_millis(1060));
    assert!((2e5..2.8e5).contains(&seen[1].0), "{seen:?}");
    assert!(seen[..3].iter().any(|&(_, waits_s)| (0.9..1.1).contains(&waits_s)), "{seen:?}");
    // Back again, in ten seconds or little more.
    let seen = play(&mut pace, 60, 1e6, Nanos::ZERO);
    assert!(seen[19].0 > 0.9e6, "{seen:?}");
}

#[test]
fn what_a_lost_segment_hides_for_a_round_trip_or_two_is_no_slower_link_unless_it_lasts() {
    let seen = [40, 600].map(|trip_ms| {
        let mut pace = Pace::new(1e6, 10, AIM, true);
        pace.lets_in(u64::from(u32::MAX), Nanos::from_millis(trip_ms));
        play(&mut pace, 0, 1e6, AIM);
        play(&mut pace, 30, 4e5, Nanos::from_millis(150))
    });
    let [near, far] = seen.each_ref().map(|seen| [1, 2, 4].map(|second| seen[second].0));
    assert!(near[0] < 0.45e6, "{near:?}");
    assert!(far[0] > 0.9e6 && far[1] > 0.6e6 && far[2] < 0.45e6, "{far:?}");
}

#[test]
fn a_link_that_brings_nothing_is_not_believed_to_be_slow_but_one_that_brings_little_afterwards_is() {
    let mut pace = Pace::new(1e6, 10, AIM, true);
    play(&mut pace, 0, 1e6, AIM);
    let seen = play(&mut pace, 30, 0.0, Nanos::from_secs(1));
    // As the queue is long, and no faster.
    assert!(seen[1].0 > 0.93e6 && seen[29].0 > 0.99e6 * f64::exp(-0.035 * 30.0), "{seen:?}");
    let seen = play(&mut pace, 60, 5e4, Nanos::from_secs(1));
    assert!(seen[0].0 > 0.3e6 && seen[2].0 < 0.07e6, "{seen:?}");
}

#[test]
fn a_delay_of_a_link_that_brings_all_that_is_let_in_is_doubted() {
    let mut pace = Pace::new(1e6, 10, AIM, true);
    let seen = play(&mut pace, 0, 1e6, Nanos::from_secs(1));
    let falls = f64::exp(-0.035 / 4.0 * 30.0);
    assert!((falls * 0.99..falls * 1.05).contains(&(seen[29].0 / 1e6)), "{seen:?}");
    // With uploads in progress, it is not attributed to the downlink.
    let mut pace = Pace::new(1e6, 10, AIM, true);
    pace.set_uplink(true, Nanos::ZERO);
    let seen = play(&mut pace, 0, 3e5, Nanos::from_secs(1));
    near(seen[29].0, 1e6);
    near(pace.pace(), BLIND * 1e6);
}

/// The estimated capacity, each second for ten minutes, of a link of 10^6 units per second with a room of 150 ms, beside uploads
/// that add up to `adds_s` to what a probe waits. What arrives is read at once, or every two seconds.
fn beside_uploads(given: f64, adds_s: f64, reads_at_once: bool) -> Vec<f64> {
    let (carries, mut pace) = (1e6, Pace::new(given, 1, AIM, true));
    pace.set_uplink(true, Nanos::ZERO);
    let (mut queue, mut unread, mut random, mut seen) = (0.0_f64, 0.0_f64, 1_u64, Vec::new());
    for step in 1..=6_000 {
        let now = Nanos::from_millis(100 * step);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let up_s = (random >> 33) as f64 / (1_u64 << 31) as f64 * adds_s;
        pace.tell(Some(FarDelay::of(Nanos::from_f64((queue / carries + up_s) * 1e9))), now);
        pace.set_demand(Demand::Waits);
        let waits = queue + pace.pace() / 10.0;
        let came = waits.min(carries / 10.0);
        (queue, unread) = ((waits - came).min(0.15 * carries), unread + came);
        if reads_at_once || step % 20 == 0 {
            pace.came(core::mem::take(&mut unread) as u64);
        }
        if step % 10 == 0 {
            seen.push(pace.capacity());
        }
    }
    seen
}

#[test]
fn beside_uploads_the_estimate_grows_to_what_the_link_carries_and_not_much_beyond() {
    // From a fourth of it in a minute or two if the uplink's queue is short, and in minutes otherwise.
    for (adds_s, reads_at_once, found_s) in [(0.0, true, 60), (0.01, false, 90), (0.1, true, 400), (0.1, false, 400)] {
        for given in [1e6, 2.5e5] {
            let seen = beside_uploads(given, adds_s, reads_at_once);
            let most = seen.iter().copied().fold(0.0, f64::max);
            let found = seen.iter().position(|&capacity| capacity > 0.9e6);
            assert!(most < 1.1e6, "{given}, {adds_s} s, {reads_at_once}: {seen:?}");
            assert!(found.is_some_and(|second| second < found_s), "{given}, {adds_s} s, {reads_at_once}: {seen:?}");
        }
    }
}

/// How far a far queue swings in the last of three minutes, in milliseconds, if units arrive `trip` after they are let in and
/// half of the queue is there to begin with: a fluid that arrives as it was let in and drains at the rate.
fn swings(trip: Nanos, is_told: bool) -> f64 {
    let (rate, step) = (1e6, 0.01);
    let mut pace = Pace::new(rate, 1, AIM, true);
    let mut coming = VecDeque::from(vec![1.0; (trip.as_secs_f64() / step) as usize]);
    let (mut queue_s, mut last) = (0.03_f64, Vec::new());
    for number in 0..18_000 {
        let now = Nanos::from_millis(number * 10);
        pace.set_demand(Demand::Waits);
        if number % 10 == 0 {
            pace.tell(Some(FarDelay::of(Nanos::from_f64(queue_s * 1e9))), now);
        }
        pace.advance(now);
        let lets_in = pace.pace() / rate;
        pace.lets_in((lets_in * rate * step) as u64, if is_told { trip } else { Nanos::ZERO });
        coming.push_back(lets_in);
        let comes = coming.pop_front().unwrap();
        queue_s = (queue_s + (comes - 1.0) * step).max(0.0);
        pace.came((comes.min(1.0) * rate * step) as u64);
        if number >= 12_000 {
            last.push(queue_s * 1000.0);
        }
    }
    last.iter().fold(f64::MIN, |most, &x| most.max(x)) - last.iter().fold(f64::MAX, |least, &x| least.min(x))
}

#[test]
fn what_comes_from_far_away_is_let_in_without_haste() {
    for (trip_ms, told, not_told) in
        [(100, 0.0..2.0, 0.0..2.0), (600, 0.0..2.0, 60.0..400.0), (1200, 0.0..2.0, 60.0..400.0)]
    {
        let trip = Nanos::from_millis(trip_ms);
        let [with, without] = [true, false].map(|is_told| swings(trip, is_told));
        assert!(told.contains(&with) && not_told.contains(&without), "{trip}: {with} and {without} ms");
    }
}

#[test]
fn bursts_from_far_away_may_be_a_queue() {
    let mut pace = Pace::new(1000.0, 10, AIM, false);
    for (delay_ms, in_flight, has_room) in
        [(59, 749, true), (59, 750, false), (60, 500, false), (60, 499, true), (999, 499, true)]
    {
        pace.tell(Some(FarDelay::of(Nanos::from_millis(delay_ms))), Nanos::ZERO);
        assert_eq!(pace.has_far_room(in_flight, 1000.0, 750.0), has_room, "{delay_ms} ms, {in_flight}");
    }
}

#[test]
fn a_queue_is_settled_once_it_was_short_for_a_round_trip_of_the_window_as_it_is() {
    let ms = Nanos::from_millis;
    let mut pace = Pace::new(1000.0, 10, AIM, false);
    pace.tell(Some(FarDelay::of(ms(14))), ms(1000));
    for (now_ms, changed_ms, is_settled) in [(1599, 0, false), (1600, 0, true), (1600, 1001, false), (1601, 1001, true)]
    {
        pace.advance(ms(now_ms));
        assert_eq!(pace.is_settled(ms(600), ms(changed_ms)), is_settled, "{now_ms} ms, {changed_ms} ms");
    }
    // A dip is not enough, and if nothing is known of the queue, the round trip decides.
    pace.tell(Some(FarDelay::of(AIM)), ms(1700));
    assert!(!pace.is_settled(Nanos::ZERO, ms(0)));
    pace.tell(Some(FarDelay::of(ms(14))), ms(1800));
    pace.advance(ms(2300));
    assert!(!pace.is_settled(ms(600), ms(0)));
    pace.tell(None, ms(2300));
    assert!(pace.is_settled(ms(600), ms(1700)) && !pace.is_settled(ms(600), ms(1701)));
}

#[test]
fn a_turn_may_overdraw_and_the_next_waits() {
    let mut pace = Pace::new(1000.0, 10, AIM, false);
    pace.tell(Some(FarDelay::of(AIM)), Nanos::ZERO);
    pace.advance(Nanos::from_secs(1));
    near(pace.tokens(), 60.0);
    assert!(
        !pace.has_room(Nanos::ZERO, u128::MAX, 55.0) && !pace.has_room(Nanos::ZERO, 0, 55.0),
        "the queue is as long as it shall be"
    );
    pace.tell(Some(FarDelay::of(Nanos::from_millis(14))), Nanos::from_secs(1));
    assert!(pace.has_room(Nanos::ZERO, u128::MAX, 55.0), "half the bucket is left");
    pace.spend(31);
    assert!(pace.has_room(Nanos::ZERO, 50, 55.0) && !pace.has_room(Nanos::ZERO, 60, 55.0));
    pace.tell(Some(FarDelay::of(AIM)), Nanos::from_secs(1));
    assert!(!pace.has_room(Nanos::ZERO, 50, 55.0) && pace.is_open(Nanos::ZERO));
    pace.spend(129);
    let opens = pace.opens(Nanos::ZERO);
    assert!(!pace.is_open(Nanos::ZERO) && opens >= Nanos::from_millis(1100) && opens < Nanos::from_millis(1101));
    pace.advance(opens);
    assert!(pace.is_open(Nanos::ZERO));
    pace.refund(1000, false);
    near(pace.tokens(), 60.0);
    pace.spend(u64::MAX);
    assert!(pace.opens(Nanos::ZERO) < Nanos::from_secs(62));
}

#[test]
fn a_refund_is_not_lost_on_others_if_nothing_is_learnt() {
    let refunded = |learns: bool| {
        let mut pace = Pace::new(1000.0, 10, AIM, learns);
        pace.tell(Some(FarDelay::of(AIM)), Nanos::ZERO);
        pace.refund(1000, true);
        pace.spend(500);
        pace
    };
    near(refunded(true).tokens(), 60.0 - 500.0);
    // A full bucket holds 57 before the first report.
    let mut pace = refunded(false);
    near(pace.tokens(), 57.0 + 1000.0 - 500.0);
    // What nothing had waited for a moment later is lost.
    pace.advance(Nanos(1));
    near(pace.tokens(), 60.0);
}

#[test]
fn tokens_are_spent_when_units_are_due() {
    let mut pace = Pace::new(1000.0, 40, AIM, false);
    pace.tell(Some(FarDelay::of(AIM)), Nanos::ZERO);
    pace.advance(Nanos::from_millis(60));
    // The far queue bridges 60 ms of that.
    pace.book(90, Nanos::from_millis(200));
    near(pace.tokens(), 60.0);
    assert!(pace.is_open(Nanos::ZERO));
    // A turn's worth will be there by then, so those due then are 50 short, and the next from as far away wait for as many.
    let opens = pace.opens(Nanos::from_millis(200));
    assert!(opens > Nanos::from_millis(110) && opens < Nanos::from_millis(116), "{opens:?}");
    pace.tell(Some(FarDelay::of(AIM)), Nanos::from_millis(195));
    near(pace.tokens(), 60.0);
    // 5 ms before 90 are due, 60 tokens cannot be spent on others.
    assert!(!pace.is_open(Nanos::ZERO));
    pace.tell(Some(FarDelay::of(AIM)), Nanos::from_millis(200));
    near(pace.tokens(), -30.0);
}

#[test]
fn the_far_queue_bridges_its_target() {
    let mut pace = Pace::new(1000.0, 10, AIM, false);
    pace.tell(Some(FarDelay::of(AIM)), Nanos::ZERO);
    pace.advance(Nanos::from_millis(60));
    pace.book(20, AIM);
    near(pace.tokens(), 40.0);
    // A queue that drops at 60 ms bridges 30.
    pace.tell(Some(FarDelay { delay: Nanos::from_millis(30), room: Some(AIM) }), Nanos::from_millis(60));
    near(pace.tokens(), 30.0);
    pace.book(20, Nanos::from_millis(30));
    near(pace.tokens(), 10.0);
    pace.book(20, AIM);
    near(pace.tokens(), 10.0);
}

#[test]
fn there_is_room_where_tokens_are_free_when_units_are_due() {
    let mut pace = Pace::new(1000.0, 10, AIM, true);
    pace.tell(Some(FarDelay::of(Nanos::ZERO)), Nanos::ZERO);
    pace.advance(Nanos::from_millis(60));
    let has_room = |pace: &Pace, ms| pace.has_room(Nanos::from_millis(ms), u128::MAX, 55.0);
    assert!(has_room(&pace, 0) && has_room(&pace, 260));
    // Of 69 tokens 60 are spent 100 ms from now, and half of a bucket has come again 30 ms later.
    pace.book(60, Nanos::from_millis(160));
    assert!(has_room(&pace, 0) && !has_room(&pace, 170) && has_room(&pace, 210));
    pace.book(150, Nanos::from_millis(160));
    assert!(!has_room(&pace, 0), "what there is now is needed then");
}

#[test]
fn a_refund_cancels_what_is_due_latest() {
    let mut pace = Pace::new(1000.0, 10, AIM, true);
    pace.tell(Some(FarDelay::of(AIM)), Nanos::ZERO);
    pace.advance(Nanos::from_millis(60));
    pace.book(50, Nanos::from_millis(80));
    pace.book(40, Nanos::from_millis(160));
    pace.refund(60, true);
    near(pace.tokens(), 60.0);
    pace.advance(Nanos::from_millis(80));
    near(pace.tokens(), 60.0 - 30.0);
    pace.tell(Some(FarDelay::of(AIM)), Nanos::from_millis(170));
    near(pace.tokens(), 60.0);
}
