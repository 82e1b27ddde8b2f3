//! Users who wait for dead servers, and responses that never arrive: their cost to others under `grants`.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, FarDelay, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};

const SETUP: RequestSetup =
    RequestSetup { rate: 10_000.0, quantum: 100, window: 300, longest_window: 300, overhead: 10 };

/// What happens to the requests of dead users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dead {
    /// They wait for ever.
    Wait,
    /// Their servers break them off, one every 20 ms from 120 s on.
    BrokenOff,
    /// Their clients give up 6 s after the release and request again at once.
    AskAgain,
}

/// What the only served user of class 0 received, and the only one of class 1, in 20 s from 120 s on. Both classes have the
/// same weight, and class 0 has `dead` more users. The far queue is at its target.
fn served(dead: u32, they: Dead) -> [u64; 2] {
    let mut gateway = "grants:lag=1200,learn=off".parse::<RequestSpec>().unwrap().build(&SETUP).unwrap();
    for class in 0..2 {
        gateway.set_class(ClassId(class), Weight::ONE, Nanos::ZERO);
    }
    let other = dead + 1;
    for user in 0..=other {
        gateway.set_user(UserId(user), ClassId(u32::from(user == other)), Nanos::ZERO);
        ask(&mut *gateway, user, Nanos::ZERO);
    }
    let (mut got, mut waits, mut next) = ([0; 2], VecDeque::new(), 1);
    for milli in 0..140_000 {
        let now = Nanos::from_millis(milli);
        if milli % 20 == 0 {
            gateway.far_queue(Some(FarDelay::of(Nanos::from_millis(60))), now);
            if they == Dead::BrokenOff && milli >= 120_000 && next <= dead {
                gateway.ended(RequestId(next), now);
                next += 1;
            }
        }
        while waits.front().is_some_and(|&(until, _)| until <= now) {
            let Some((_, user)) = waits.pop_front() else { break };
            gateway.cancel(RequestId(user), now);
            ask(&mut *gateway, user, now);
        }
        while let Some(turn) = gateway.dequeue(now) {
            let user = turn.request.0;
            if user == 0 || user == other {
                got[usize::from(user == other)] += if milli >= 120_000 { turn.units } else { 0 };
                gateway.received(turn.request, turn.units, now);
                gateway.ready(turn.request, now);
            } else if they == Dead::AskAgain {
                waits.push_back((now + Nanos::from_secs(6), user));
            }
        }
    }
    got
}

fn ask(gateway: &mut dyn RequestScheduler, user: u32, now: Nanos) {
    gateway.enqueue(&Request { id: RequestId(user), user: UserId(user), length: None }, now);
}

#[test]
fn responses_that_are_broken_off_late_give_their_class_no_more_than_it_paid() {
    let [undisturbed, broken_off] = [Dead::Wait, Dead::BrokenOff].map(|they| served(1000, they));
    let near = |got: u64, expected: u64| got.abs_diff(expected) * 20 <= expected;
    assert!(near(undisturbed[0], undisturbed[1]), "{undisturbed:?}");
    assert!(near(broken_off[0], broken_off[1]), "{broken_off:?}");
    // Their tokens are not refunded: the link carries no more than it can.
    assert!(broken_off[0] + broken_off[1] <= 210_000, "{broken_off:?}");
}

#[test]
fn users_who_ask_dead_servers_again_and_again_do_not_count() {
    for dead in [10, 50] {
        let got = served(dead, Dead::AskAgain);
        assert!(got[0] as f64 <= 1.1 * got[1] as f64, "{dead} dead users: {got:?}");
    }
}

#[test]
fn empty_responses_do_not_let_everybody_leave_at_once() {
    let setup = RequestSetup { overhead: 0, ..SETUP };
    let mut gateway = "grants".parse::<RequestSpec>().unwrap().build(&setup).unwrap();
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    gateway.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    let mut now = Nanos::ZERO;
    let request = |id| Request { id: RequestId(id), user: UserId(0), length: None };
    for _ in 0..400 {
        gateway.enqueue(&request(0), now);
        while gateway.dequeue(now).is_none() {
            now += Nanos::from_millis(10);
        }
        gateway.ended(RequestId(0), now);
    }
    for id in 0..5000 {
        gateway.enqueue(&request(id), now);
    }
    // A bucket holds the link's 60 ms, and each release costs at least a turn's quantum.
    let released = std::iter::from_fn(|| gateway.dequeue(now)).count();
    assert!(released <= 8, "{released}");
}

/// The window of a sender 50 ms away that always has more, on a link of 10,000 units a second, after this many round trips.
fn window_after(trips: u64, mut beside: impl FnMut(&mut dyn RequestScheduler, Nanos)) -> u64 {
    let setup = RequestSetup { longest_window: 100_000, ..SETUP };
    let mut gateway = "grants".parse::<RequestSpec>().unwrap().build(&setup).unwrap();
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    for user in 0..2 {
        gateway.set_user(UserId(user), ClassId(0), Nanos::ZERO);
    }
    ask(&mut *gateway, 0, Nanos::ZERO);
    let (mut granted, mut window, mut may, mut taken) = (0, 0, 0, 0);
    for trip in 0..trips {
        let now = Nanos::from_millis(50 * trip);
        loop {
            let more = may.min(granted) - taken;
            if more > 0 {
                taken += more;
                gateway.received(RequestId(0), more, now);
            }
            if may > taken {
                gateway.ready(RequestId(0), now);
            }
            let Some(turn) = gateway.dequeue(now) else { break };
            (granted, window) = (granted + turn.units, turn.window);
        }
        may = granted + window;
        beside(&mut *gateway, now);
    }
    window
}

#[test]
fn a_window_grows_to_what_the_way_holds_whoever_else_asks() {
    let alone = window_after(200, |_, _| ());
    let beside = window_after(200, |gateway, now| {
        ask(gateway, 1, now);
        gateway.cancel(RequestId(1), now);
    });
    // 500 units are in flight, and the bucket holds 570.
    println!("windows: {alone} alone, {beside} beside requests that come and go");
    for window in [alone, beside] {
        assert!((500..3_000).contains(&window), "{window}");
    }
}

/// Requests for 100 units each, more than the link carries, and an endless response, all of one user: how long after the
/// turn before each of its turns is, in seconds, and its units.
fn beside_short_ones(policy: &str, length: Option<u64>) -> Vec<(f64, u64)> {
    let mut gateway = policy.parse::<RequestSpec>().unwrap().build(&SETUP).unwrap();
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    gateway.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    ask(&mut *gateway, 0, Nanos::ZERO);
    if let Some(units) = length {
        gateway.length(RequestId(0), units, Nanos::ZERO);
    }
    let (mut last, mut turns, mut free) = (Nanos::ZERO, Vec::new(), (1..200).collect::<Vec<_>>());
    for step in 0..24_000 {
        let now = Nanos::from_millis(5 * step);
        if let Some(id) = free.pop() {
            gateway.enqueue(&Request { id: RequestId(id), user: UserId(0), length: Some(100) }, now);
        }
        gateway.ready(RequestId(0), now);
        while let Some(turn) = gateway.dequeue(now) {
            if turn.request == RequestId(0) {
                turns.push(((now - last).as_secs_f64(), turn.units));
                last = now;
            } else {
                gateway.received(turn.request, 100, now);
                gateway.ended(turn.request, now);
                free.push(turn.request.0);
            }
        }
    }
    turns
}

#[test]
fn a_response_that_has_begun_is_not_silent_for_much_longer_than_twelve_seconds() {
    for (policy, length, sign) in [("grants", Some(1_000_000_000), 100 / 8), ("grants:order=las,ageing=0", None, 100)] {
        let turns = beside_short_ones(policy, length);
        println!("{length:?}: {:.2?}", &turns[..turns.len().min(12)]);
        // Ten in two minutes, after the release and before it had received enough for others to be shorter.
        let overdue: Vec<_> = turns.iter().filter(|(gap, _)| *gap > 1.0).collect();
        let is_in_time = |&&(gap, units): &&(f64, u64)| (11.9..12.3).contains(&gap) && units == sign;
        assert!((9..=10).contains(&overdue.len()) && overdue.iter().all(is_in_time), "{overdue:?}");
    }
}
