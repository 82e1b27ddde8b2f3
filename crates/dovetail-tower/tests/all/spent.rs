//! How a request's time is accounted for: a worked example, and that it is divided without remainder whatever happens.

use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};

use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, RequestSetup, RequestSpec},
};
use dovetail_tower::{
    Dispatcher, Ticket,
    dispatcher::{Spending, Spent},
};
use tokio::time::sleep;

const RATE: f64 = 100_000.0;

fn dispatcher(policy: &str) -> Dispatcher<&'static str> {
    let policy: RequestSpec = policy.parse().expect("a policy");
    let dispatcher = Dispatcher::new(&policy, &RequestSetup::for_bytes(RATE), &[Weight::ONE; 2]).expect("a dispatcher");
    tokio::spawn(dispatcher.drive());
    dispatcher
}

async fn pass(millis: u64) {
    sleep(Duration::from_millis(millis)).await;
}

const fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn time_goes_to_whose_units_came_to_the_server_and_to_the_client() {
    // The window of msf-rs is one response at first.
    let dispatcher = dispatcher("msf-rs");
    let arrive = |who, class| dispatcher.arrive(&who, ClassId(class), None, "a".into());
    let first = arrive("ann", 0);
    let [again, amy, bob] = [arrive("ann", 0), arrive("amy", 0), arrive("bob", 1)];
    let spending = Arc::new(Spending::default());
    first.record_into(&spending);
    pass(20).await;
    // 10 ms of link time, and 4 ms of no known class.
    first.received(1_000);
    dispatcher.stray(None, 400);
    pass(30).await;
    first.client_blocked(true);
    pass(5).await;
    first.client_blocked(false);
    pass(5).await;
    let expected = Spent { server: ms(20), receiving: ms(30 + 5), client: ms(5), ..Spent::default() };
    assert_eq!(first.spent(), expected);
    first.end();
    assert_eq!(spending.sum(), expected);
    assert_eq!(dispatcher.totals().classes[0].spent, expected);
    let strays = Spent { other_classes: ms(4), pace: ms(46), ..Spent::default() };
    assert_eq!(again.spent(), Spent { own_user: ms(10), ..strays });
    assert_eq!(amy.spent(), Spent { own_class: ms(10), ..strays });
    assert_eq!(bob.spent(), Spent { other_classes: ms(14), ..strays });
    let view = dispatcher.view();
    assert!(view.live.iter().all(|live| live.spent.total() == ms(60)), "{:?}", view.live);
}

/// Requests a turn, like a connection with waiting data; returns what may be taken in, if anything.
async fn asks(ticket: &Ticket<&'static str>) -> Option<u64> {
    poll_fn(|cx| {
        // If it is not granted at once, the turn may be given meanwhile.
        let _ = ticket.poll_allowed(cx);
        Poll::Ready(Some(ticket.allowed()).filter(|&allowed| allowed > 0))
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_response_that_waits_for_turns_waits_for_whose_units_come() {
    // Each class has half of the rate: a turn takes 58 ms once the savings are spent.
    let dispatcher = dispatcher("delay-pools");
    let arrive = |who, class| dispatcher.arrive(&who, ClassId(class), None, "a".into());
    let (ann, bob) = (arrive("ann", 0), arrive("bob", 1));
    bob.received(500);
    while let Some(allowed) = asks(&ann).await {
        ann.received(allowed);
    }
    // The link carries Bob's units for 5 ms, and then Ann's own.
    pass(8).await;
    assert_eq!(ann.spent(), Spent { other_classes: ms(5), own_user: ms(3), ..Spent::default() });
    assert_eq!(bob.spent(), Spent { receiving: ms(8), ..Spent::default() });
}

#[tokio::test(start_paused = true)]
async fn it_is_divided_without_remainder_whatever_happens() {
    const USERS: [&str; 4] = ["ann", "amy", "bob", "ben"];
    for policy in ["none", "msf-rs", "grants", "delay-pools"] {
        let dispatcher = dispatcher(policy);
        let spending = Arc::new(Spending::default());
        let mut tickets: Vec<Ticket<_>> = Vec::new();
        let (mut over, mut random) = (Nanos::ZERO, 7u64);
        let mut draw = |below: usize| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) as usize % below
        };
        for _ in 0..4_000 {
            pass(draw(4) as u64).await;
            let user = draw(4);
            if tickets.len() < 12 && draw(3) == 0 {
                let ticket = dispatcher.arrive(&USERS[user], ClassId(user as u32 / 2), None, "a".into());
                ticket.record_into(&spending);
                tickets.push(ticket);
            } else if !tickets.is_empty() {
                let at = draw(tickets.len());
                let ticket = &tickets[at];
                match draw(7) {
                    0 | 1 if ticket.is_released() => ticket.received(draw(400) as u64 + 1),
                    2 => drop(asks(ticket).await),
                    3 if ticket.is_released() => ticket.client_blocked(draw(2) == 0),
                    4 => dispatcher.stray((draw(2) == 0).then_some(ClassId(1)), draw(900) as u64),
                    5 if draw(40) == 0 => dispatcher.reclassify(|who| ClassId(u32::from(who.starts_with('a')))),
                    6 => {
                        let ticket = tickets.swap_remove(at);
                        over += dispatcher.now() - ticket.times().0;
                        if draw(4) > 0 {
                            ticket.end();
                        }
                    }
                    _ => {}
                }
            }
            assert_eq!(spending.sum().total(), over, "{policy}");
            for live in dispatcher.view().live {
                assert_eq!(live.spent.total(), live.age, "{policy}: {live:?}");
            }
        }
        let spent = spending.sum();
        let Spent { server, client, receiving, own_user, own_class, other_classes, pace } = spent;
        assert!([server, client, receiving].into_iter().all(|part| part > Nanos::ZERO), "{policy}: {spent:?}");
        let waited = [own_user, own_class, other_classes, pace].into_iter().all(|part| part > Nanos::ZERO);
        assert!(waited || !matches!(policy, "msf-rs" | "grants"), "{policy}: {spent:?}");
        let classes = dispatcher.totals().classes;
        assert_eq!(classes[0].spent.and(&classes[1].spent), spent, "{policy}");
    }
}
