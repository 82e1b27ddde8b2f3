//! Networks: what a real TCP does over links whose arithmetic is known.

#![allow(clippy::unwrap_used)]

mod dumbbell;

use dovetail_sim::network::{Kind, Network, NetworkOptions, NetworkOutcome, simulate_network};
use dovetail_sim::workload::Size;

use dumbbell::{dumbbell, traffic};

fn run(network: &Network, policy: &str) -> NetworkOutcome {
    simulate_network(network, &policy.parse().unwrap(), &mut (), NetworkOptions::default()).unwrap()
}

/// One packet over an idle path: a handshake and a segment, three links each way.
#[test]
fn a_segment_takes_a_handshake_and_half_a_round_trip() {
    let kind = Kind::Transfers {
        count: 1,
        size: Size::Fixed(1),
        unit_bytes: 1000,
        arrivals: dovetail_sim::network::Arrivals::Together,
    };
    let outcome = run(&dumbbell(1, 3.0, 50, vec![traffic(1, kind)]), "fifo");
    let took = outcome.transfers[0].took().unwrap().as_secs_f64();
    // 10 + 30 + 10 ms each way; what TCP's options add to the handshake is under a millisecond.
    let data = 1040.0 * 8.0 * (2.0 / 10e6 + 1.0 / 3e6);
    assert!((0.150 + data..0.151 + data).contains(&took), "{took}");
}
