//! `tradeoff` against the linear program that defines its fluid, and against the proved bounds for following it.

use crate::fluid_run::{Run, play_fluid};
use crate::support::{Job, Mode, Sent, one_after_another, play};
use dovetail_sched::{
    FlowId, Limits, Queued, Scheduler, Weight,
    fluid::{Alpha, Direct, VirtualTime},
    packet::tradeoff::Tradeoff,
};
use proptest::prelude::*;

const FLOWS: usize = 5;

/// The optimum of `max sum x, A x <= b, x >= 0` by examining every vertex.
fn best_vertex(columns: &[Vec<f64>], b: &[f64]) -> f64 {
    let m = b.len();
    let mut all = columns.to_vec();
    all.extend((0..m).map(|r| (0..m).map(|j| f64::from(u8::from(j == r))).collect::<Vec<f64>>()));
    let mut best = 0.0f64;
    let mut chosen: Vec<usize> = (0..m).collect();
    loop {
        let matrix: Vec<Vec<f64>> = chosen.iter().map(|&at| all[at].clone()).collect();
        if let Some(x) = solve(&matrix, b)
            && x.iter().all(|&value| value >= -1e-10)
        {
            let sum = chosen.iter().zip(&x).filter(|&(&at, _)| at < columns.len()).map(|(_, &value)| value).sum();
            best = best.max(sum);
        }
        // The next choice of m out of all, in order.
        let Some(at) = (0..m).rev().find(|&at| chosen[at] + m - at < all.len()) else { return best };
        chosen[at] += 1;
        for after in at + 1..m {
            chosen[after] = chosen[after - 1] + 1;
        }
    }
}

/// Solves `sum of x_k columns[k] = b` by elimination.
fn solve(columns: &[Vec<f64>], b: &[f64]) -> Option<Vec<f64>> {
    let m = b.len();
    let mut rows: Vec<Vec<f64>> =
        (0..m).map(|r| columns.iter().map(|column| column[r]).chain([b[r]]).collect()).collect();
    for k in 0..m {
        let pivot = (k..m).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        if rows[pivot][k].abs() < 1e-11 {
            return None;
        }
        rows.swap(k, pivot);
        for r in (0..m).filter(|&r| r != k) {
            let (factor, pivot) = (rows[r][k] / rows[k][k], rows[k].clone());
            rows[r].iter_mut().zip(&pivot).for_each(|(value, above)| *value -= factor * above);
        }
    }
    Some((0..m).map(|k| rows[k][m] / rows[k][k]).collect())
}

fn normalised(head: &[u64]) -> Vec<f64> {
    let most = *head.iter().max().expect("a resource") as f64;
    head.iter().map(|&time| time as f64 / most).collect()
}

/// Checks one moment of a fluid: guarantees are kept, no resource is overused, and the bonus is optimal.
fn assert_optimal(run: &Run, weights: &[f64], alpha: f64, m: usize) {
    for segment in &run.segments {
        let served: Vec<(usize, Vec<f64>)> = segment
            .heads
            .iter()
            .enumerate()
            .filter_map(|(flow, head)| Some((flow, normalised(head.as_ref()?))))
            .collect();
        if served.is_empty() {
            continue;
        }
        let total = |r: usize| served.iter().map(|(flow, a)| weights[*flow] * a[r]).sum::<f64>();
        let fair = 1.0 / (0..m).map(total).fold(0.0, f64::max);
        let mut bonus = 0.0;
        for (flow, _) in &served {
            let guaranteed = alpha * fair * weights[*flow];
            assert!(segment.shares[*flow] >= guaranteed - 1e-12, "flow {flow} has less than its guarantee");
            bonus += segment.shares[*flow] - guaranteed;
        }
        for r in 0..m {
            let used: f64 = served.iter().map(|(flow, a)| a[r] * segment.shares[*flow]).sum();
            assert!(used <= 1.0 + 1e-9, "{used} of resource {r}");
        }
        let columns: Vec<Vec<f64>> = served.iter().map(|(_, a)| a.clone()).collect();
        let spare: Vec<f64> = (0..m).map(|r| 1.0 - alpha * fair * total(r)).collect();
        let best = best_vertex(&columns, &spare);
        assert!((bonus - best).abs() < 1e-9, "a bonus of {bonus}, and {best} can be had");
    }
}

/// Dominant service of each flow in a schedule until `at`.
fn services(jobs: &[Job], sent: &[Sent], at: f64) -> Vec<f64> {
    let mut services = vec![0.0; FLOWS];
    for one in sent {
        let demand = &jobs[one.job].demand;
        let dominant = (0..demand.len()).max_by_key(|&r| (demand[r], usize::MAX - r)).expect("a resource");
        let (from, to) = (one.start[dominant] as f64, one.end[dominant] as f64);
        services[one.flow as usize] += (to.min(at) - from).max(0.0);
    }
    services
}

fn scheduler(m: usize, weights: &[f64], alpha: Alpha) -> Queued<Tradeoff<VirtualTime>> {
    let mut scheduler = Queued::new(Tradeoff::new(m, alpha), m, Limits::UNLIMITED);
    for (flow, &weight) in weights.iter().enumerate() {
        scheduler.set_weight(FlowId(flow as u32), Weight::new(weight).expect("in range"));
    }
    scheduler
}

fn stopped(scheduler: &dyn Scheduler) -> f64 {
    let mut stopped = f64::NAN;
    scheduler.figures(&mut |name, value| {
        if name == "fluid_stopped_s" {
            stopped = value;
        }
    });
    stopped
}

fn jobs(m: usize, longest: u64, most: usize) -> impl Strategy<Value = Vec<Job>> {
    let demand = prop_oneof![
        3 => prop::collection::vec(1u64..longest, m),
        1 => prop::collection::vec(prop_oneof![Just(0), 1u64..longest], m)
            .prop_filter("needs something", |times| times.iter().any(|&time| time > 0)),
        1 => (1u64..longest / 4, 0..m).prop_map(move |(size, at)| {
            (0..m).map(|r| if r == at { 4 * size } else { size }).collect()
        }),
    ];
    let gap = prop_oneof![3 => Just(0u64), 2 => 0..longest, 1 => 0..8 * longest];
    let job = (0u32..FLOWS as u32, Just(100u32), gap, demand);
    prop::collection::vec(job, 1..most).prop_map(one_after_another)
}

fn weights() -> impl Strategy<Value = Vec<f64>> {
    prop_oneof![Just(vec![1.0; FLOWS]), prop::collection::vec(0.2f64..5.0, FLOWS)]
}

fn check_theorems(jobs: &[Job], weights: &[f64], alpha: f64) {
    let m = jobs[0].demand.len();
    let knob = Alpha::new(alpha).expect("in range");
    let fluid = play_fluid::<VirtualTime>(jobs, weights, knob);
    assert_optimal(&fluid, weights, alpha, m);
    let mut scheduler = scheduler(m, weights, knob);
    let sent = play(&mut scheduler, jobs, Mode::Unbounded);
    assert_eq!(stopped(&scheduler), 0.0, "the pipeline of the theorems keeps up with the fluid");
    let order: Vec<u32> = sent.iter().map(|one| one.flow).collect();
    let starts: Vec<u32> = fluid.starts.iter().map(|&(flow, _)| flow).collect();
    assert_eq!(order, starts, "packets go in the order in which they start in the fluid");
    for (one, &(flow, at)) in sent.iter().zip(&fluid.starts) {
        assert!(one.released >= at, "a packet of flow {flow} goes at {} and starts in the fluid at {at}", one.released);
    }
    let longest = jobs.iter().flat_map(|job| &job.demand).copied().max().unwrap_or(0) as f64;
    let n = fluid.most_flows as f64;
    // Times are whole nanoseconds, so a packet may start almost one later than it could.
    let grain = 1.0 + 1e-3;
    let makespan = sent.iter().flat_map(|one| &one.end).copied().max().unwrap_or(0) as f64;
    let stages = m as f64;
    assert!(makespan <= fluid.makespan() + (stages - 1.0) * n * longest + grain, "theorem 4");
    let events = fluid.segments.iter().map(|segment| segment.to);
    let events = events.chain(sent.iter().flat_map(|one| one.start.iter().chain(&one.end)).map(|&at| at as f64));
    for at in events {
        for (flow, &packets) in services(jobs, &sent, at).iter().enumerate() {
            let ideal = fluid.service(flow, at);
            assert!(packets <= ideal + longest + grain, "theorem 5, above: flow {flow} at {at}");
            assert!(packets >= ideal - (stages * n - 1.0) * longest - grain, "theorem 5, below: {flow} at {at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn theorems_4_and_5_for_two_resources(
        jobs in jobs(2, 2000, 60),
        weights in weights(),
        alpha in prop_oneof![Just(1.0), Just(0.85), 0.05f64..1.0],
    ) {
        check_theorems(&jobs, &weights, alpha);
    }

    #[test]
    fn theorems_4_and_5_for_three_resources(jobs in jobs(3, 2000, 40), weights in weights(), alpha in 0.05f64..=1.0) {
        check_theorems(&jobs, &weights, alpha);
    }

    #[test]
    fn theorems_4_and_5_for_one_resource(jobs in jobs(1, 2000, 40), weights in weights(), alpha in 0.05f64..=1.0) {
        check_theorems(&jobs, &weights, alpha);
    }

    #[test]
    fn the_greedy_fluid_is_the_best_there_is(jobs in jobs(2, 2000, 60), weights in weights()) {
        let run = play_fluid::<VirtualTime>(&jobs, &weights, Alpha::GREEDY);
        assert_optimal(&run, &weights, 0.0, 2);
    }

    #[test]
    fn the_plain_form_is_optimal_too(jobs in jobs(2, 2000, 60), weights in weights(), alpha in 0.0f64..=1.0) {
        let run = play_fluid::<Direct>(&jobs, &weights, Alpha::new(alpha).expect("in range"));
        assert_optimal(&run, &weights, alpha, 2);
    }
}

/// The paper prints `2 (n-1) tau` for the lower bound of theorem 5. Its proof (lemma 5 into eqs. 53 and 54) gives
/// `(2 n - 1) tau`, and for one flow the printed bound says that the packets are never behind the fluid. They are: the fluid
/// serves a packet on all resources at once, a pipeline one after the other.
#[test]
fn the_printed_bound_of_theorem_5_is_too_tight() {
    let jobs = one_after_another(vec![(0, 100, 0, vec![900, 1000])]);
    let fluid = play_fluid::<VirtualTime>(&jobs, &[1.0; FLOWS], Alpha::FAIR);
    let sent = play(&mut scheduler(2, &[1.0; FLOWS], Alpha::FAIR), &jobs, Mode::Unbounded);
    assert_eq!(fluid.most_flows, 1);
    let behind = fluid.service(0, 900.0) - services(&jobs, &sent, 900.0)[0];
    assert!(behind > 899.9, "{behind}");
    check_theorems(&jobs, &[1.0; FLOWS], 1.0);
}

/// Flows that always have packets: 5 flows with one shape each, and `count` packets each.
fn backlogged(shapes: &[[u64; 2]; FLOWS], count: usize) -> Vec<Job> {
    let rows = (0..count * FLOWS).map(|at| ((at % FLOWS) as u32, 100, 0, shapes[at % FLOWS].to_vec()));
    one_after_another(rows.collect())
}

#[test]
fn alike_flows_end_up_alike() {
    // Three flows of the same shape share a bonus that is worth giving to them. One has packets twice as large.
    let shapes = [[9000, 1000], [9000, 1000], [18_000, 2000], [1000, 3000], [1000, 3000]];
    let jobs = backlogged(&shapes, 2000);
    for alpha in [1.0, 0.85, 0.5] {
        let mut scheduler = scheduler(2, &[1.0; FLOWS], Alpha::new(alpha).expect("in range"));
        let sent = play(&mut scheduler, &jobs, Mode::Unbounded);
        let services = services(&jobs, &sent, 10e6);
        let spread =
            |flows: &[f64]| flows.iter().copied().fold(0.0, f64::max) - flows.iter().copied().fold(1e18, f64::min);
        assert!(spread(&services[..3]) <= 3.0 * 18_000.0, "alpha {alpha}: {services:?}");
        assert!(spread(&services[3..]) <= 3.0 * 3000.0, "alpha {alpha}: {services:?}");
        if alpha < 1.0 {
            assert!(services[3] > 1.1 * services[0], "alpha {alpha} gives nobody a bonus: {services:?}");
        }
    }
}

#[test]
fn a_pipeline_that_is_slower_stops_the_clock_and_stays_fair() {
    let shapes = [[4000, 4000], [2000, 1000], [1000, 3000], [5000, 500], [300, 3000]];
    let jobs = backlogged(&shapes, 3000);
    let mut scheduler = scheduler(2, &[1.0; FLOWS], Alpha::FAIR);
    let sent = play(&mut scheduler, &jobs, Mode::NoWait);
    assert!(stopped(&scheduler) > 0.0);
    // While all are backlogged, dominant service is equal within the bound, although packets are sent more slowly than in the
    // fluid: n tau for the clock and 2 n tau for following it.
    let end = (0..FLOWS as u32)
        .map(|flow| sent.iter().filter(|one| one.flow == flow).map(|one| one.start[0]).max().expect("sent"))
        .min()
        .expect("five flows") as f64;
    for part in 1..=20 {
        let services = services(&jobs, &sent, end * f64::from(part) / 20.0);
        let most = services.iter().copied().fold(0.0, f64::max);
        let least = services.iter().copied().fold(f64::MAX, f64::min);
        assert!(most - least <= 3.0 * FLOWS as f64 * 5000.0, "{services:?}");
    }
}
