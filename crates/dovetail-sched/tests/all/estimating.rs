//! The charges, learning and forgetting of a scheduler on estimates, packet by packet.

use dovetail_sched::{
    Admission, Demand, DropPolicy, Feedback, FlowId, Learning, Limits, Nanos, Packet, PolicySpec, Queued, Scheduler,
    Setup, Stage,
    cost::{Cost, Estimating, Estimation, Method, Processing, Program, ProgramId, ProgramTable},
    packet::fifo::Fifo,
};

const FLOW: FlowId = FlowId(0);

/// A box of two resources, first in first out, whose estimates can be queried.
struct Bench {
    scheduler: Estimating<Queued<Fifo>>,
    handle: u64,
    now: u64,
}

impl Bench {
    fn new(method: Method, programs: Vec<Program>, limits: Limits) -> Self {
        let setup = Setup { programs: ProgramTable::new(programs), ..Setup::new(2, limits) };
        let estimation = Estimation { method, settle: true };
        let scheduler = Estimating::new(Queued::new(Fifo::default(), 2, limits), estimation, &setup);
        Self { scheduler, handle: 1000, now: 0 }
    }

    fn send(&mut self, bytes: u32) -> Admission {
        self.handle += 1;
        let demand = Demand::new(&[Nanos::ZERO, Nanos(u64::from(bytes))]).expect("two resources");
        let packet = Packet { flow: FLOW, bytes, arrival: Nanos(self.now), handle: self.handle, demand };
        self.scheduler.enqueue(&packet, Nanos(self.now))
    }

    /// Dequeues one packet; returns it with its ticket.
    fn take(&mut self) -> (Packet, u64) {
        let out = self.scheduler.dequeue(Nanos(self.now)).expect("one waits");
        (out.packet, out.ticket)
    }

    fn ends(&mut self, ticket: u64, resource: u8, took: u64) {
        self.now += took;
        let event = Feedback { flow: FLOW, ticket, resource, stage: Stage::Finished, took: Nanos(took) };
        self.scheduler.feedback(&event, Nanos(self.now));
    }

    /// Serves one packet.
    fn serve(&mut self, cpu: u64, link: u64) {
        let (_, ticket) = self.take();
        self.ends(ticket, 0, cpu);
        self.ends(ticket, 1, link);
    }

    fn estimate(&self, bytes: u32) -> u64 {
        self.scheduler.estimate(FLOW, bytes).0
    }
}

const SES: Method = Method::Smoothing { gain: 0.5 };

#[test]
fn packets_come_back_as_they_were_given() {
    let mut bench = Bench::new(SES, Vec::new(), Limits::UNLIMITED);
    let _ = bench.send(700);
    let (packet, _) = bench.take();
    assert_eq!((packet.handle, packet.bytes, packet.demand.times()), (1001, 700, &[Nanos(0), Nanos(700)][..]));
    let limits = Limits { flow_packets: Some(1), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut bench = Bench::new(SES, Vec::new(), limits);
    assert_eq!((bench.send(700), bench.send(800)), (Admission::QUEUED, Admission { refused: None, evicted: true }));
    let lost = bench.scheduler.poll_evicted().expect("the first");
    assert_eq!((lost.handle, lost.demand.times()), (1001, &[Nanos(0), Nanos(700)][..]));
}

#[test]
fn estimates_start_from_the_program_and_follow_what_is_measured() {
    let line = Program { cost: Some(Cost::new(2.0, 100.0).expect("in range")), ..Program::new("p") };
    let mut bench = Bench::new(SES, vec![line], Limits::UNLIMITED);
    bench.scheduler.learning().expect("it learns").set_program(FLOW, ProgramId(0));
    assert_eq!(bench.estimate(50), 200);
    let _ = bench.send(50);
    bench.serve(1000, 50);
    assert_eq!(bench.estimate(50), 1000);
    let _ = bench.send(50);
    bench.serve(500, 50);
    assert_eq!(bench.estimate(50), 750);
    // Another flow of the program starts from what this one has shown; one of another program from nothing.
    let other = bench.scheduler.learning().expect("it learns").learnt();
    assert!(other.programs()[0].cost.expect("measured").of(50).0 > 400);
    bench.scheduler.learning().expect("it learns").set_program(FLOW, ProgramId(7));
    assert_eq!(bench.estimate(50), 0);
    bench.scheduler.learning().expect("it learns").set_program(FLOW, ProgramId(0));
    assert_eq!(bench.estimate(50), 750);
}

/// A program that reads all of a packet costs by its length; one that reads the header does not.
#[test]
fn least_squares_goes_by_the_length_that_the_program_reads() {
    let header = Program { processing: Processing::Header, ..Program::new("header") };
    for (program, expected) in [(0, 1500), (1, 3000)] {
        let programs = vec![header.clone(), Program::new("payload")];
        let mut bench = Bench::new(Method::LeastSquares { window: 8, gain: 0.5 }, programs, Limits::UNLIMITED);
        bench.scheduler.learning().expect("it learns").set_program(FLOW, ProgramId(program));
        for bytes in [100, 200] {
            let _ = bench.send(bytes);
            bench.serve(u64::from(bytes) * 10, 50);
        }
        assert_eq!(bench.estimate(300), expected);
        // The same holds for what is remembered of the program.
        let remembered = bench.scheduler.learning().expect("it learns").learnt().programs()[program as usize].cost;
        assert_eq!(remembered.expect("measured").of(300).0, if program == 0 { 1500 } else { 3000 });
    }
}

/// With `line`, the estimate never changes, whatever is measured.
#[test]
fn what_was_learnt_makes_a_scheduler_again() {
    let mut bench = Bench::new(SES, vec![Program::new("strips")], Limits::UNLIMITED);
    bench.scheduler.set_program(FLOW, ProgramId(0));
    // So many packets without any time on the link that their mean is all but 0.
    for _ in 0..30_000 {
        let _ = bench.send(100);
        bench.serve(10, 0);
    }
    let setup = Setup { programs: bench.scheduler.learnt(), ..Setup::new(2, Limits::UNLIMITED) };
    let spec: PolicySpec = "drfq:estimator=ses".parse().expect("valid");
    assert!(spec.build(&setup).is_ok(), "{:?}", setup.programs);
}

#[test]
fn a_configured_line_stays() {
    let line = Program { cost: Some(Cost::new(2.0, 100.0).expect("in range")), ..Program::new("p") };
    let mut bench = Bench::new(Method::Line { gain: 0.5 }, vec![line], Limits::UNLIMITED);
    bench.scheduler.learning().expect("it learns").set_program(FLOW, ProgramId(0));
    let _ = bench.send(50);
    bench.serve(90_000, 50);
    assert_eq!((bench.estimate(50), bench.estimate(100)), (200, 300));
}

/// A clock that steps cannot make a packet take longer than the time since its dispatch.
#[test]
fn a_measurement_is_no_longer_than_the_time_that_passed() {
    let mut bench = Bench::new(SES, Vec::new(), Limits::UNLIMITED);
    let _ = bench.send(50);
    let (_, ticket) = bench.take();
    bench.now += 800;
    let event = Feedback { flow: FLOW, ticket, resource: 0, stage: Stage::Finished, took: Nanos(u64::MAX) };
    bench.scheduler.feedback(&event, Nanos(bench.now));
    assert_eq!(bench.estimate(50), 800);
}

/// Feedback about packets that are queued, are gone, or never existed.
#[test]
fn feedback_about_nothing_teaches_nothing() {
    let mut bench = Bench::new(SES, Vec::new(), Limits::UNLIMITED);
    let _ = bench.send(50);
    for ticket in [0, 1, 77, u64::MAX] {
        bench.ends(ticket, 0, 5000);
        bench.ends(ticket, 1, 5000);
        bench.ends(ticket, 200, 5000);
    }
    assert_eq!(bench.estimate(50), 0);
    let (_, ticket) = bench.take();
    bench.ends(ticket, 0, 60);
    bench.ends(ticket, 1, 50);
    bench.ends(ticket, 0, 9000);
    assert_eq!(bench.estimate(50), 60);
}

/// A flow that reuses an id does not owe what the previous one left in service.
#[test]
fn a_forgotten_flow_s_last_packet_settles_with_nobody() {
    let next = |forget: bool| {
        let spec: PolicySpec = "scfq:resource=first,estimator=ses,gain=0".parse().expect("a policy");
        let mut scheduler = spec.build(&Setup::new(1, Limits::UNLIMITED)).expect("one resource");
        let demand = Demand::new(&[Nanos::ZERO]).expect("one resource");
        let send = |scheduler: &mut dyn Scheduler, flow, handle| {
            let packet = Packet { flow: FlowId(flow), bytes: 50, arrival: Nanos::ZERO, handle, demand };
            let _ = scheduler.enqueue(&packet, Nanos::ZERO);
        };
        // Both flows are known to cost 10; then one of flow 0's packets takes 9,000.
        for (handle, (flow, took)) in [(0, 10), (1, 10), (0, 9000)].into_iter().enumerate() {
            send(&mut scheduler, flow, handle as u64);
            let ticket = scheduler.dequeue(Nanos::ZERO).expect("it waits").ticket;
            if forget && took == 9000 {
                assert!(scheduler.forget(FLOW));
            }
            let event = Feedback { flow: FlowId(flow), ticket, resource: 0, stage: Stage::Finished, took: Nanos(took) };
            scheduler.feedback(&event, Nanos(10_000));
        }
        send(&mut scheduler, 0, 3);
        send(&mut scheduler, 1, 4);
        scheduler.dequeue(Nanos(10_000)).expect("two wait").packet.flow
    };
    assert_eq!((next(true), next(false)), (FlowId(0), FlowId(1)));
}

/// A cost spec for everything in the registry, in a policy string.
#[test]
fn every_policy_runs_on_estimates() {
    for entry in dovetail_sched::registry::REGISTRY {
        for estimator in ["known", "line", "ses", "llsr"] {
            let spec: PolicySpec = format!("{}:estimator={estimator},gain=0.1", entry.name).parse().expect("valid");
            let mut scheduler = spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("two resources");
            assert_eq!(
                (scheduler.learning().is_some(), spec.estimates()),
                (estimator != "known", estimator != "known")
            );
        }
    }
    for wrong in ["drfq:estimator=mean", "drfq:gain=2", "drfq:window=1", "drfq:settle=maybe", "cbcs:gain=nan"] {
        let error = wrong.parse::<PolicySpec>().expect_err(wrong).to_string();
        assert!(error.contains(" is not "), "{error}");
    }
    assert!("fifo:x=1".parse::<PolicySpec>().expect_err("no such key").to_string().contains("estimator"));
}

/// A policy of one resource takes the flow's weight on that one.
#[test]
fn policies_of_one_resource_go_by_the_weight_there() {
    for name in ["wfq", "wf2q+", "scfq", "sfq"] {
        let first = |resource: &str| {
            let spec: PolicySpec = format!("{name}:resource={resource}").parse().expect("a policy");
            let mut scheduler = spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("two resources");
            for (flow, weights) in [(0, [1.0, 8.0]), (1, [8.0, 1.0])] {
                let weights = weights.map(|weight| dovetail_sched::Weight::new(weight).expect("in range"));
                scheduler.set_resource_weights(FlowId(flow), &weights);
            }
            let demand = Demand::new(&[Nanos(100), Nanos(100)]).expect("two resources");
            for handle in 0..8 {
                let flow = FlowId(handle as u32 % 2);
                let packet = Packet { flow, bytes: 50, arrival: Nanos::ZERO, handle, demand };
                let _ = scheduler.enqueue(&packet, Nanos::ZERO);
            }
            let sent: Vec<u32> =
                (0..5).filter_map(|_| scheduler.dequeue(Nanos::ZERO)).map(|s| s.packet.flow.0).collect();
            sent.iter().filter(|&&flow| flow == 0).count()
        };
        assert!(first("first") < 2 && first("last") > 3, "{name}: {} {}", first("first"), first("last"));
    }
}
