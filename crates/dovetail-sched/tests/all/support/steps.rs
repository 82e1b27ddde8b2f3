//! Calls to a scheduler in any order, and a plain implementation of its policy that must send the same at every step.

use std::collections::VecDeque;

use dovetail_sched::{Demand, Feedback, FlowId, Nanos, Packet, Scheduler, Stage, Weight};
use proptest::prelude::*;

pub const FLOWS: usize = 5;

/// Powers of two, so that what is computed from them and whole numbers is not rounded.
pub const EXACT: &[f64] = &[0.5, 1.0, 2.0, 4.0];

/// What is asked of a scheduler. A packet has as many bytes as it takes nanoseconds of the first resource.
#[derive(Debug, Clone)]
pub enum Step {
    Offer {
        flow: usize,
        demand: Vec<u64>,
    },
    Serve,
    /// The oldest packet in the pipeline crosses it, or is dropped before the last resource.
    Cross {
        dies: bool,
    },
    Discard(usize),
    Forget(usize),
    Weigh(usize, f64),
}

/// Up to `most` steps over `resources`, with demands up to 30 and these weights.
pub fn steps(resources: usize, weights: &'static [f64], most: usize) -> impl Strategy<Value = Vec<Step>> {
    let time = prop_oneof![Just(0u64), 1u64..4, 1u64..30];
    let step = prop_oneof![
        40 => (0..FLOWS, prop::collection::vec(time, resources)).prop_map(|(flow, demand)| Step::Offer { flow, demand }),
        30 => Just(Step::Serve),
        20 => prop::sample::select(&[false, false, false, true][..]).prop_map(|dies| Step::Cross { dies }),
        2 => (0..FLOWS).prop_map(Step::Discard),
        3 => (0..FLOWS).prop_map(Step::Forget),
        8 => (0..FLOWS, prop::sample::select(weights)).prop_map(|(flow, weight)| Step::Weigh(flow, weight)),
    ];
    prop::collection::vec(step, 1..most)
}

/// The queues, each packet as its times on the resources, and weights.
#[derive(Debug)]
pub struct Flows {
    pub queues: Vec<VecDeque<Vec<u64>>>,
    pub weights: Vec<f64>,
}

impl Flows {
    pub fn is_empty(&self, flow: usize) -> bool {
        self.queues[flow].is_empty()
    }

    pub fn packets(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// The time on `resource` of the flow's first packet.
    pub fn head(&self, flow: usize, resource: usize) -> f64 {
        self.queues[flow][0][resource] as f64
    }
}

/// A plain implementation of a policy. It is told what happened after `flows` has changed.
pub trait Plain {
    fn arrived(&mut self, flows: &Flows, flow: usize);
    /// Takes the first packet of the flow that is served; none if all are held back.
    fn serve(&mut self, flows: &mut Flows) -> Option<usize>;
    /// The packet that was served this many packets after the first is through the pipeline, or has left it.
    fn crossed(&mut self, _flow: usize, _number: usize) {}
    /// Whether packets can be refused and evicted.
    fn is_limited(&self) -> bool {
        false
    }
    /// The flow lost the first of its packets, or else the last.
    fn evicted(&mut self, _flows: &Flows, _flow: usize, _is_head: bool) {}
    /// The flow lost all its packets.
    fn discarded(&mut self, _flows: &Flows, _flow: usize) {}
    fn weighed(&mut self, _flows: &Flows, _flow: usize, _old: f64) {}
    /// The flow, which has no packets, begins anew with weight 1.
    fn forgotten(&mut self, _flows: &Flows, _flow: usize) {}
}

/// Takes both through the steps, and then empties all queues.
///
/// # Errors
/// If they differ.
pub fn compare(
    scheduler: &mut dyn Scheduler,
    plain: &mut dyn Plain,
    resources: usize,
    steps: &[Step],
) -> Result<(), TestCaseError> {
    let mut flows = Flows { queues: vec![VecDeque::new(); FLOWS], weights: vec![1.0; FLOWS] };
    let mut handles: Vec<VecDeque<u64>> = vec![VecDeque::new(); FLOWS];
    let mut pipeline = VecDeque::new();
    let mut served = 0;
    let drain = [Step::Cross { dies: false }, Step::Serve];
    let drain = drain.iter().cycle().take(2 * steps.len() + 2);
    for (at, step) in steps.iter().chain(drain).enumerate() {
        match step {
            Step::Offer { flow, demand } => {
                let times: Vec<Nanos> = demand.iter().copied().map(Nanos).collect();
                let packet = Packet {
                    flow: FlowId(*flow as u32),
                    bytes: demand[0] as u32,
                    arrival: Nanos::ZERO,
                    handle: at as u64,
                    demand: Demand::new(&times).expect("1 to 8 resources"),
                };
                let is_queued = scheduler.enqueue(&packet, Nanos::ZERO).is_queued();
                for lost in std::iter::from_fn(|| scheduler.poll_evicted()) {
                    let flow = lost.flow.index();
                    let is_head = handles[flow].front() == Some(&lost.handle);
                    let (handle, _) = if is_head {
                        (handles[flow].pop_front(), flows.queues[flow].pop_front())
                    } else {
                        (handles[flow].pop_back(), flows.queues[flow].pop_back())
                    };
                    prop_assert!(plain.is_limited() && handle == Some(lost.handle));
                    plain.evicted(&flows, flow, is_head);
                }
                if !is_queued {
                    prop_assert!(plain.is_limited());
                    continue;
                }
                flows.queues[*flow].push_back(demand.clone());
                handles[*flow].push_back(at as u64);
                plain.arrived(&flows, *flow);
            }
            Step::Serve => {
                if scheduler.backlog().packets == 0 {
                    continue;
                }
                let out = scheduler.dequeue(Nanos::ZERO);
                let expected = plain.serve(&mut flows).and_then(|flow| handles[flow].pop_front());
                prop_assert_eq!(out.as_ref().map(|out| out.packet.handle), expected, "step {}", at);
                if let Some(out) = out {
                    pipeline.push_back((out.packet.flow, out.ticket, served));
                    served += 1;
                }
            }
            Step::Cross { dies } => {
                if let Some((flow, ticket, number)) = pipeline.pop_front() {
                    cross(scheduler, flow, ticket, resources, *dies);
                    plain.crossed(flow.index(), number);
                }
            }
            Step::Discard(flow) => {
                let any = !flows.is_empty(*flow);
                prop_assert_eq!(scheduler.discard(FlowId(*flow as u32)), any);
                let lost: Vec<u64> = std::iter::from_fn(|| scheduler.poll_evicted()).map(|lost| lost.handle).collect();
                prop_assert_eq!(lost, handles[*flow].drain(..).collect::<Vec<_>>());
                flows.queues[*flow].clear();
                if any {
                    plain.discarded(&flows, *flow);
                }
            }
            Step::Forget(flow) => {
                prop_assert_eq!(scheduler.forget(FlowId(*flow as u32)), flows.is_empty(*flow));
                if flows.is_empty(*flow) {
                    flows.weights[*flow] = 1.0;
                    plain.forgotten(&flows, *flow);
                }
            }
            Step::Weigh(flow, weight) => {
                scheduler.set_weight(FlowId(*flow as u32), Weight::new(*weight).expect("in range"));
                let old = std::mem::replace(&mut flows.weights[*flow], *weight);
                if old != *weight {
                    plain.weighed(&flows, *flow, old);
                }
            }
        }
    }
    prop_assert_eq!(scheduler.backlog().packets, 0, "packets wait for ever");
    Ok(())
}

/// All that happens to a packet on its way, also what the scheduler has no interest in.
fn cross(scheduler: &mut dyn Scheduler, flow: FlowId, ticket: u64, resources: usize, dies: bool) {
    for resource in 0..resources {
        let mut tell = |stage| {
            let event = Feedback { flow, ticket, resource: resource as u8, stage, took: Nanos::ZERO };
            scheduler.feedback(&event, Nanos::ZERO);
        };
        if dies && resource + 1 == resources {
            tell(Stage::Dropped);
        } else {
            tell(Stage::Started);
            tell(Stage::Finished);
        }
    }
}
