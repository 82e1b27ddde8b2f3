//! Links full of tunnels under `grants`: their lengths are unknown, and their responses end with the next request only.

use std::collections::{BTreeMap, VecDeque};

use crate::figures::figure;
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};

const SETUP: RequestSetup =
    RequestSetup { rate: 10_000.0, quantum: 100, window: 300, longest_window: 300, overhead: 10 };

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

/// A gateway with so many users, all of one class and with a request.
fn gateway(setup: &RequestSetup, users: u32) -> Box<dyn RequestScheduler> {
    let mut gateway = "grants:learn=off".parse::<RequestSpec>().expect("valid").build(setup).expect("in range");
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    for user in 0..users {
        gateway.set_user(UserId(user), ClassId(0), Nanos::ZERO);
        ask(&mut *gateway, user, Nanos::ZERO);
    }
    gateway
}

fn ask(gateway: &mut dyn RequestScheduler, user: u32, now: Nanos) {
    gateway.enqueue(&Request { id: RequestId(user), user: UserId(user), length: None }, now);
}

/// Takes what is due from a list in the order of times.
fn due(of: &mut VecDeque<(Nanos, u32)>, now: Nanos) -> Vec<u32> {
    let count = of.partition_point(|&(at, _)| at <= now);
    of.drain(..count).map(|(_, user)| user).collect()
}

/// Half of the responses are shorter than most, and all arrive `comes` after the release; the next request in the same tunnel
/// follows `lasts` after the release, and only then the gateway knows that the last response was complete. Returns what of the
/// link is used in the last two thirds of three times that, and of a minute at least.
fn used(users: u32, comes: Nanos, lasts: Nanos) -> f64 {
    let size = |user: u32| if user.is_multiple_of(2) { 20 } else { 380 };
    let mut gateway = gateway(&SETUP, users);
    let (mut coming, mut ends, mut carried) = (VecDeque::new(), VecDeque::new(), 0);
    let third = lasts.max(Nanos::from_secs(20));
    for milli in 0..3 * third.0 / 1_000_000 {
        let now = ms(milli);
        if milli % 20 == 0 {
            gateway.far_queue(Some(FarDelay::of(ms(60))), now);
        }
        for user in due(&mut coming, now) {
            gateway.received(RequestId(user), size(user), now);
        }
        for user in due(&mut ends, now) {
            gateway.ended(RequestId(user), now);
            ask(&mut *gateway, user, now);
        }
        while let Some(turn) = gateway.dequeue(now) {
            coming.push_back((now + comes, turn.request.0));
            ends.push_back((now + lasts, turn.request.0));
            carried += if now >= third { size(turn.request.0) + SETUP.overhead } else { 0 };
        }
    }
    carried as f64 / (2.0 * third.as_secs_f64() * SETUP.rate)
}

#[test]
fn tunnels_whose_responses_end_late_leave_no_part_of_the_link_idle() {
    for (users, comes, lasts) in [(300, ms(3_000), ms(3_000)), (300, ms(60), ms(3_000)), (4_000, ms(60), ms(40_000))] {
        let share = used(users, comes, lasts);
        println!("{users} tunnels, a response in {lasts}: {share:.3}");
        assert!((0.95..1.05).contains(&share), "{users}, {comes}, {lasts}: {share}");
    }
}

#[test]
fn the_first_tunnels_of_a_fast_link_do_not_wait_for_what_a_window_holds() {
    // 20 Mbit/s: a first window of 82 kB, and a hundred small responses. Until sizes are known, a release is charged a page of
    // 20 kB rather than a whole window.
    let setup = RequestSetup::for_bytes(2.39e6);
    let mut gateway = gateway(&setup, 100);
    let mut released = BTreeMap::new();
    for milli in 0..5_000 {
        gateway.far_queue(Some(FarDelay::of(ms(60))), ms(milli));
        while let Some(turn) = gateway.dequeue(ms(milli)) {
            released.insert(turn.request.0, milli);
        }
    }
    let last = released.values().max().expect("some are released");
    println!("{} released in {last} ms", released.len());
    assert!(released.len() == 100 && *last <= 1_000, "{released:?}");
}

#[test]
fn what_arrives_is_charged_before_it_is_taken_in() {
    let setup = RequestSetup { window: 3_000, longest_window: 3_000, ..SETUP };
    let far = Some(FarDelay::of(ms(60)));
    let after = |unread: Option<u64>| {
        let mut gateway = gateway(&setup, 1);
        gateway.far_queue(far, Nanos::ZERO);
        assert!(gateway.dequeue(Nanos::ZERO).is_some_and(|turn| turn.releases));
        let before = figure(&*gateway, "tokens");
        gateway.received(RequestId(0), 100, Nanos::ZERO);
        if let Some(units) = unread {
            gateway.unread(RequestId(0), units, Nanos::ZERO);
            gateway.unread(RequestId(0), units, Nanos::ZERO);
        }
        before - figure(&*gateway, "tokens")
    };
    // The release was charged everything that may be sent: 3,100.
    assert_eq!([after(None), after(Some(2_000)), after(Some(3_000)), after(Some(3_500))], [0.0, 0.0, 0.0, 500.0]);
    // Taking it in charges nothing more.
    let mut gateway = gateway(&setup, 1);
    gateway.dequeue(Nanos::ZERO);
    gateway.unread(RequestId(0), 3_500, Nanos::ZERO);
    let before = figure(&*gateway, "tokens");
    gateway.received(RequestId(0), 3_500, Nanos::ZERO);
    assert_eq!(figure(&*gateway, "tokens"), before);
}

/// How many requests are released from 2 s to 4 s, if each is answered 20 ms later with ten units, unless that is after `stops`,
/// and no more.
fn releases(stops: Nanos) -> usize {
    let mut gateway = gateway(&SETUP, 4_000);
    let (mut coming, mut count) = (VecDeque::new(), 0);
    for milli in 0..4_000 {
        gateway.far_queue(Some(FarDelay::of(ms(60))), ms(milli));
        for user in due(&mut coming, ms(milli)) {
            gateway.received(RequestId(user), 10, ms(milli));
        }
        while let Some(turn) = gateway.dequeue(ms(milli)) {
            if ms(milli + 20) <= stops {
                coming.push_back((ms(milli + 20), turn.request.0));
            }
            count += usize::from(milli >= 2_000);
        }
    }
    count
}

#[test]
fn the_silence_of_a_server_means_nothing_while_nothing_arrives_from_any() {
    let [goes_on, interrupted] = [Nanos::MAX, ms(1_500)].map(releases);
    println!("{goes_on} released, and while the link is interrupted {interrupted}");
    // A release is charged a whole window, 400, and the header. The sender needs ten of it.
    assert!(goes_on > 200, "{goes_on}");
    assert!((40..=60).contains(&interrupted), "{interrupted}");
}
