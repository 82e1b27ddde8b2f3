//! Random calls through C and directly give the same results: packet schedulers and the flow table, for all policies.

use dovetail_sched::{DropPolicy, Limits};
use proptest::prelude::*;

use crate::both_packets::{Call, FLOWS, PROGRAMS, play, policies};

fn call() -> impl Strategy<Value = Call> {
    let time = 0u64..30_000;
    prop_oneof![
        6 => (0u64..20_000).prop_map(Call::Wait),
        12 => (0u8..9, 1u32..1600, prop::array::uniform8(time.clone()))
            .prop_map(|(tuple, bytes, times)| Call::Arrive(tuple, bytes, times)),
        1 => (0..FLOWS).prop_map(Call::WrongDemand),
        1 => Just(Call::TooManyFlows),
        10 => Just(Call::Dequeue),
        3 => Just(Call::Peek),
        12 => (0usize..8, time).prop_map(|(at, took)| Call::GoOn(at, took)),
        1 => (0usize..8).prop_map(Call::Die),
        2 => (0..FLOWS, 0.01f64..20.0).prop_map(|(flow, weight)| Call::Weight(flow, weight)),
        1 => (0..FLOWS, prop::array::uniform8(0.01f64..20.0)).prop_map(|(flow, weights)| Call::Weights(flow, weights)),
        1 => (0..FLOWS).prop_map(Call::Forget),
        1 => (0..FLOWS).prop_map(Call::Discard),
        1 => (0..FLOWS, 0..PROGRAMS).prop_map(|(flow, program)| Call::Program(flow, program)),
        1 => (0usize..16).prop_map(Call::Retune),
        1 => (0u32..4).prop_map(Call::Expire),
        4 => (1usize..4).prop_map(Call::DequeueBefore),
        2 => Just(Call::Look),
    ]
}
fn limits() -> impl Strategy<Value = Limits> {
    let on_full = prop::sample::select(vec![DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest]);
    let packets = || prop::option::of(1u32..12);
    let bytes = || prop::option::of(800u64..9000);
    (packets(), bytes(), packets(), bytes(), on_full).prop_map(|(flow_packets, flow_bytes, packets, bytes, on_full)| {
        Limits { flow_packets, flow_bytes, packets, bytes, flows: FLOWS, on_full }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_calls_have_the_same_answers(
        calls in prop::collection::vec(call(), 1..250),
        resources in 1usize..5,
        limits in limits(),
        flags in 0u32..2,
    ) {
        let policies = policies();
        for policy in &policies {
            play(policy, resources, limits, flags, &calls, &policies);
        }
    }
}
