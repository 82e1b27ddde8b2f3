//! The delay guarantees of CBCS-WFQ's section 4.2: where they are bounds, and where they are not.
//!
//! Rates are shares of a resource of rate 1, costs are times: flow `i` has reserved `r` of the CPU and `s` of the link, and its
//! packet `k` takes `P_k` and `L_k`. A flow *keeps to its reservation* if packet `k + 1` arrives at least
//! `g_k = max(P_k / r, L_k / s)` after packet `k`. The reserved rates add up to at most 1 on each resource.
//!
//! # Equation 13 holds for separate WFQs
//!
//! WFQ is a guaranteed-rate server (Goyal, Lam and Vin, *Determining end-to-end delay bounds in heterogeneous networks*,
//! 1997): a packet that comes at `A_k` leaves by `G_k + P_max`, with `G_k = max(A_k, G_{k-1}) + P_k / r`. So, for the CPU,
//! `D_k <= max over h <= k of (A_h + P_h/r + … + P_k/r) + P_max`. For the link, whose arrivals are these `D_k`, packet `k`
//! leaves by
//!
//! ```text
//! max over h <= i <= k of (A_h + P_h/r + … + P_i/r + L_i/s + … + L_k/s) + P_max + L_max
//! ```
//!
//! Of the terms between `A_h` and the end, those before `P_i/r` are each at most `g_n` of another packet `h <= n < i`, and
//! those from `L_i/s` up to `L_{k-1}/s` at most `g_n` of another `i <= n < k`; these gaps add up to at most `A_k - A_h`. What is
//! left is `P_i/r + L_k/s`, hence eq. 13:
//!
//! ```text
//! delay  <=  P_max_i / r + L_max_i / s + P_max + L_max
//! ```
//!
//! # Equation 14 does not hold for CBCS-WFQ
//!
//! It promises `max over k of (P_k/r + L_k/s) + max over all packets of (P + L)`, less than eq. 13 in most cases. It holds
//! when every flow sends one packet at one instant and its shares of both resources are equal: packets are then served by
//! `F = (P + L)/r`, the packets up to and including ours take `sum (P + L) = sum r·F <= F` even one after the other. It fails
//! where packets that need little of the CPU queue up before the link, which serves them first come first served.

use crate::support::{Job, Mode, Sent, play};
use dovetail_sched::{FlowId, Limits, PolicySpec, Scheduler, Setup, Weight};
use proptest::prelude::*;

/// A flow that keeps to its reservation.
#[derive(Debug, Clone)]
struct Reserved {
    rates: [f64; 2],
    /// When each packet arrives, after the earliest possible instant, and its times.
    packets: Vec<(u64, [u64; 2])>,
}

impl Reserved {
    fn largest(&self, of: impl Fn([u64; 2]) -> f64) -> f64 {
        self.packets.iter().map(|&(_, times)| of(times)).fold(0.0, f64::max)
    }
}

/// The flows' packets in order of arrival.
fn jobs(flows: &[Reserved]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (flow, reserved) in flows.iter().enumerate() {
        let mut earliest = 0.0;
        for &(later, times) in &reserved.packets {
            let arrival = f64::ceil(earliest) as u64 + later;
            jobs.push(Job { flow: flow as u32, bytes: 100, arrival, demand: times.to_vec() });
            let gap = (0..2).map(|at| times[at] as f64 / reserved.rates[at]).fold(0.0, f64::max);
            earliest = arrival as f64 + gap;
        }
    }
    jobs.sort_by_key(|job| job.arrival);
    jobs
}

fn run(policy: &str, flows: &[Reserved]) -> (Vec<Job>, Vec<Sent>) {
    let spec: PolicySpec = policy.parse().expect("a policy");
    let mut scheduler = spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("two resources");
    for (flow, reserved) in flows.iter().enumerate() {
        let weights = reserved.rates.map(|rate| Weight::new(rate).expect("in range"));
        scheduler.set_resource_weights(FlowId(flow as u32), &weights);
    }
    let jobs = jobs(flows);
    let sent = play(&mut scheduler, &jobs, Mode::Unbounded);
    assert_eq!(sent.len(), jobs.len());
    (jobs, sent)
}

/// By how many nanoseconds the worst packet of any flow exceeds its bound; negative if none does.
fn worst(policy: &str, flows: &[Reserved], bound: impl Fn(&[Reserved], &Reserved) -> f64) -> f64 {
    let (jobs, sent) = run(policy, flows);
    let late = |one: &Sent| (one.end[1] - jobs[one.job].arrival) as f64 - bound(flows, &flows[one.flow as usize]);
    sent.iter().map(late).fold(f64::NEG_INFINITY, f64::max)
}

/// Equation 13.
fn separate(flows: &[Reserved], own: &Reserved) -> f64 {
    let over_all = |at: usize| flows.iter().map(|flow| flow.largest(|times| times[at] as f64)).fold(0.0, f64::max);
    (0..2).map(|at| own.largest(|times| times[at] as f64 / own.rates[at]) + over_all(at)).sum()
}

/// Equation 14.
fn composite(flows: &[Reserved], own: &Reserved) -> f64 {
    let all = flows.iter().map(|flow| flow.largest(|times| (times[0] + times[1]) as f64)).fold(0.0, f64::max);
    own.largest(|times| times[0] as f64 / own.rates[0] + times[1] as f64 / own.rates[1]) + all
}

/// Rates that add up to less than 1 on each resource.
fn flows(most_packets: usize) -> impl Strategy<Value = Vec<Reserved>> {
    let times = [0u64..3000, 0u64..3000];
    let packets = prop::collection::vec((prop_oneof![Just(0), 0u64..5000], times), 1..=most_packets);
    prop::collection::vec(([0.05..1.0, 0.05..1.0], packets), 1..8).prop_map(|flows| {
        let sums =
            [0, 1].map(|at| flows.iter().map(|(rates, _): &([f64; 2], _)| rates[at]).sum::<f64>() * (1.0 + 1e-9));
        let reserved =
            |(rates, packets): ([f64; 2], _)| Reserved { rates: [rates[0] / sums[0], rates[1] / sums[1]], packets };
        flows.into_iter().map(reserved).collect()
    })
}

const SEPARATE: &str = "wfq-split:estimator=known";
const COMPOSITE: &str = "cbcs:estimator=known";

/// Times are rounded to nanoseconds, arrivals up and tags either way.
const ROUNDING: f64 = 4.0;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn equation_13_bounds_separate_wfqs(flows in flows(12)) {
        let late = worst(SEPARATE, &flows, separate);
        prop_assert!(late <= ROUNDING, "{late} ns late");
    }

    #[test]
    fn equation_14_bounds_one_packet_a_flow_at_one_instant(mut flows in flows(1)) {
        for flow in &mut flows {
            flow.rates[1] = flow.rates[0];
            flow.packets[0].0 = 0;
        }
        // The proof does not need the second term.
        let alone = |flows: &[Reserved], own: &Reserved| {
            composite(flows, own) - composite(flows, &Reserved { rates: [f64::INFINITY; 2], ..own.clone() })
        };
        let late = worst(COMPOSITE, &flows, alone);
        prop_assert!(late <= ROUNDING, "{late} ns late");
    }
}

fn one_packet(rate: f64, arrival: u64, times: [u64; 2]) -> Reserved {
    Reserved { rates: [rate; 2], packets: vec![(arrival, times)] }
}

/// Ten flows whose packets need next to nothing of the CPU are through it before the eleventh comes, which has reserved
/// half of the link and finds ten packets before it.
#[test]
fn equation_14_fails_before_a_link_that_is_first_come_first_served() {
    let mut flows = vec![one_packet(0.05, 0, [1, 1000]); 10];
    flows.push(one_packet(0.5, 20, [10, 10]));
    let own = &flows[10];
    assert_eq!((composite(&flows, own), separate(&flows, own)), (1041.0, 1050.0));
    let (jobs, sent) = run(COMPOSITE, &flows);
    let delay = |sent: &[Sent]| {
        let one = sent.iter().find(|one| one.flow == 10).expect("sent");
        one.end[1] - jobs[one.job].arrival
    };
    assert_eq!(delay(&sent), 9991);
    assert!(delay(&run(SEPARATE, &flows).1) <= 1050);
}

/// On one resource alone. Only flows with packets waiting count in the virtual time, so it runs away while the last of four
/// flows with small shares waits, and the packet of a flow with a large one is stamped behind it.
#[test]
fn equation_14_fails_when_few_flows_wait() {
    let mut flows = vec![one_packet(0.03, 0, [1000, 0]); 4];
    flows.push(one_packet(0.88, 2500, [88, 0]));
    let bound = composite(&flows, &flows[4]);
    assert!((bound - 1100.0).abs() < 1e-9);
    let (_, sent) = run(COMPOSITE, &flows);
    assert_eq!((sent[3].flow, sent[4].flow, sent[4].end[1] - 2500), (3, 4, 1588));
    assert_eq!(run(SEPARATE, &flows).1[3].flow, 4, "in the fluid the others are still far from done");
}

/// A burst of two packets is one more than eq. 13 allows for.
#[test]
fn equation_13_needs_packets_to_keep_their_distance() {
    let mut flows = vec![one_packet(0.5, 0, [100, 100]), one_packet(0.5, 0, [100, 100])];
    assert_eq!(separate(&flows, &flows[0]), 600.0);
    let burst = Reserved { rates: [1e3; 2], packets: vec![(0, [100, 100]); 8] };
    flows[0].packets = burst.packets.clone();
    let jobs_of_a_burst: Vec<Job> = jobs(&[burst, flows[1].clone()]);
    let mut scheduler = SEPARATE.parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
    let sent = play(&mut scheduler, &jobs_of_a_burst, Mode::Unbounded);
    let last = sent.iter().filter(|one| one.flow == 0).map(|one| one.end[1]).max();
    assert_eq!(last, Some(1000));
}
