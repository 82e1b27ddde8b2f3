//! Which knobs can be changed while a policy runs: the registry is right, for every knob of every policy.

use dovetail_sched::{
    Demand, FlowId, Limits, Nanos, Packet, PolicyError, PolicySpec, Scheduler, Setup,
    registry::{Knob, REGISTRY, REQUESTS, with_knobs},
    request::{RequestSetup, RequestSpec},
};

/// A value of a knob that is not its default, with what must be set beside it.
fn other_value(policy: &str, key: &str) -> &'static str {
    match (policy, key) {
        ("msf-rs", "target") => "target=0.5",
        ("msf-rs", "window") => "window=7",
        (_, "quantum") => "quantum=3000B",
        (_, "threshold") => "threshold=50kB",
        (_, "target") => "threshold=auto,target=0.5",
        (_, "ratio") => "ratio=3",
        (_, "timeout") => "timeout=5s",
        (_, "steal") => "steal=long-first",
        (_, "alpha") => "alpha=0.5",
        (_, "batch") => "batch=7",
        (_, "domain") => "domain=100us",
        (_, "effort") => "effort=10",
        (_, "dovetail") => "dovetail=1ms",
        (_, "resource") => "resource=first",
        (_, "clock") => "clock=self",
        (_, "estimator") => "estimator=llsr",
        (_, "seconds") => "seconds=3s",
        (_, "order") => "order=fair",
        (_, "ageing") => "ageing=7",
        (_, "first") => "order=first,first=9kB",
        (_, "slack") => "slack=inf",
        (_, "user-lead") => "user-lead=9kB",
        (_, "lag") => "lag=9kB",
        (_, "lead") => "lead=9kB",
        (_, "users") => "users=ignore",
        (_, "silence") => "silence=9s",
        (_, "delay") => "delay=9ms",
        (_, "learn") => "learn=off",
        (_, "period") => "period=9s",
        (_, "growth") => "growth=9",
        (_, "new-flows") => "new-flows=shared",
        _ => panic!("{policy} has a new knob, {key}: give it a value here"),
    }
}

fn assert_as_registered(policy: &str, knob: &Knob, result: &Result<(), PolicyError>) {
    let key = knob.key;
    match result {
        Ok(()) => assert!(knob.retunable, "{policy}: {key} was turned, and is said to be fixed"),
        Err(PolicyError::Fixed { policy: named, .. }) => {
            assert!(!knob.retunable && *named == policy, "{policy}: {key} is said to be retunable");
        }
        Err(other) => panic!("{policy}, {key}: {other}"),
    }
}

#[test]
fn every_knob_of_a_packet_policy_is_what_its_line_says() {
    const ESTIMATOR: &str = "estimator";
    for entry in REGISTRY {
        let common = Knob { key: ESTIMATOR, default: "", meaning: "", retunable: false };
        for knob in entry.knobs.iter().filter(|knob| knob.key != ESTIMATOR).chain([&common]) {
            let mut scheduler = backlogged(entry.name);
            let spec: PolicySpec = with_knobs(entry.name, other_value(entry.name, knob.key)).parse().expect("valid");
            assert_as_registered(entry.name, knob, &scheduler.retune(&spec.knobs(), Nanos(500)));
            assert_eq!(drained(&mut *scheduler), 60, "{spec}: a packet is lost");
        }
        let mut scheduler = backlogged(entry.name);
        let same: PolicySpec = entry.name.parse().expect("a policy");
        scheduler.retune(&same.knobs(), Nanos(500)).expect("nothing changes");
        let other = if entry.name == "drr" { "fifo" } else { "drr" };
        let other: PolicySpec = other.parse().expect("a policy");
        let refused = scheduler.retune(&other.knobs(), Nanos(500)).expect_err("another policy");
        assert!(matches!(refused, PolicyError::OtherPolicy { .. } | PolicyError::Fixed { .. }), "{refused}");
    }
}

#[test]
fn a_knob_that_is_turned_acts_as_one_that_was_set() {
    let mut acted = Vec::new();
    for entry in REGISTRY {
        for knob in entry.knobs.iter().filter(|knob| knob.retunable) {
            let spec: PolicySpec = with_knobs(entry.name, other_value(entry.name, knob.key)).parse().expect("valid");
            let mut turned = built(entry.name);
            turned.retune(&spec.knobs(), Nanos::ZERO).expect("retunable");
            let [default, set, turned] = [built(entry.name), built(&spec.to_string()), turned].map(|mut scheduler| {
                mixed(&mut *scheduler);
                sent(&mut *scheduler)
            });
            assert_eq!(turned, set, "{spec}");
            if set != default {
                acted.push((entry.name, knob.key));
            }
        }
    }
    // Those that matter to this traffic; otherwise nothing would have been compared.
    let expected = [
        ("drr", "quantum"),
        ("drr-sff", "threshold"),
        ("drr-sff", "quantum"),
        ("run2c", "threshold"),
        ("tradeoff", "alpha"),
        ("atfq", "batch"),
        ("atfq", "domain"),
    ];
    assert_eq!(acted, expected);
}

/// One tag for all resources and one for each do not become the other; the lag between several does.
#[test]
fn the_tags_of_a_drfq_that_runs_stay_as_many() {
    for (from, to, can) in
        [("0", "0", true), ("0", "1ms", false), ("1ms", "0", false), ("1ms", "2ms", true), ("inf", "0", false)]
    {
        let mut scheduler = backlogged(&format!("drfq:dovetail={from}"));
        let spec: PolicySpec = format!("drfq:dovetail={to}").parse().expect("valid");
        let turned = scheduler.retune(&spec.knobs(), Nanos(500));
        let refused = matches!(turned, Err(PolicyError::Fixed { policy: "drfq", .. }));
        assert_eq!((turned.is_ok(), refused), (can, !can), "{from} to {to}");
        assert_eq!(drained(&mut *scheduler), 60);
    }
}

fn built(policy: &str) -> Box<dyn Scheduler> {
    let spec: PolicySpec = policy.parse().expect("a policy");
    spec.build(&Setup::new(2, Limits::UNLIMITED)).expect("it is built")
}

fn backlogged(policy: &str) -> Box<dyn Scheduler> {
    let mut scheduler = built(policy);
    for handle in 0..60 {
        let demand = Demand::new(&[Nanos(10 + handle % 7), Nanos(15)]).expect("two resources");
        let packet = Packet { flow: FlowId(handle as u32 % 5), bytes: 400, arrival: Nanos(handle), handle, demand };
        assert!(scheduler.enqueue(&packet, Nanos(handle)).is_queued());
    }
    scheduler
}

/// Three long flows and two short ones, some of which need more of the first resource and others of the second.
fn mixed(scheduler: &mut dyn Scheduler) {
    for handle in 0..600 {
        let flow = if handle < 300 { handle % 3 } else { handle % 5 };
        let demand = [[900, 300], [300, 1_200], [500, 500], [1_100, 200], [100, 900]][flow as usize].map(Nanos);
        let demand = Demand::new(&demand).expect("two resources");
        let bytes = [1_500, 700, 1_000, 1_500, 200][flow as usize];
        let packet = Packet { flow: FlowId(flow as u32), bytes, arrival: Nanos::ZERO, handle, demand };
        assert!(scheduler.enqueue(&packet, Nanos::ZERO).is_queued());
    }
}

fn drained(scheduler: &mut dyn Scheduler) -> usize {
    sent(scheduler).len()
}

/// The packets in the order in which they are released, each crossing the pipeline before the next is requested.
fn sent(scheduler: &mut dyn Scheduler) -> Vec<u64> {
    use dovetail_sched::{Feedback, Stage};
    let (mut now, mut sent) = (Nanos(1_000), Vec::new());
    for _ in 0..10_000 {
        let Some(out) = scheduler.dequeue(now) else {
            match scheduler.poll_at() {
                Some(at) => now = at.max(now + Nanos(1)),
                None => break,
            }
            continue;
        };
        sent.push(out.packet.handle);
        for resource in 0..2 {
            for stage in [Stage::Started, Stage::Finished] {
                now += Nanos(10);
                let took = if stage == Stage::Finished { Nanos(10) } else { Nanos::ZERO };
                let event = Feedback { flow: out.packet.flow, ticket: out.ticket, resource, stage, took };
                if scheduler.interest().has(stage, resource.into()) {
                    scheduler.feedback(&event, now);
                }
            }
        }
    }
    sent
}

#[test]
fn every_knob_of_a_request_policy_is_what_its_line_says() {
    for entry in REQUESTS {
        let spec: RequestSpec = entry.name.parse().expect("a policy");
        for knob in entry.knobs {
            let mut scheduler = spec.build(&RequestSetup::for_bytes(1e6)).expect("it is built");
            let other: RequestSpec = with_knobs(entry.name, other_value(entry.name, knob.key)).parse().expect("valid");
            assert_as_registered(entry.name, knob, &scheduler.retune(&other.knobs(), Nanos(500)));
        }
        let mut scheduler = spec.build(&RequestSetup::for_bytes(1e6)).expect("it is built");
        scheduler.retune(&spec.knobs(), Nanos(500)).expect("nothing changes");
    }
}
