//! `msf-rs` in front of an ideal link: the paper's analysis of latency (section 4.1, equations 4 to 6), and the classes'
//! shares.

use crate::link;

use crate::link::{Link, Sizes};

/// A period longer than any run: the window stays.
fn frozen(window: u32) -> String {
    format!("msf-rs:window={window},period=1000000s")
}

/// Mean times of queueing and of service of equal `requests` that arrive at once, in units of what one takes alone.
fn batch(policy: &str, requests: u32) -> (f64, f64) {
    let mut link = Link::new(policy, 1_000.0, &[1.0]);
    link.place(0, 0);
    (0..requests).for_each(|_| link.arrive(0, 1_000));
    let mut ended = 0;
    while ended < requests as usize {
        ended += link.step(1e5).len();
    }
    let mean = |time: fn(&link::Job) -> f64| link.jobs.iter().map(time).sum::<f64>() / f64::from(requests);
    (mean(|job| job.released_s - job.arrived_s), mean(|job| job.ended_s - job.released_s))
}

/// Equations 5 and 6 with L / C = 1. In print the factor W+ L / C of equation 5 applies to its second term alone; it belongs to
/// both.
fn equations_5_and_6(requests: u32, window: u32) -> (f64, f64) {
    let (m, w) = (f64::from(requests), f64::from(window));
    let rounds = f64::from(requests / window);
    let rest = f64::from(requests % window);
    let queueing = (w * (rounds * (rounds - 1.0) / 2.0).max(0.0) + rest * rounds) * w / m;
    let service = ((m - rest) * w + rest * rest) / m;
    (queueing, service)
}

#[test]
fn twelve_requests_four_at_a_time_take_two_seconds_and_all_at_once_three() {
    // Four responses take a second: the unit of time is what one takes alone, a quarter of that.
    let (queueing, service) = batch(&frozen(4), 12);
    assert!((queueing / 4.0 - 1.0).abs() < 1e-6 && (service / 4.0 - 1.0).abs() < 1e-6);
    let (queueing, service) = batch("none", 12);
    assert!(queueing == 0.0 && (service / 4.0 - 3.0).abs() < 1e-6);
}

#[test]
fn an_ideal_link_gives_equations_4_to_6_exactly() {
    for requests in 1..=60 {
        let (queueing, service) = batch("none", requests);
        assert!(queueing == 0.0 && (service - f64::from(requests)).abs() < 1e-6);
        for window in [4, 8, 12, 20] {
            let (queueing, service) = batch(&frozen(window), requests);
            let (eq5, eq6) = equations_5_and_6(requests, window);
            assert!((queueing - eq5).abs() < 1e-6, "{requests} by {window}: {queueing} {eq5}");
            assert!((service - eq6).abs() < 1e-6, "{requests} by {window}: {service} {eq6}");
        }
    }
}

#[test]
fn small_responses_that_wait_for_a_large_one_take_longer_than_beside_it() {
    let mean_s = |policy: &str| {
        let mut link = Link::new(policy, 1_000.0, &[1.0]);
        link.place(0, 0);
        link.arrive(0, 100_000);
        (0..10).for_each(|_| link.arrive(0, 1_000));
        while link.jobs.iter().any(|job| job.ended_s.is_nan()) {
            link.step(1e5);
        }
        link.jobs.iter().map(|job| job.ended_s).sum::<f64>() / 11.0
    };
    // Started together, the small ones end after 11 s and the large one after 110; one by one, after 101 to 110 s, and 100.
    assert!((mean_s("none") - 20.0).abs() < 1e-6);
    assert!((mean_s(&frozen(1)) - (100.0 + 1_055.0) / 11.0).abs() < 1e-6);
}

/// Units per user of each class of weights 4 : 2 : 1 over a long run; this many users of each always have ten requests there.
fn shares(policy: &str, users: [u32; 3]) -> [f64; 3] {
    const RUN_S: f64 = 3_000.0;
    let mut link = Link::new(policy, 239_000.0, &[4.0, 2.0, 1.0]).with_grain(0.05);
    let mut sizes = Sizes::new(1);
    let class_of: Vec<usize> = (0..3).flat_map(|class| vec![class; users[class] as usize]).collect();
    for (user, &class) in (0..).zip(&class_of) {
        link.place(user, class as u32);
        (0..10).for_each(|_| link.arrive(user, sizes.lognormal()));
    }
    while link.now_s < RUN_S {
        for id in link.step(RUN_S) {
            let user = link.jobs[id as usize].user;
            link.arrive(user, sizes.lognormal());
        }
    }
    let mut units = [0.0; 3];
    for (id, job) in (0..).zip(&link.jobs) {
        units[class_of[job.user as usize]] += link.served(id);
    }
    let whole: f64 = units.iter().sum();
    assert!((whole - 239_000.0 * RUN_S).abs() < 1e-3 * whole, "the link was idle at times");
    [0, 1, 2].map(|class| units[class] / f64::from(users[class].max(1)))
}

fn is_near(ratio: f64, expected: f64) -> bool {
    (ratio / expected - 1.0).abs() < 0.05
}

#[test]
fn classes_that_are_backlogged_have_their_weights() {
    for policy in ["msf-rs", &frozen(8), &frozen(30)] {
        let [first, second, third] = shares(policy, [4, 4, 4]);
        assert!(is_near(first / third, 4.0) && is_near(second / third, 2.0), "{policy}: {first} {second} {third}");
    }
}

#[test]
fn a_window_as_wide_as_all_that_is_asked_for_leaves_nothing_to_decide() {
    let [first, second, third] = shares(&frozen(120), [4, 4, 4]);
    assert!(is_near(first / third, 1.0) && is_near(second / third, 1.0), "{first} {second} {third}");
}

#[test]
fn what_a_sleeping_class_leaves_goes_to_the_others_by_weight() {
    let [first, second, third] = shares(&frozen(8), [0, 4, 4]);
    assert!(first == 0.0 && is_near(second / third, 2.0), "{second} {third}");
}

#[test]
fn users_keep_their_shares_when_their_class_grows_only_if_they_count() {
    for users in [4, 12, 24] {
        let [first, second, third] = shares(&frozen(8), [users, 4, 4]);
        assert!(is_near(first / third, 4.0) && is_near(second / third, 2.0), "{users}: {first} {second} {third}");
    }
    let ignoring = frozen(8) + ",users=ignore";
    let [first, second, third] = shares(&ignoring, [24, 4, 4]);
    // By classes, six times as many users have a sixth each.
    assert!(is_near(first / third, 4.0 / 6.0) && is_near(second / third, 2.0), "{first} {second} {third}");
}
