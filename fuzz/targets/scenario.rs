//! Text as a network, or as a scenario and the packets that come of it.
#![no_main]

use std::io::Cursor;

use dovetail_sim::{
    network::Network,
    workload::{Scenario, Workload},
};
use libfuzzer_sys::fuzz_target;

/// So many packets are enough.
const MAX_PACKETS: usize = 2_000;

fuzz_target!(|text: &str| {
    // Whatever file the scenario names holds the scenario.
    let mut open = |_: &str| Ok(Box::new(Cursor::new(text.to_owned())) as Box<_>);
    if Network::is_described_by(text) {
        let _ = Network::parse(text, "fuzz", &mut open);
        return;
    }
    let Ok(scenario) = Scenario::parse(text, "fuzz", &mut open) else { return };
    assert!(scenario.offered_loads().iter().all(|load| load.is_finite() && *load >= 0.0));
    let Ok(mut workload) = scenario.workload() else { return };
    let mut last = dovetail_sched::Nanos::ZERO;
    for _ in 0..MAX_PACKETS {
        let Some(arrival) = workload.next().expect("a scenario that was accepted does not fail later") else { break };
        assert!(arrival.at >= last, "time runs back");
        last = arrival.at;
        assert!(arrival.bytes > 0);
        assert!(!workload.label(arrival.flow).is_empty());
        assert!(workload.class(arrival.flow).is_some());
        if let Some(more) = workload.refill(arrival.flow, last) {
            assert_eq!((more.flow, more.at), (arrival.flow, last));
        }
    }
});
