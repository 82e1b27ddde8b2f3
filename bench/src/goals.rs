//! Goals for the figures. Missing one is not a failure: the table shows it.

use crate::row::Goal;

/// Nanoseconds per dequeue and enqueue.
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

/// Maximum slowdown of a policy of constant cost with very many flows.
pub const FLAT: Goal = Goal::AtMost(2.0);

/// Maximum slowdown of a policy with a heap with a million flows relative to 10,000.
pub const FLAT_HEAP: Goal = Goal::AtMost(2.5);

/// Maximum megabytes of a run with ten million flows, including its flow table.
pub const TEN_MILLION_FLOWS: Goal = Goal::AtMost(4_000.0);

/// Maximum time of DRR's variant with short flows first, relative to DRR.
pub const BESIDE_DRR: Goal = Goal::AtMost(1.4);

/// Maximum time of the trade-off relative to MR3 in its paper's testbed.
pub const BESIDE_MR3: Goal = Goal::AtMost(2.5);

/// Maximum excess of a packet from C over one from Rust, in nanoseconds.
pub const THROUGH_C: Goal = Goal::AtMost(15.0);

/// Minimum throughput of two threads relative to one, with a handle each from C.
pub const TWO_THREADS: Goal = Goal::AtLeast(1.8);

/// Minimum gain by a second thread from C, relative to that from Rust.
pub const AS_RUST_DOES: Goal = Goal::AtLeast(0.95);

/// Virtual seconds per second of the network simulator with 4,000 transfers.
pub const NETWORK: Goal = Goal::AtLeast(1_500.0);

/// Nanoseconds per TCP segment, both ends together.
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
