//! `grants` in front of a simple model of a link: the far queue is kept short and the link full, the link's capacity is found,
//! no class starves meanwhile, short responses end sooner, and long ones end.

use crate::{
    far_link::{FarLink, Job},
    figures::figure,
};
use dovetail_sched::request::{RequestScheduler, RequestSetup, RequestSpec};

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// 2 Mbit/s less headers.
const RATE: f64 = 239_000.0;

fn build(knobs: &str, setup: &RequestSetup) -> Box<dyn RequestScheduler> {
    knobs.parse::<RequestSpec>().expect("a policy").build(setup).expect("a setup in range")
}

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Pareto with shape 1.2 from `least`, and at most `most`.
    fn heavy(&mut self, least: f64, most: f64) -> u64 {
        (least / (1.0 - self.unit()).powf(1.0 / 1.2)).min(most) as u64
    }
}

#[test]
fn twelve_long_responses_fill_the_link_and_the_far_queue_stays_short() {
    let setup = RequestSetup::for_bytes(RATE);
    let mut gateway = build("grants", &setup);
    FarLink::place(&mut *gateway, &[(1.0, 12)]);
    let mut link = FarLink::new(&mut *gateway, RATE, setup.overhead, 1);
    for user in 0..12 {
        link.ask(Job::honest(user, 0, 100_000_000, 10 * MS + u64::from(user) * 20 * MS), 0);
    }
    link.run(10 * SECOND, |_| false);
    let (taken, mut longest, mut sum, mut n) = (link.taken[0], 0.0f64, 0.0, 0.0);
    link.run(70 * SECOND, |link| {
        let delay = figure(&*link.gateway, "far_delay_ms");
        (longest, sum, n) = (longest.max(delay), sum + delay, n + 1.0);
        false
    });
    let utilisation = (link.taken[0] - taken) as f64 / (60.0 * RATE);
    println!("utilisation {utilisation:.4}, far queue {:.1} ms in the mean, {longest:.1} ms at most", sum / n);
    assert!(utilisation >= 0.98, "{utilisation}");
    assert!(longest < 200.0 && (40.0..80.0).contains(&(sum / n)), "{longest} {}", sum / n);
}

/// Three classes of weights 4, 2 and 1 with four users each, who always want more. Returns the policy's estimate of the link's
/// capacity over the true one in the last of 60 s, the longest time that a class was not served, and the classes' parts.
fn learn(given: f64, seed: u64) -> (f64, f64, [f64; 3]) {
    let setup = RequestSetup::for_bytes(RATE * given);
    let mut gateway = build("grants", &setup);
    FarLink::place(&mut *gateway, &[(4.0, 4), (2.0, 4), (1.0, 4)]);
    let mut link = FarLink::new(&mut *gateway, RATE, setup.overhead, 3);
    let mut random = Random(seed);
    let mut job = |user: u32| {
        let way = 10.0 + 240.0 * random.unit();
        Job::honest(user, user / 4, random.heavy(3000.0, 3e6), way as u64 * MS)
    };
    for user in 0..12 {
        link.ask(job(user), 0);
    }
    let (mut over, mut hungry, mut sum, mut n) = (0, 0u64, 0.0, 0.0);
    let mut before = [0; 3];
    link.run(90 * SECOND, |link| {
        while over < link.done.len() {
            let next = job(link.done[over].job.user);
            link.ask(next, link.now);
            over += 1;
        }
        hungry = link.last_taken.iter().map(|&last| link.now - last).max().unwrap_or(0).max(hungry);
        if link.now < 60 * SECOND {
            before.copy_from_slice(&link.taken);
        } else {
            (sum, n) = (sum + figure(&*link.gateway, "capacity"), n + 1.0);
        }
        false
    });
    let had = [0, 1, 2].map(|class| (link.taken[class] - before[class]) as f64 / (30.0 * RATE));
    (sum / n / RATE, hungry as f64 / 1e9, had)
}

#[test]
fn what_the_link_carries_is_found_within_a_minute_and_no_class_starves() {
    for given in [0.5, 1.0, 2.0] {
        // Which four users have the long responses is chance, and gold's windows are short for its share.
        let (mut sums, runs) = ([0.0; 3], 48);
        for seed in 1..=runs {
            let (found, hungry_s, had) = learn(given, seed);
            println!("given {given}: found {found:.3} after 60 s, a class without service {hungry_s:.2} s, {had:.3?}");
            assert!((0.9..1.1).contains(&found), "given {given}, seed {seed}: {found}");
            assert!(hungry_s < 10.0, "given {given}, seed {seed}: {hungry_s} s");
            assert!(had.iter().sum::<f64>() > 0.9, "given {given}, seed {seed}: {had:?}");
            sums.iter_mut().zip(had).for_each(|(sum, had)| *sum += had);
        }
        let [a, b, c] = sums;
        println!("given {given}: {:.2} : {:.2} : 1", a / c, b / c);
        assert!((1.7..2.3).contains(&(a / b)) && (1.9..2.1).contains(&(b / c)), "given {given}: {sums:?}");
    }
}

#[test]
fn a_response_alone_opens_its_window_until_the_link_is_full() {
    let rate = 100e6 / 8.0 * 0.95;
    for start in [1.0, 8.0] {
        // A window that is too small for the round trip, by a factor of up to eight.
        let for_bytes = RequestSetup::for_bytes(rate);
        let setup = RequestSetup { window: (for_bytes.window as f64 / start) as u64, ..for_bytes };
        let mut gateway = build("grants", &setup);
        FarLink::place(&mut *gateway, &[(1.0, 1)]);
        let mut link = FarLink::new(&mut *gateway, rate, setup.overhead, 1);
        link.ask(Job::honest(0, 0, u64::MAX / 2, 50 * MS), 0);
        link.run(5 * SECOND, |_| false);
        let before = link.taken[0];
        link.run(15 * SECOND, |_| false);
        let utilisation = (link.taken[0] - before) as f64 / (10.0 * rate);
        println!("window at first {}: utilisation {utilisation:.4}", setup.window);
        assert!(utilisation >= 0.95, "{utilisation}");
    }
}

/// From 600 ms away bytes arrive in bursts, in which the bucket is empty.
#[test]
fn a_far_response_alone_fills_most_of_the_link_within_ten_seconds() {
    for mbps in [2.0, 10.0, 50.0] {
        let rate = mbps * 1e6 / 8.0 * 0.95;
        let setup = RequestSetup { longest_window: 16 << 20, ..RequestSetup::for_bytes(rate) };
        let mut gateway = build("grants", &setup);
        FarLink::place(&mut *gateway, &[(1.0, 1)]);
        let mut link = FarLink::new(&mut *gateway, rate, setup.overhead, 1);
        link.ask(Job::honest(0, 0, u64::MAX / 2, 600 * MS), 0);
        link.run(10 * SECOND, |_| false);
        let utilisation = link.taken[0] as f64 / (10.0 * rate);
        println!("{mbps} Mbit/s: utilisation {utilisation:.3}");
        assert!(utilisation >= 0.51, "{utilisation}");
    }
}

/// Requests of many users for sizes with a heavy tail, at random times at this load. Returns the mean time to the end, in s, and
/// which part of the pieces waited in the far queue for twice the target or longer.
fn open(policy: &str, load: f64, seed: u64, tells_distance: bool) -> (f64, f64) {
    let setup = RequestSetup::for_bytes(RATE);
    let mut gateway = build(policy, &setup);
    FarLink::place(&mut *gateway, &[(1.0, 40)]);
    let mut link = FarLink::new(&mut *gateway, RATE, setup.overhead, 1);
    link.tells_distance = tells_distance;
    let mut random = Random(seed);
    let jobs: Vec<_> = (0..1500).map(|_| (random.heavy(3000.0, 1e6), (10.0 + 240.0 * random.unit()) as u64)).collect();
    let mean = jobs.iter().map(|&(size, _)| (size + setup.overhead) as f64).sum::<f64>() / jobs.len() as f64;
    let mut at = 0.0;
    for &(size, way) in &jobs {
        at += random.exponential(mean / (load * RATE));
        link.ask(Job::honest((random.unit() * 40.0) as u32, 0, size, way * MS), (at * 1e9) as u64);
    }
    assert!(link.run(4000 * SECOND, |link| link.done.len() == jobs.len()), "{policy}: not all responses ended");
    let mean = link.done.iter().map(|done| (done.done - done.asked) as f64 / 1e9).sum::<f64>() / jobs.len() as f64;
    let long: u64 = link.waits.iter().skip(12).sum();
    (mean, long as f64 / link.waits.iter().sum::<u64>() as f64)
}

#[test]
fn the_shortest_first_is_over_sooner_in_the_mean() {
    for seed in 0..3 {
        let [srpt, fair] = ["grants:order=srpt", "grants:order=fair"].map(|policy| open(policy, 0.9, seed, false).0);
        println!("seed {seed}: mean {srpt:.2} s with srpt, {fair:.2} s in turn");
        assert!(srpt < fair, "seed {seed}: {srpt} s, {fair} s");
    }
}

#[test]
fn the_far_queue_is_long_less_often_if_distances_are_told() {
    let mut long = [0.0, 0.0];
    for seed in 0..6 {
        let [(mean, untold), (mean_told, told)] = [false, true].map(|tells| open("grants", 0.9, seed, tells));
        println!(
            "seed {seed}: mean {mean:.3} s and {untold:.3} of pieces wait long, {mean_told:.3} s and {told:.3} if told"
        );
        assert!(told < 0.9 * untold && mean_told < 1.1 * mean, "seed {seed}");
        long = [long[0] + untold, long[1] + told];
    }
    assert!(long[1] < 0.75 * long[0], "{long:?}");
}

/// One user's large response beside short ones that fill the link 1.2 times. Returns when it ends, in s, if within 200 s.
fn large_one(ageing: u64) -> Option<f64> {
    let setup = RequestSetup::for_bytes(RATE);
    let mut gateway = build(&format!("grants:ageing={ageing}"), &setup);
    FarLink::place(&mut *gateway, &[(1.0, 1)]);
    let mut link = FarLink::new(&mut *gateway, RATE, setup.overhead, 1);
    link.ask(Job { hint: Some(400_000), ..Job::honest(0, 0, 400_000, 20 * MS) }, SECOND);
    for n in 0..6000 {
        let at = f64::from(n) * 8000.0 / (1.2 * RATE);
        link.ask(Job { hint: Some(8000), ..Job::honest(0, 0, 8000, 20 * MS) }, (at * 1e9) as u64);
    }
    let is_large = |link: &FarLink<'_>| link.done.last().is_some_and(|done| done.job.size == 400_000);
    link.run(160 * SECOND, |link| is_large(link)).then_some(link.now as f64 / 1e9)
}

#[test]
fn ageing_bounds_how_long_a_large_response_waits() {
    assert_eq!(large_one(0), None);
    for ageing in [10_000, 40_000] {
        // Requests that arrive later than 400,000/ageing s do not precede it; by then that much is queued, and then a window of
        // it goes at a time: every 20 ms and twice the far queue.
        let work_s = (1.0 + 400_000.0 / ageing as f64) * 1.2 * 8330.0 / 8000.0;
        let windows_s = 400_000.0 / RequestSetup::for_bytes(RATE).window as f64 * 0.14;
        let done_s = large_one(ageing).expect("it is over");
        println!("ageing {ageing}: over after {done_s:.1} s, bound {:.1} s", work_s + windows_s);
        assert!(done_s < work_s + windows_s);
    }
}

#[test]
fn tokens_of_an_inference_server_go_by_weight() {
    // 800 tokens a second in turns of 16, nothing in flight; requests of a few hundred, whose ends are unknown.
    let setup = RequestSetup { rate: 800.0, quantum: 16, window: 0, longest_window: 0, overhead: 0 };
    let mut server = build("grants:order=fair,learn=off,lag=64,slack=64", &setup);
    FarLink::place(&mut *server, &[(4.0, 2), (2.0, 2), (1.0, 2)]);
    let mut link = FarLink::new(&mut *server, 800.0, 0, 3);
    let mut random = Random(3);
    let mut job = |user: u32| {
        let size = 50 + (random.unit() * 400.0) as u64;
        Job { said: None, ..Job::honest(user, user / 2, size, MS) }
    };
    for user in 0..6 {
        for _ in 0..4 {
            link.ask(job(user), 0);
        }
    }
    let mut over = 0;
    link.run(200 * SECOND, |link| {
        while over < link.done.len() {
            let next = job(link.done[over].job.user);
            link.ask(next, link.now);
            over += 1;
        }
        false
    });
    let [a, b, c] = [0, 1, 2].map(|class| link.taken[class] as f64);
    println!("tokens {a} : {b} : {c}, {:.3} of what there were", (a + b + c) / 160_000.0);
    assert!((a / c - 4.0).abs() < 0.05 && (b / c - 2.0).abs() < 0.05, "{a} {b} {c}");
}

/// What crosses the link in each of the twenty seconds after it began to carry nothing for this long, over what it can carry.
fn after_an_interruption(way_ms: u64, lasts_ms: u64) -> Vec<f64> {
    let setup = RequestSetup::for_bytes(RATE);
    let mut gateway = build("grants", &setup);
    FarLink::place(&mut *gateway, &[(1.0, 12)]);
    let mut link = FarLink::new(&mut *gateway, RATE, setup.overhead, 1);
    for user in 0..12 {
        link.ask(Job::honest(user, 0, u64::MAX / 2, way_ms * MS + u64::from(user) * 2 * MS), 0);
    }
    link.run(30 * SECOND, |_| false);
    link.stop_for(lasts_ms * MS);
    let mut of_second = |second: u64| {
        let before = link.taken[0];
        link.run((31 + second) * SECOND, |_| false);
        (link.taken[0] - before) as f64 / RATE
    };
    (0..20).map(&mut of_second).collect()
}

/// Probes are overdue meanwhile, as they would be in a long queue of a slow link.
#[test]
fn a_link_that_is_interrupted_for_seconds_is_full_two_seconds_later() {
    for way_ms in [10, 100, 300] {
        for lasts_ms in [300, 700, 1_000, 1_500, 2_000, 5_000] {
            let seconds = after_an_interruption(way_ms, lasts_ms);
            let over = lasts_ms.div_ceil(1_000) as usize;
            println!("{way_ms} ms away, interrupted for {lasts_ms} ms: {seconds:.2?}");
            assert!(
                seconds[over..over + 2].iter().all(|&part| part >= 0.7),
                "{way_ms} ms, {lasts_ms} ms: {seconds:.2?}"
            );
            assert!(seconds[over + 2..].iter().all(|&part| part >= 0.94), "{way_ms} ms, {lasts_ms} ms: {seconds:.2?}");
        }
    }
}
