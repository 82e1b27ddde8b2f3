//! `cbcs` against the paper's pseudo-code, transcribed line by line: arrays over all flows, a scan for the least finish time, a
//! loop that resets everything. Both must choose the same packet at every dequeue.

use std::collections::VecDeque;

use crate::single::build;
use dovetail_sched::{
    Demand, DropPolicy, Feedback, FlowId, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Stage, Weight,
};
use proptest::prelude::*;

const FLOWS: usize = 5;

/// The names are the pseudo-code's.
struct PseudoCode {
    weights: Vec<Vec<f64>>,
    queues: Vec<VecDeque<(u64, f64)>>,
    finish: [f64; FLOWS],
    backlogged: [bool; FLOWS],
    virtual_time: f64,
    sum_w: f64,
    last_vt_update: u64,
    total_packets: usize,
}

impl PseudoCode {
    fn new(weights: Vec<Vec<f64>>) -> Self {
        Self {
            weights,
            queues: vec![VecDeque::new(); FLOWS],
            finish: [0.0; FLOWS],
            backlogged: [false; FLOWS],
            virtual_time: 0.0,
            sum_w: 0.0,
            last_vt_update: 0,
            total_packets: 0,
        }
    }

    fn enqueue(&mut self, flow: usize, packet: u64, times: &[u64], now: u64) {
        if self.total_packets == 0 {
            for i in 0..FLOWS {
                self.finish[i] = 0.0;
                self.backlogged[i] = false;
            }
            self.virtual_time = 0.0;
            self.sum_w = 0.0;
        } else {
            self.virtual_time += (now - self.last_vt_update) as f64 / self.sum_w;
        }
        self.last_vt_update = now;
        if !self.backlogged[flow] {
            self.backlogged[flow] = true;
            self.sum_w += self.weights[flow].iter().sum::<f64>();
        }
        let start = self.finish[flow].max(self.virtual_time);
        let cost: f64 = times.iter().zip(&self.weights[flow]).map(|(&time, weight)| time as f64 / weight).sum();
        self.finish[flow] = start + cost;
        self.total_packets += 1;
        self.queues[flow].push_back((packet, self.finish[flow]));
    }

    fn dequeue(&mut self) -> Option<u64> {
        let heads = (0..FLOWS).filter_map(|flow| self.queues[flow].front().map(|&(_, f_time)| (flow, f_time)));
        let (flow, _) = heads.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let (packet, _) = self.queues[flow].pop_front()?;
        self.total_packets -= 1;
        if self.queues[flow].is_empty() {
            self.backlogged[flow] = false;
            self.sum_w -= self.weights[flow].iter().sum::<f64>();
        }
        Some(packet)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Arrive { flow: usize, times: Vec<u64>, later: u64 },
    Leave,
}

fn runs() -> impl Strategy<Value = (Vec<Vec<f64>>, Vec<Step>)> {
    (1usize..4).prop_flat_map(|resources| {
        // Quarters: their sums are exact, so both sides round alike.
        let weight = (1u32..40).prop_map(|quarters| f64::from(quarters) / 4.0);
        let weights = prop::collection::vec(prop::collection::vec(weight, resources), FLOWS);
        let arrive = (0..FLOWS, prop::collection::vec(0u64..100, resources), 0u64..80)
            .prop_map(|(flow, times, later)| Step::Arrive { flow, times, later });
        (weights, prop::collection::vec(prop_oneof![5 => arrive, 4 => Just(Step::Leave)], 1..200))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn the_same_packets_as_the_pseudo_code((weights, steps) in runs()) {
        let resources = weights[0].len();
        let spec: PolicySpec = "cbcs:estimator=known".parse().expect("a policy");
        let mut scheduler = spec.build(&Setup::new(resources, Limits::UNLIMITED)).expect("1 to 3 resources");
        for (flow, own) in weights.iter().enumerate() {
            let own: Vec<Weight> = own.iter().map(|&weight| Weight::new(weight).expect("in range")).collect();
            scheduler.set_resource_weights(FlowId(flow as u32), &own);
        }
        let mut naive = PseudoCode::new(weights);
        let mut now = 0;
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Arrive { flow, times, later } => {
                    now += later;
                    naive.enqueue(*flow, number as u64, times, now);
                    let demand: Vec<Nanos> = times.iter().map(|&time| Nanos(time)).collect();
                    let demand = Demand::new(&demand).expect("1 to 3 resources");
                    let flow = FlowId(*flow as u32);
                    let packet = Packet { flow, bytes: 100, arrival: Nanos(now), handle: number as u64, demand };
                    let _ = scheduler.enqueue(&packet, Nanos(now));
                }
                Step::Leave => {
                    let sent = scheduler.dequeue(Nanos(now)).map(|out| out.packet.handle);
                    prop_assert_eq!(sent, naive.dequeue(), "step {}", number);
                }
            }
        }
    }
}

/// A packet that virtual time has passed does not fall back when the one before it is evicted.
#[test]
fn an_evicted_packet_holds_up_nothing_that_is_late() {
    let limits = Limits { flow_packets: Some(2), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut cbcs = build("cbcs:estimator=known", 1, limits, &[]);
    // Flow 0's end at 10 and 20. Flow 1's comes at 100, which is V, and ends at 105; flow 0's third evicts the first.
    for (handle, (flow, time, now)) in (0..).zip([(0, 10, 0), (0, 10, 0), (1, 5, 100), (0, 10, 100)]) {
        let demand = Demand::new(&[Nanos(time)]).expect("one resource");
        let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos(now), handle, demand };
        assert!(cbcs.enqueue(&packet, Nanos(now)).is_queued());
    }
    let sent: Vec<u64> = std::iter::from_fn(|| cbcs.dequeue(Nanos(100))).map(|out| out.packet.handle).collect();
    assert_eq!(sent, [1, 2, 3]);
}

/// Queued packets move up by the charge of an evicted one before them, as if it had never arrived.
#[test]
fn an_evicted_packet_takes_its_charge_with_it() {
    let limits = Limits { flow_packets: Some(2), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut scheduler = "cbcs:estimator=known".parse::<PolicySpec>().unwrap().build(&Setup::new(1, limits)).unwrap();
    let mut offer = |flow, handle, time| {
        let demand = Demand::new(&[Nanos(time)]).unwrap();
        let packet = Packet { flow: FlowId(flow), bytes: 1, arrival: Nanos(0), handle, demand };
        let _ = scheduler.enqueue(&packet, Nanos(0));
    };
    offer(0, 0, 1000);
    offer(0, 1, 10);
    offer(1, 2, 50);
    // Evicts the first: the second then finishes at 10 and the third at 20, before flow 1's 50.
    offer(0, 3, 10);
    let order: Vec<u64> = std::iter::from_fn(|| scheduler.dequeue(Nanos(0))).map(|out| out.packet.handle).collect();
    assert_eq!(order, [1, 3, 2]);
}

/// How many packets a second flow sends before the first has its next, if the first has sent `alone` without competition. Every
/// packet takes 10 µs on both resources.
fn new_flow_sends(policy: &str, alone: u64) -> usize {
    let spec: PolicySpec = policy.parse().expect("a policy");
    let mut cbcs = spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("it is built");
    let takes = Nanos::from_micros(10);
    let put = |cbcs: &mut dyn Scheduler, flow, now| {
        for handle in 0..2 * alone {
            let demand = Demand::of_two(takes, takes);
            let _ = cbcs.enqueue(&Packet { flow: FlowId(flow), bytes: 1000, arrival: now, handle, demand }, now);
        }
    };
    let mut now = Nanos::ZERO;
    let take = |cbcs: &mut dyn Scheduler, now: &mut Nanos| {
        let out = cbcs.dequeue(*now).expect("packets are queued");
        *now += takes;
        for resource in 0..2 {
            let flow = out.packet.flow;
            let finished = Feedback { flow, ticket: out.ticket, resource, stage: Stage::Finished, took: takes };
            if cbcs.interest().has(Stage::Finished, resource.into()) {
                cbcs.feedback(&finished, *now);
            }
        }
        out.packet.flow
    };
    put(&mut *cbcs, 0, now);
    for _ in 0..alone {
        take(&mut *cbcs, &mut now);
    }
    put(&mut *cbcs, 1, now);
    (0..).take_while(|_| take(&mut *cbcs, &mut now) == FlowId(1)).count()
}

/// The page in the book has these fractions.
#[test]
fn a_new_flow_goes_first_for_as_long_as_the_papers_clock_lags() {
    for alone in [100, 1000, 4000] {
        for (policy, fraction) in [("cbcs:estimator=known", 0.75), ("cbcs", 0.5), ("cbcs:clock=self", 0.0)] {
            let sent = new_flow_sends(policy, alone) as f64;
            assert!((sent - fraction * alone as f64).abs() <= 2.0, "{policy}: {sent} in a row after {alone}");
        }
    }
}
