//! Long-lived connections: their shares of a common link.

#![allow(clippy::unwrap_used)]

use dovetail_sched::{Limits, Nanos};
use dovetail_sim::network::{Congestion, Kind, Network};

use crate::dumbbell::{dumbbell, traffic};
use crate::watch::run;

const SECONDS: usize = 60;

/// Two connections over 3 Mbit/s with a round trip of 100 ms, and 38 packets of buffer: a bandwidth-delay product.
fn two(congestion: Congestion) -> Network {
    let mut network = dumbbell(1, 3.0, 38, vec![traffic(1, Kind::LongLived(2))]);
    network.stop_at = Some(Nanos::from_secs(SECONDS as u64));
    network.transport.tcp.congestion = congestion;
    network
}

/// Goodput of both over the second half, in bits per second.
fn goodputs(network: &Network, policy: &str) -> [f64; 2] {
    let outcome = run(network, policy).outcome;
    assert!(outcome.link.dropped > 0, "{policy}: nothing was put to the test");
    [0, 1].map(|at| outcome.streams[at].mean_bps(SECONDS / 2, SECONDS))
}

/// Jain's index: 1 if both receive the same, a half if one receives everything.
fn jain([a, b]: [f64; 2]) -> f64 {
    (a + b).powi(2) / (2.0 * (a * a + b * b))
}

#[test]
fn two_equal_connections_share_equally_through_drr() {
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        let mut network = two(congestion);
        network.links[0].limits = Limits::per_flow(19);
        let shares = goodputs(&network, "drr");
        assert!(jain(shares) > 0.99, "{congestion:?}: {shares:?}");
    }
}

#[test]
fn they_fill_the_link_through_fifo() {
    for congestion in [Congestion::Reno, Congestion::Cubic] {
        let [a, b] = goodputs(&two(congestion), "fifo");
        // Headers take 40 bytes of 1,040. Data behind a hole is read in a later second than it arrived.
        let used = (a + b) * 1.04 / 3e6;
        assert!((0.95..=1.005).contains(&used), "{congestion:?}: {a} {b}, {used} of the link");
    }
}
