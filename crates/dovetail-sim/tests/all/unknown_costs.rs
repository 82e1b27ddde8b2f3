//! Costs hidden from the scheduler: what it sees, what the pipeline uses, what is drawn.
#![allow(clippy::unwrap_used)]

use std::{
    io::ErrorKind,
    sync::{Arc, Mutex},
};

use crate::support::Seen;
use dovetail_sched::{
    Admission, Demand, FlowId, Learning, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, Weight,
    cost::{ProgramId, ProgramTable},
    forward_scheduler,
};
use dovetail_sim::{
    Options, PipelineMode, simulate,
    workload::{Arrival, Scenario, Workload},
};

const NOISY: &str = r#"
name = "noisy"
seed = 7
[[resource]]
name = "cpu"
[[resource]]
name = "link"
rate = "8Mbps"
[[class]]
name = "steady"
cost = { cpu = "500us" }
processing = "header"
[[class]]
name = "noisy"
cost = { cpu = "1us*bytes" }
expansion = { min = 0.25, max = 0.5 }
noise = { spread = 0.3, spike_share = 0.1, spike_factor = 5 }
[[flow]]
name = "a"
class = "steady"
size = 400
packets = 2000
arrivals = { poisson = "600/s" }
[[flow]]
name = "b"
class = "noisy"
weights = { cpu = 3, link = 0.5 }
size = { uniform = { min = 100, max = 1500 } }
packets = 2000
arrivals = "backlogged"
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    let mut open = |_: &str| Err(ErrorKind::NotFound.into());
    Scenario::parse(text, "noisy.toml", &mut open).map_err(|error| error.to_string())
}

/// What a scheduler was told.
#[derive(Debug, Default)]
struct Told {
    offered: Vec<Packet>,
    programs: Vec<(FlowId, ProgramId)>,
    weights: Vec<(FlowId, Vec<f64>)>,
}

/// Forwards everything, and records what it was told.
#[derive(Debug)]
struct Listener {
    inner: Box<dyn Scheduler>,
    told: Arc<Mutex<Told>>,
}

impl Scheduler for Listener {
    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        self.told.lock().unwrap().offered.push(*packet);
        self.inner.enqueue(packet, now)
    }
    fn learning(&mut self) -> Option<&mut dyn Learning> {
        if self.inner.learning().is_some() { Some(self) } else { None }
    }
    fn set_resource_weights(&mut self, flow: FlowId, weights: &[Weight]) {
        self.told.lock().unwrap().weights.push((flow, weights.iter().map(|weight| weight.as_f64()).collect()));
        self.inner.set_resource_weights(flow, weights);
    }
    forward_scheduler!(
        inner: dequeue, poll_at, feedback, interest, poll_evicted, discard, set_weight, forget, backlog, flow_backlog, retune,
        figures, later_stages
    );
}

impl Learning for Listener {
    fn set_program(&mut self, flow: FlowId, program: ProgramId) {
        self.told.lock().unwrap().programs.push((flow, program));
        self.inner.learning().unwrap().set_program(flow, program);
    }
    fn learnt(&self) -> ProgramTable {
        unimplemented!("nobody asks")
    }
}

#[test]
fn a_scheduler_that_estimates_is_told_no_cost_and_the_pipeline_takes_the_true_one() {
    let scenario = parse(NOISY).unwrap();
    for mode in [PipelineMode::NoWait, PipelineMode::Unbounded, PipelineMode::Buffer(2)] {
        for policy in ["cbcs", "wfq-split", "atfq:batch=4,estimator=llsr", "tradeoff:estimator=ses"] {
            let mut workload = scenario.workload().unwrap();
            let setup = Setup { programs: workload.programs(), ..Setup::new(2, Limits::UNLIMITED) };
            let inner = policy.parse::<PolicySpec>().unwrap().build(&setup).unwrap();
            let mut listener = Listener { inner, told: Arc::default() };
            let mut seen = Seen::default();
            let outcome = simulate(&mut workload, &mut listener, mode, &mut seen, Options::default()).unwrap();
            assert_eq!((outcome.sent, outcome.dropped, outcome.left), (4000, 0, 0), "{policy} in {mode}");
            let told = listener.told.lock().unwrap();
            for packet in &told.offered {
                let (cpu, link) = (packet.demand.times()[0], packet.demand.times()[1].0);
                assert_eq!(cpu, Nanos::ZERO);
                // The cost for its length on arrival, apart from rounding.
                assert!(link.abs_diff(u64::from(packet.bytes) * 1000) <= 2, "{link}");
            }
            assert_eq!(told.programs, [(FlowId(1), ProgramId(1)), (FlowId(0), ProgramId(0))]);
            assert_eq!(told.weights, [(FlowId(1), vec![3.0, 0.5])]);
            // Its true cost: the class's line for flow a; for flow b a spread around it, and a shorter packet afterwards.
            let mut wild = 0;
            for (packet, passage) in &seen.sent {
                let took = |at: usize| (passage.end()[at] - passage.start()[at]).as_f64();
                assert_eq!([took(0), took(1)].map(|nanos| Nanos(nanos as u64)), packet.demand.times());
                if packet.flow == FlowId(0) {
                    assert_eq!((took(0), took(1)), (500_000.0, 400_000.0));
                } else {
                    let bytes = f64::from(packet.bytes);
                    wild += u32::from((took(0) / (1000.0 * bytes) - 1.0).abs() > 0.1);
                    assert!((0.25..=0.5).contains(&(took(1) / 1000.0 / bytes)), "{}", took(1) / 1000.0 / bytes);
                }
            }
            // |ln factor + sigma²/2| > 0.1 for most of a spread of 0.3.
            assert!(wild > 1200, "{wild}");
        }
    }
}

/// Whatever a policy does, the flow's packet with the same number has the same cost: policies are compared on the same
/// traffic.
#[test]
fn the_same_packets_cost_the_same_under_every_policy() {
    let scenario = parse(NOISY).unwrap();
    let costs = |policy: &str| {
        let mut scheduler = policy.parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
        let mut seen = Seen::default();
        let mode = PipelineMode::Unbounded;
        simulate(&mut scenario.workload().unwrap(), &mut scheduler, mode, &mut seen, Options::default()).unwrap();
        let of =
            |flow| seen.sent.iter().filter(move |(packet, _)| packet.flow == flow).map(|(packet, _)| packet.demand);
        [FlowId(0), FlowId(1)].map(|flow| of(flow).collect::<Vec<_>>())
    };
    let known = costs("fifo");
    for policy in ["drfq", "cbcs", "wfq-split:settle=no", "sfq:estimator=line"] {
        assert_eq!(costs(policy), known, "{policy}");
    }
    let other = parse(&NOISY.replace("seed = 7", "seed = 8")).unwrap();
    let first = |scenario: &Scenario| scenario.workload().unwrap().next().unwrap().unwrap().demand;
    assert_ne!(first(&other), first(&scenario));
}

#[test]
fn loads_count_noise_and_expansion() {
    let scenario = parse(&NOISY.replace("\"backlogged\"", "{ constant = \"100/s\" }")).unwrap();
    let loads = scenario.offered_loads();
    // CPU: 600/s of 500 µs; 100/s of 800 µs, 1.4 times for the spikes. Link: 400 bytes at 1 µs; 800 of which 0.375.
    assert!((loads[0] - (0.3 + 100.0 * 800e-6 * 1.4)).abs() < 1e-9, "{loads:?}");
    assert!((loads[1] - (0.24 + 100.0 * 800e-6 * 0.375)).abs() < 1e-9, "{loads:?}");
}

#[test]
fn told_is_the_demand_without_what_processing_decides() {
    let arrival = Arrival {
        expansion: 0.25,
        ..Arrival::new(Nanos(0), FlowId(0), 100, Demand::new(&[Nanos(7), Nanos(50), Nanos(25)]).unwrap())
    };
    assert_eq!(arrival.told().times(), [Nanos(0), Nanos(200), Nanos(100)]);
}

#[test]
fn errors_name_the_line_and_what_there_is() {
    for (from, to, wants) in [
        ("spread = 0.3", "spread = -1", "spread is from 0 to 10"),
        ("spread = 0.3", "width = 1", "unknown field"),
        ("spike_share = 0.1", "spike_share = 2", "spike_share is from 0 to 1"),
        ("spread = 0.3", "measured = [[1, 0], [0.5, 1]]", "must not fall"),
        ("min = 0.25", "min = 0.75", "min first"),
        ("expansion = { min = 0.25, max = 0.5 }", "expansion = \"half\"", "expansion factor such as"),
        ("processing = \"header\"", "processing = \"both\"", "unknown variant"),
        ("cpu = 3, link", "cpu = 3, disk", "there is no resource 'disk', only cpu, link"),
        ("cpu = 3", "cpu = 0", "weight is from"),
    ] {
        let error = parse(&NOISY.replace(from, to)).unwrap_err();
        assert!(error.contains(wants) && error.contains("noisy.toml, line"), "{to}: {error}");
    }
}
