//! Policy strings and setups: which are equal, and how those are refused that make no scheduler.

use dovetail_sched::{
    Limits, PolicySpec, Setup,
    cost::{Program, ProgramTable},
    registry::{REGISTRY, REQUESTS},
    request::RequestSpec,
};

fn refusal(text: &str) -> String {
    text.parse::<PolicySpec>().expect_err(text).to_string()
}

#[test]
fn the_order_of_knobs_does_not_matter() {
    let spec = |text: &str| text.parse::<PolicySpec>().unwrap();
    assert_eq!(spec("atfq:batch=10,effort=200"), spec("atfq:effort=200,batch=10"));
    for other in ["atfq:batch=10", "atfq:batch=10,effort=201", "atfq:batch=10,effort=200,estimator=ses", "atfq"] {
        assert_ne!(spec("atfq:batch=10,effort=200"), spec(other));
        assert_ne!(spec(other), spec("atfq:batch=10,effort=200"));
    }
    assert_ne!(spec("drr"), spec("drr:quantum=1514"));
    assert_eq!(spec("drr").in_full(), spec("drr:quantum=1514").in_full());
}

#[test]
fn a_size_is_compared_with_its_range_as_written() {
    for text in ["drr:quantum=0.5", "drr:quantum=0.9B", "drr:quantum=1.1GB", "drr:quantum=0", "drr:quantum=x"] {
        let said = refusal(text);
        assert!(said.ends_with("is not a size from 1B to 1GB, such as 1500B or 20kB"), "{text}: {said}");
    }
    for text in ["drr:quantum=1", "drr:quantum=1.5", "drr:quantum=0.001kB", "drr:quantum=1GB"] {
        assert!(text.parse::<PolicySpec>().is_ok(), "{text}");
    }
}

#[test]
fn each_kind_of_policy_lists_its_own() {
    let packets: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
    let requests: Vec<_> = REQUESTS.iter().map(|entry| entry.name).collect();
    let (packets, requests) = (packets.join(", "), requests.join(", "));
    assert_eq!(refusal("fastest"), format!("unknown policy 'fastest': available are {packets}"));
    assert_eq!(
        refusal("grants:delay=30ms"),
        format!("'grants' orders requests, not packets: it makes a request scheduler. Packet policies are {packets}")
    );
    let refusal = |text: &str| text.parse::<RequestSpec>().expect_err(text).to_string();
    assert_eq!(refusal("fastest"), format!("unknown request policy 'fastest': available are {requests}"));
    assert_eq!(refusal("drr"), format!("'drr' orders packets, not requests: request policies are {requests}"));
}

#[test]
fn an_expansion_out_of_range_is_refused_whether_costs_are_estimated_or_not() {
    let build = |policy: &str, expansion| {
        let programs = ProgramTable::new(vec![Program::new("a"), Program { expansion, ..Program::new("b") }]);
        let spec: PolicySpec = policy.parse().unwrap();
        spec.build(&Setup { programs, ..Setup::new(2, Limits::UNLIMITED) }).map_err(|error| error.to_string())
    };
    for policy in ["drfq:estimator=ses", "drfq"] {
        for expansion in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            let said = build(policy, expansion).expect_err("out of range");
            assert_eq!(said, format!("program 'b': an expansion is a number above 0, not {expansion}"));
        }
        for expansion in [f64::MIN_POSITIVE, 1.0, 1e300] {
            assert!(build(policy, expansion).is_ok(), "{expansion}");
        }
    }
}
