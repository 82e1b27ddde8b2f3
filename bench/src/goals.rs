//! What the figures should be. Nothing fails when one is missed: the table says so.

use crate::row::Goal;

/// Nanoseconds of a dequeue and an enqueue.
pub fn operation(policy: &str, flows: u32) -> Option<Goal> {
    let most = match (policy, flows) {
        ("drr", 1_000) => 25.0,
        ("drr", 100_000) => 60.0,
        ("wfq" | "wf2q+", 1_000) => 80.0,
        ("drfq", 1_000) => 60.0,
        ("atfq" | "atfq:batch=20", 1_000) => 100.0,
        ("tradeoff" | "tradeoff:alpha=1", 1_000) => 150.0,
        ("tradeoff" | "tradeoff:alpha=1", 10_000) => 1_000.0,
        _ => return None,
    };
    Some(Goal::AtMost(most))
}

/// How many times as long a policy of constant cost may take with very many flows.
pub const FLAT: Goal = Goal::AtMost(2.0);

/// How many times as long as with 10,000 flows a policy with a heap may take with a million.
pub const FLAT_HEAP: Goal = Goal::AtMost(2.5);

/// Megabytes that a run with ten million flows may take, its flow table and all.
pub const TEN_MILLION_FLOWS: Goal = Goal::AtMost(4_000.0);

/// How many times as long as DRR its variant with short flows first may take.
pub const BESIDE_DRR: Goal = Goal::AtMost(1.4);

/// How many times as long as MR3 the trade-off may take in its paper's testbed.
pub const BESIDE_MR3: Goal = Goal::AtMost(2.5);

/// Nanoseconds that a packet may take more from C than from Rust.
pub const THROUGH_C: Goal = Goal::AtMost(15.0);

/// How many times as much two threads do as one, with a handle each from C.
pub const TWO_THREADS: Goal = Goal::AtLeast(1.8);

/// How much of what a second thread brings from Rust it brings from C.
pub const AS_RUST_DOES: Goal = Goal::AtLeast(0.95);

/// Virtual seconds a second of the network simulator with 4,000 transfers.
pub const NETWORK: Goal = Goal::AtLeast(1_500.0);

/// Nanoseconds of a segment of TCP, both ends together.
pub const SEGMENT: Goal = Goal::AtMost(1_000.0);

/// Packets per second of the whole simulator with 1,000 flows.
pub fn simulator(policy: &str) -> Option<Goal> {
    match policy {
        "fifo" | "drr" => Some(Goal::AtLeast(10e6)),
        "wfq" | "drfq" => Some(Goal::AtLeast(6e6)),
        "atfq:batch=20" => Some(Goal::AtLeast(4.5e6)),
        "tradeoff" => Some(Goal::AtLeast(3e6)),
        _ => None,
    }
}
