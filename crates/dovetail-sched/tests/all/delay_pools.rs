//! `delay-pools` before an ideal link: each class has its rate, and no more.

use crate::link::Link;
use dovetail_sched::{
    Nanos, Weight,
    request::{ClassId, Request, RequestId, RequestScheduler, RequestSetup, RequestSpec, UserId},
};
use proptest::prelude::*;

const RATE: f64 = 70_000.0;
const QUANTUM: f64 = 2.0 * 1448.0;

/// Classes of 4 : 2 : 1 with a user in each, of whom these request an endless response. The link carries twice what the pools
/// distribute, so that only the pools limit.
fn pools(policy: &str, asking: &[u32]) -> Link {
    let mut link = Link::new(policy, 2.0 * RATE, &[4.0, 2.0, 1.0]);
    link.gateway.set_rate(RATE, Nanos::ZERO);
    (0..3).for_each(|user| link.place(user, user));
    asking.iter().for_each(|&user| link.arrive(user, 1 << 40));
    link
}

fn run(link: &mut Link, until_s: f64) {
    while link.now_s < until_s {
        assert!(link.step(until_s).is_empty(), "a response without end has ended");
    }
}

/// The rate of each request from now to `until_s`, in units per second.
fn rates(link: &mut Link, until_s: f64) -> Vec<f64> {
    let ids = 0..link.jobs.len() as u32;
    let before: Vec<f64> = ids.clone().map(|id| link.served(id)).collect();
    let from_s = link.now_s;
    run(link, until_s);
    ids.zip(before).map(|(id, before)| (link.served(id) - before) / (until_s - from_s)).collect()
}

/// Up to a turn or two, in a hundred seconds.
fn is_near(rate: f64, expected: f64) -> bool {
    (rate - expected).abs() <= 2.0 * QUANTUM / 100.0
}

#[test]
fn each_class_has_its_rate_whoever_else_is_there() {
    for asking in [&[0, 1, 2][..], &[1, 2], &[2]] {
        let mut link = pools("delay-pools", asking);
        run(&mut link, 10.0);
        for (&class, rate) in asking.iter().zip(rates(&mut link, 110.0)) {
            let expected = [40_000.0, 20_000.0, 10_000.0][class as usize];
            assert!(is_near(rate, expected), "{asking:?}: class {class} had {rate}");
        }
    }
}

#[test]
fn responses_of_a_class_take_turns() {
    let mut link = pools("delay-pools", &[0, 0, 0, 2]);
    run(&mut link, 10.0);
    let rates = rates(&mut link, 110.0);
    assert!(rates[..3].iter().all(|&rate| is_near(rate, 40_000.0 / 3.0)), "{rates:?}");
}

#[test]
fn a_bucket_saves_no_more_than_it_holds() {
    for seconds in [0.5, 2.0] {
        let mut link = pools(&format!("delay-pools:seconds={seconds}s"), &[]);
        // Long enough to fill it many times over.
        run(&mut link, 100.0);
        link.arrive(2, 1 << 40);
        run(&mut link, 110.0);
        let expected = 10_000.0 * (seconds + 10.0);
        assert!((link.served(0) - expected).abs() <= QUANTUM, "{seconds}: {}", link.served(0));
    }
}

#[test]
fn rates_follow_the_link_and_the_weights() {
    let mut link = pools("delay-pools", &[0, 1, 2]);
    run(&mut link, 10.0);
    link.gateway.set_rate(RATE / 2.0, Nanos::from_secs(10));
    let halved = rates(&mut link, 110.0);
    assert!(is_near(halved[0], 20_000.0) && is_near(halved[2], 5_000.0), "{halved:?}");
    link.gateway.set_class(ClassId(2), Weight::new(8.0).expect("a weight"), Nanos::from_secs(110));
    let weighed = rates(&mut link, 210.0);
    assert!(is_near(weighed[0], 10_000.0) && is_near(weighed[2], 20_000.0), "{weighed:?}");
}

#[test]
fn a_user_who_moves_is_held_back_with_his_new_class() {
    let mut link = pools("delay-pools", &[0, 2]);
    run(&mut link, 10.0);
    link.gateway.set_user(UserId(0), ClassId(2), Nanos::from_secs(10));
    let rates = rates(&mut link, 110.0);
    assert!(is_near(rates[0], 5_000.0) && is_near(rates[1], 5_000.0), "{rates:?}");
}

/// Two classes at a link of this rate, and a response of a user of the first that has received so much and waits for more.
fn one_waits(rate: f64, received: u64) -> (Box<dyn RequestScheduler>, RequestId) {
    let spec = "delay-pools".parse::<RequestSpec>().expect("a policy");
    let mut gateway = spec.build(&RequestSetup::for_bytes(rate)).expect("a setup");
    for class in [ClassId(0), ClassId(1)] {
        gateway.set_class(class, Weight::ONE, Nanos::ZERO);
    }
    gateway.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    let id = RequestId(0);
    gateway.enqueue(&Request { id, user: UserId(0), length: None }, Nanos::ZERO);
    assert!(gateway.dequeue(Nanos::ZERO).is_some());
    gateway.received(id, received, Nanos::ZERO);
    gateway.ready(id, Nanos::ZERO);
    (gateway, id)
}

#[test]
fn a_response_that_is_held_back_goes_on_when_its_user_moves_to_a_full_bucket() {
    // Much more than permitted: the class gets nothing for a day.
    let (mut gateway, id) = one_waits(1e6, 50_000_000_000);
    assert_eq!(gateway.dequeue(Nanos::from_secs(3_600)), None);
    gateway.set_user(UserId(0), ClassId(1), Nanos::from_secs(3_600));
    assert!(gateway.dequeue(Nanos::from_secs(3_600)).is_some_and(|turn| turn.request == id && turn.units == 2_896));
}

#[test]
fn a_response_waits_for_no_more_than_its_bucket_can_hold_by_now() {
    let changes: [fn(&mut dyn RequestScheduler); 3] = [
        |gateway| gateway.set_rate(80.0, Nanos::ZERO),
        |gateway| gateway.set_class(ClassId(1), Weight::new(199.0).expect("a weight"), Nanos::ZERO),
        |gateway| {
            let shorter: RequestSpec = "delay-pools:seconds=10ms".parse().expect("a policy");
            gateway.retune(&shorter.knobs(), Nanos::ZERO).expect("retunable");
        },
    ];
    for change in changes {
        let (mut gateway, id) = one_waits(8_000.0, 2_896);
        assert_eq!(gateway.dequeue(Nanos::ZERO), None, "it lacks 1,792 of a turn");
        change(&mut *gateway);
        // Its bucket holds 40 now, and is full.
        let turn = gateway.dequeue(Nanos::ZERO);
        assert!(turn.is_some_and(|turn| turn.request == id && turn.units == 40), "{turn:?}");
    }
}

#[test]
fn what_a_response_leaves_of_its_turn_comes_back() {
    let spec = "delay-pools".parse::<RequestSpec>().expect("a policy");
    let setup = RequestSetup::for_bytes(10_000.0);
    let mut gateway = spec.build(&setup).unwrap();
    gateway.set_class(ClassId(0), Weight::ONE, Nanos::ZERO);
    gateway.set_user(UserId(0), ClassId(0), Nanos::ZERO);
    // A thousand responses of 10 units: a second's worth, whereas their first turns alone would be worth 290 seconds.
    for id in (0..1_000).map(RequestId) {
        gateway.enqueue(&Request { id, user: UserId(0), length: None }, Nanos::ZERO);
        assert!(gateway.dequeue(Nanos::ZERO).is_some_and(|turn| turn.releases && turn.units == 2_896));
        gateway.received(id, 10, Nanos::ZERO);
        gateway.ended(id, Nanos::ZERO);
    }
    let id = RequestId(0);
    gateway.enqueue(&Request { id, user: UserId(0), length: None }, Nanos::ZERO);
    assert!(gateway.dequeue(Nanos::ZERO).is_some());
    gateway.received(id, 2_896, Nanos::ZERO);
    gateway.ready(id, Nanos::ZERO);
    // The bucket held 10,000 and now lacks 2,896; 2,896 more are requested.
    assert_eq!(gateway.poll_at(), Some(Nanos(579_200_000)));
}

proptest! {
    /// A token bucket's bound: in any span a class receives no more than its bucket held, what flowed in, and a turn for each
    /// of its responses that began.
    #[test]
    fn no_span_has_more_than_the_bucket_and_what_flows_in(
        arrivals in prop::collection::vec((0u32..3, 1u64..60_000, 0.0f64..3.0), 1..40),
        seconds in prop_oneof![Just(1.0f64), 0.1f64..4.0],
    ) {
        let mut link = pools(&format!("delay-pools:seconds={seconds}s"), &[]);
        let mut arrivals = arrivals.into_iter().peekable();
        let mut next_s = 0.0;
        // By class: the minimum so far of its service less the inflow and the first turns.
        let mut least = [0.0f64; 3];
        let mut begun = [0u32; 3];
        while link.now_s < 200.0 && (arrivals.peek().is_some() || link.jobs.iter().any(|job| job.ended_s.is_nan())) {
            while next_s <= link.now_s && let Some((class, units, gap_s)) = arrivals.next() {
                link.arrive(class, units);
                begun[class as usize] += 1;
                next_s += gap_s;
            }
            link.step(if arrivals.peek().is_some() { next_s.max(link.now_s) } else { 200.0 });
            for class in 0..3 {
                let rate = [40_000.0, 20_000.0, 10_000.0][class];
                let of_class = (0..link.jobs.len() as u32).filter(|&id| link.jobs[id as usize].user == class as u32);
                let had: f64 = of_class.map(|id| link.served(id)).sum();
                let had_beyond = had - rate * link.now_s - f64::from(begun[class]) * QUANTUM;
                least[class] = least[class].min(had_beyond);
                // A unit for each turn's rounding.
                prop_assert!(had_beyond - least[class] <= rate * seconds + QUANTUM + 50.0, "class {}: {}", class, had_beyond);
            }
        }
        prop_assert!(link.now_s < 200.0, "responses that never end");
    }
}

#[test]
fn what_a_response_did_not_use_is_refunded_to_the_class_that_paid_wherever_its_user_is_by_then() {
    // 4,000 a second for each class, and 4,000 to begin with.
    let setup = RequestSetup::for_bytes(8_000.0);
    let mut pools = "delay-pools".parse::<RequestSpec>().expect("a policy").build(&setup).expect("a rate");
    for class in [0, 1].map(ClassId) {
        pools.set_class(class, Weight::ONE, Nanos::ZERO);
    }
    for user in 0..3 {
        pools.set_user(UserId(user), ClassId(user % 2), Nanos::ZERO);
    }
    // A response that has had a quantum: when its class has the next.
    let begin = |pools: &mut Box<dyn RequestScheduler>, id, user| {
        pools.enqueue(&Request { id: RequestId(id), user: UserId(user), length: None }, Nanos::ZERO);
        let turn = pools.dequeue(Nanos::ZERO).expect("requests leave at once");
        assert_eq!((turn.request, turn.units), (RequestId(id), QUANTUM as u64));
    };
    let waits = |pools: &mut Box<dyn RequestScheduler>, id| {
        pools.received(RequestId(id), QUANTUM as u64, Nanos::ZERO);
        pools.ready(RequestId(id), Nanos::ZERO);
        pools.poll_at()
    };
    begin(&mut pools, 0, 0);
    begin(&mut pools, 1, 1);
    let opens = Some(Nanos::from_millis(448));
    assert_eq!(waits(&mut pools, 1), opens);
    pools.set_user(UserId(0), ClassId(1), Nanos::ZERO);
    pools.ended(RequestId(0), Nanos::ZERO);
    assert_eq!(pools.poll_at(), opens, "the other class gets nothing for it");
    pools.cancel(RequestId(1), Nanos::ZERO);
    begin(&mut pools, 2, 2);
    assert_eq!(waits(&mut pools, 2), opens, "its own class has all of it");
}
