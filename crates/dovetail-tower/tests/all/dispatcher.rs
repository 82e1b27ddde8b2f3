//! A dispatcher in paused time that a test advances.

use std::{sync::Arc, time::Duration};

use crate::support::{FAIR, arrive, dispatcher, pass, poll_allowed, still_dispatcher, takes, tokens};
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, RequestSetup, RequestSpec},
};
use dovetail_tower::{
    Dispatcher,
    dispatcher::{Overloaded, Stage, WaitLimits},
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

fn waiting_and_outstanding(dispatcher: &Dispatcher<u32>) -> Vec<(u32, u32)> {
    dispatcher.view().totals.classes.iter().map(|class| (class.waiting, class.outstanding)).collect()
}

/// Units that classes received in this many seconds.
async fn got(dispatcher: &Dispatcher<u32>, seconds: u32) -> Vec<f64> {
    let units = || dispatcher.view().totals.classes.iter().map(|class| class.units as f64).collect::<Vec<_>>();
    let before = units();
    pass(SECOND * seconds).await;
    // A class added meanwhile had none before.
    let before = before.into_iter().chain(std::iter::repeat(0.0));
    units().into_iter().zip(before).map(|(after, before)| after - before).collect()
}

/// Shares of the total.
fn shares(units: &[f64]) -> Vec<f64> {
    let all: f64 = units.iter().sum();
    units.iter().map(|units| units / all).collect()
}

fn assert_close(ours: &[f64], expected: &[f64], within: f64) {
    let close = ours.len() == expected.len() && ours.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() <= within);
    assert!(close, "{ours:?} is not {expected:?} within {within}");
}

#[tokio::test(start_paused = true)]
async fn time_alone_gives_turns() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    takes(arrive(&dispatcher, 0, 0));
    // The pace is 0.95 of the rate, and the savings from before are 60 ms of it.
    let [units] = got(&dispatcher, 20).await[..] else { panic!("one class") };
    assert!((19_000.0..19_000.0 + 57.0 + 16.0).contains(&units), "{units}");
}

#[tokio::test(start_paused = true)]
async fn what_lies_unread_is_charged_once() {
    let dispatcher = dispatcher("grants", &RequestSetup::for_bytes(239_000.0), &[1.0]);
    let tokens = || {
        let figures = dispatcher.totals().figures;
        figures.into_iter().find_map(|(name, value)| (name == "tokens").then_some(value)).expect("grants has tokens")
    };
    let ticket = arrive(&dispatcher, 0, 0);
    let released = tokens();
    ticket.unread(100_000);
    let charged = tokens();
    assert!((80_000.0..100_000.0).contains(&(released - charged)), "{released} {charged}");
    ticket.unread(100_000);
    ticket.received(40_000);
    ticket.unread(60_000);
    assert_eq!(tokens(), charged);
}

#[tokio::test(start_paused = true)]
async fn a_request_to_a_distant_server_is_released_as_much_earlier() {
    let mut waits = Vec::new();
    // The far queue bridges 60 ms.
    for distance in [Nanos::ZERO, Nanos::from_millis(160)] {
        let dispatcher = dispatcher("grants", &RequestSetup::for_bytes(239_000.0), &[1.0]);
        let first = arrive(&dispatcher, 0, 0);
        first.unread(100_000);
        let began = Instant::now();
        let second = dispatcher.arrive_from(distance, &1, ClassId(0), None, "distant".into());
        second.released().await;
        waits.push(began.elapsed().as_millis());
    }
    assert!(waits[0] > 200 && (99..=101).contains(&(waits[0] - waits[1])), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_number_without_users_goes_to_another_class_whose_counts_begin_at_zero() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0, 1.0, 1.0]);
    let used = || dispatcher.used_classes();
    let (ended, moved) = (arrive(&dispatcher, 0, 1), arrive(&dispatcher, 1, 2));
    ended.received(10);
    ended.end();
    dispatcher.place(&1, ClassId(0));
    assert_eq!(used(), [true, true, true], "one was there a moment ago, and another's time counts there");
    pass(SECOND * 61).await;
    drop(moved);
    assert_eq!(used(), [true, false, false]);
    dispatcher.renew_class(ClassId(1), Weight::new(3.0).unwrap());
    dispatcher.renew_class(ClassId(9), Weight::ONE);
    let classes = dispatcher.view().totals.classes;
    let class = classes[1];
    assert_eq!((classes.len(), class.weight.as_f64(), class.units, class.requests), (3, 3.0, 0, 0));
    assert_eq!(dispatcher.view().totals.units, 10);
    let again = arrive(&dispatcher, 2, 1);
    assert_eq!((used(), again.is_released()), (vec![true, true, false], true));
}

#[tokio::test(start_paused = true)]
async fn without_a_driver_time_gives_nothing() {
    let dispatcher = still_dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    takes(arrive(&dispatcher, 0, 0));
    // 57 tokens pay for four turns, the last of them on credit.
    assert_eq!(got(&dispatcher, 20).await, [64.0]);
}

#[tokio::test(start_paused = true)]
async fn who_drops_a_ticket_gives_up() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0]);
    let [first, second, third] = [0, 1, 2].map(|who| arrive(&dispatcher, who, 0));
    assert_eq!([&first, &second, &third].map(|ticket| ticket.is_released()), [true, false, false]);
    drop(second);
    assert_eq!(waiting_and_outstanding(&dispatcher), [(1, 1)]);
    drop(first);
    assert!(third.is_released(), "the window is free");
    third.received(10);
    third.end();
    let class = dispatcher.view().totals.classes[0];
    assert_eq!((class.waiting, class.outstanding), (0, 0));
    assert!(dispatcher.view().active_users().iter().all(|&users| users == 0));
    assert_eq!((class.requests, class.cancelled, class.units), (3, 2, 10));
    assert_eq!(dispatcher.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_class_that_does_not_exist_counts_as_the_first() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0, 2.0]);
    let tickets = [(0, 1), (1, 2), (2, u32::MAX), (0, 99)].map(|(who, class)| arrive(&dispatcher, who, class));
    let classes = &dispatcher.view().totals.classes;
    assert_eq!([classes[0].requests, classes[1].requests], [3, 1]);
    assert_eq!([classes[0].waiting + classes[0].outstanding, classes[1].waiting + classes[1].outstanding], [4, 0]);
    drop(tickets);
}

#[tokio::test(start_paused = true)]
async fn all_tasks_that_await_one_release_are_woken() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0]);
    let (first, second) = (arrive(&dispatcher, 0, 0), Arc::new(arrive(&dispatcher, 1, 0)));
    let wait = || {
        let second = Arc::clone(&second);
        tokio::spawn(async move { second.released().await })
    };
    let (one, other) = (wait(), wait());
    pass(SECOND).await;
    assert!(!one.is_finished() && !other.is_finished());
    first.end();
    pass(SECOND).await;
    assert!(one.is_finished() && other.is_finished());
    second.released().await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_when_another_ends() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0]);
    let (first, second) = (arrive(&dispatcher, 0, 0), arrive(&dispatcher, 1, 0));
    let waits = tokio::spawn(async move {
        second.released().await;
        second.times()
    });
    pass(SECOND).await;
    assert!(!waits.is_finished());
    first.end();
    let (arrived, released) = waits.await.expect("it was released");
    assert_eq!((arrived, released), (Nanos::ZERO, Some(Nanos::from_secs(1))));
}

#[tokio::test(start_paused = true)]
async fn users_are_forgotten_after_a_minute() {
    let dispatcher = dispatcher("none", &tokens(1_000.0), &[1.0, 1.0]);
    let known = || {
        let mut known: Vec<_> = dispatcher.view().users.iter().map(|user| (user.who, user.requests)).collect();
        known.sort_unstable();
        known
    };
    let stays = arrive(&dispatcher, 1, 0);
    arrive(&dispatcher, 2, 1).end();
    pass(SECOND * 30).await;
    arrive(&dispatcher, 3, 1).end();
    pass(SECOND * 29).await;
    assert_eq!(known(), [(1, 1), (2, 1), (3, 1)]);
    pass(SECOND).await;
    assert_eq!(known(), [(1, 1), (3, 1)]);
    arrive(&dispatcher, 3, 1).end();
    pass(SECOND * 59).await;
    assert_eq!(known(), [(1, 1), (3, 2)]);
    // A new user gets a number that was used before, but is another user.
    let new = arrive(&dispatcher, 4, 0);
    pass(SECOND).await;
    assert_eq!(known(), [(1, 1), (4, 1)]);
    drop((stays, new));
    assert_eq!(waiting_and_outstanding(&dispatcher), [(0, 0), (0, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_that_comes_once_is_not_remembered() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0]);
    let mut most = 0;
    for who in 0..20_000 {
        arrive(&dispatcher, who, 0).end();
        pass(Duration::from_millis(10)).await;
        if who % 500 == 0 {
            most = most.max(dispatcher.view().users.len());
        }
    }
    assert!((5_900..=6_001).contains(&most), "a minute of them: {most}");
    assert_eq!(dispatcher.live(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_user_takes_his_requests_along() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0, 1.0]);
    let _tickets = [(7, 0), (7, 0), (8, 0)].map(|(who, class)| arrive(&dispatcher, who, class));
    assert_eq!(waiting_and_outstanding(&dispatcher), [(2, 1), (0, 0)]);
    dispatcher.reclassify(|&who| ClassId(u32::from(who == 7)));
    assert_eq!(waiting_and_outstanding(&dispatcher), [(1, 0), (1, 1)]);
    // A class that does not exist changes nothing.
    dispatcher.reclassify(|_| ClassId(2));
    assert_eq!(waiting_and_outstanding(&dispatcher), [(1, 0), (1, 1)]);
    // So does a request in another class.
    let _one_more = arrive(&dispatcher, 7, 0);
    assert_eq!(waiting_and_outstanding(&dispatcher), [(3, 1), (0, 0)]);
    let view = dispatcher.view();
    assert_eq!(view.active_users(), [2, 0]);
    assert!(view.live.iter().all(|live| live.class == ClassId(0)));
}

#[tokio::test(start_paused = true)]
async fn a_user_who_moves_has_a_share_of_the_other_class() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0, 3.0]);
    for user in [0, 0, 1, 1] {
        takes(arrive(&dispatcher, user, user));
    }
    assert_close(&got(&dispatcher, 10).await, &[2_375.0, 7_125.0], 0.03);
    let of_users = || {
        let mut users: Vec<_> = dispatcher.view().users.iter().map(|user| (user.who, user.units as f64)).collect();
        users.sort_by_key(|&(who, _)| who);
        users.into_iter().map(|(_, units)| units).collect::<Vec<_>>()
    };
    let before = of_users();
    dispatcher.reclassify(|&who| ClassId(1 - who));
    pass(SECOND * 10).await;
    let moved: Vec<_> = of_users().iter().zip(before).map(|(after, before)| after - before).collect();
    assert_close(&moved, &[7_125.0, 2_375.0], 0.03);
}

#[tokio::test(start_paused = true)]
async fn who_decides_on_classes_may_look_at_the_dispatcher() {
    let dispatcher = dispatcher("none", &tokens(1_000.0), &[1.0, 1.0]);
    let _ticket = arrive(&dispatcher, 0, 0);
    dispatcher.reclassify(|_| ClassId(dispatcher.live() as u32));
    assert_eq!(waiting_and_outstanding(&dispatcher), [(0, 0), (0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn weights_rate_and_classes_change_while_it_works() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0, 1.0]);
    // A class with a single response cannot be switched to while that is being read: so there are two, of one user.
    for class in [0, 0, 1, 1] {
        takes(arrive(&dispatcher, class, class));
    }
    assert_close(&got(&dispatcher, 10).await, &[4_750.0, 4_750.0], 0.02);
    dispatcher.set_weight(ClassId(0), Weight::new(3.0).expect("in range"));
    assert_close(&got(&dispatcher, 10).await, &[7_125.0, 2_375.0], 0.02);
    dispatcher.set_rate(2_000.0);
    assert_close(&got(&dispatcher, 10).await, &[14_250.0, 4_750.0], 0.02);
    let added = dispatcher.add_class(Weight::new(4.0).expect("in range"));
    takes(arrive(&dispatcher, 2, added.0));
    takes(arrive(&dispatcher, 2, added.0));
    let units = got(&dispatcher, 10).await;
    assert_close(&shares(&units), &[0.375, 0.125, 0.5], 0.03);
    assert_close(&[units.iter().sum()], &[19_000.0], 0.02);
    dispatcher.set_weight(ClassId(9), Weight::ONE);
    dispatcher.set_rate(f64::NAN);
    assert_eq!(dispatcher.policy().1.rate, 2_000.0);
    assert_close(&[got(&dispatcher, 10).await.iter().sum()], &[19_000.0], 0.02);
}

#[tokio::test(start_paused = true)]
async fn limits_refuse_who_waits_too_much_already() {
    let dispatcher = dispatcher("msf-rs", &RequestSetup::for_bytes(239_000.0), &[1.0]);
    let limits = WaitLimits { user: 2, all: 3 };
    let try_one = |who| dispatcher.arrive_within(&limits, &who, ClassId(0), None, Arc::from(""));
    let released = try_one(1).expect("nobody waits");
    let _two = [try_one(1), try_one(1)].map(|ticket| ticket.expect("two may wait"));
    assert_eq!(try_one(1).err(), Some(Overloaded::User));
    let third = try_one(2).expect("three may wait in all");
    assert_eq!(try_one(3).err(), Some(Overloaded::All));
    assert_eq!(dispatcher.view().users.len(), 2, "who is refused is not remembered");
    assert_eq!(dispatcher.view().totals.classes[0].requests, 4);
    drop(third);
    drop(try_one(3).expect("there is room again"));
    released.end();
    assert!(try_one(1).is_ok(), "one of his was released");
}

#[tokio::test(start_paused = true)]
async fn a_view_says_how_far_requests_are() {
    let dispatcher = dispatcher(FAIR, &tokens(1_000.0), &[1.0]);
    let first = dispatcher.arrive(&1, ClassId(0), Some(100), Arc::from("/first"));
    let stage = || dispatcher.view().live.iter().find(|live| &*live.label == "/first").map(|live| live.stage);
    assert_eq!(stage(), Some(Stage::Requested));
    first.received(16);
    assert_eq!(stage(), Some(Stage::Receiving));
    // 57 tokens are available: three more turns, and then it has to wait.
    for _ in 0..3 {
        assert_eq!(poll_allowed(&first), None);
        assert_eq!(poll_allowed(&first), Some(16));
        first.received(16);
    }
    assert_eq!(poll_allowed(&first), None);
    assert_eq!(stage(), Some(Stage::Throttled));
    let _second = arrive(&dispatcher, 2, 0);
    pass(Duration::from_millis(5)).await;
    let view = dispatcher.view();
    let waits = view.live.iter().find(|live| live.who == 2).expect("it is there");
    assert_eq!((waits.stage, waits.age, waits.waited), (Stage::Queued, Nanos::from_millis(5), Nanos::from_millis(5)));
}

#[tokio::test(start_paused = true)]
async fn the_driver_ends_with_the_desk_and_its_tickets() {
    let dispatcher = still_dispatcher("none", &tokens(1_000.0), &[1.0]);
    let driver = tokio::spawn(dispatcher.drive());
    let ticket = arrive(&dispatcher, 0, 0);
    pass(SECOND).await;
    drop(dispatcher);
    pass(SECOND).await;
    assert!(!driver.is_finished());
    drop(ticket);
    driver.await.expect("it ends");
}

#[test]
fn a_desk_has_a_class() {
    let spec: RequestSpec = "none".parse().expect("a policy");
    assert!(Dispatcher::<u32>::new(&spec, &tokens(1_000.0), &[]).is_err());
}
