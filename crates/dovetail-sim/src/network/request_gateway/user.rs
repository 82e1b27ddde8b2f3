//! Users: when they ask, for how much, and whom. Nothing here depends on what becomes of requests, but when a user who
//! waits for answers asks next.

use std::net::SocketAddrV4;

use dovetail_sched::Nanos;

use crate::{
    network::spec::{Asks, Network, Requests, Traffic},
    workload::random::Random,
};

/// A user at work.
#[derive(Debug)]
pub(super) struct User {
    pub(super) traffic: usize,
    pub(super) node: usize,
    pub(super) socket: SocketAddrV4,
    // Apart, so that one does not change the other.
    sizes: Random,
    servers: Random,
    gaps: Random,
    uploads: Random,
    // Between requests of one who does not wait for answers.
    mean_gap: Option<Nanos>,
}

/// What a user asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// Length of the body.
    pub(super) bytes: u64,
    /// The server's node, as an index.
    pub(super) server: usize,
    /// Bytes that the request carries.
    pub(super) upload: u64,
}

/// Users who keep requests outstanding begin within this time, not all at once.
const STAGGER: Nanos = Nanos::from_secs(1);

impl User {
    /// Number `number` of all users.
    pub(super) fn new(network: &Network, traffic: usize, node: usize, socket: SocketAddrV4, number: usize) -> Self {
        let random = |what: u64| Random::new(network.seed, (1 << 40) + 4 * number as u64 + what);
        Self {
            traffic,
            node,
            socket,
            sizes: random(0),
            servers: random(1),
            gaps: random(2),
            uploads: random(3),
            mean_gap: mean_gap(network, traffic),
        }
    }

    /// When it asks first, once for each request that it keeps.
    pub(super) fn begins(&mut self, requests: &Requests) -> Vec<Nanos> {
        match (self.mean_gap, requests.asks) {
            (Some(mean), _) => vec![self.wait(mean)],
            (None, Asks::Kept { each, think }) => {
                let first = |user: &mut Self| {
                    if think > Nanos::ZERO {
                        user.wait(think)
                    } else {
                        Nanos::from_f64(user.gaps.unit() * STAGGER.as_f64())
                    }
                };
                (0..each).map(|_| first(self)).collect()
            }
            (None, _) => Vec::new(),
        }
    }

    /// What it asks for and of whom, and what it sends there.
    pub(super) fn asks(&mut self, traffic: &Traffic, requests: &Requests) -> Wish {
        let bytes = requests.size.sample(&mut self.sizes);
        let server = traffic.from[(self.servers.unit() * traffic.from.len() as f64) as usize];
        let upload = requests.upload.as_ref().map_or(0, |upload| upload.sample(&mut self.uploads));
        Wish { bytes, server, upload }
    }

    /// How long after a request the next one comes, from one who does not wait for the answer.
    pub(super) fn next(&mut self) -> Option<Nanos> {
        // Never none at all, or time would not pass.
        self.mean_gap.map(|mean| self.wait(mean).max(Nanos(1)))
    }

    /// How long after an answer the next request comes, from one who waits for it.
    pub(super) fn thinks(&mut self, requests: &Requests) -> Option<Nanos> {
        match requests.asks {
            Asks::Kept { think, .. } => Some(self.wait(think)),
            Asks::PerSecond(_) | Asks::Load(_) => None,
        }
    }

    fn wait(&mut self, mean: Nanos) -> Nanos {
        if mean > Nanos::ZERO { Nanos::from_f64(self.gaps.exponential() * mean.as_f64()) } else { Nanos::ZERO }
    }
}

/// Between requests of each user of this traffic, where they come whether or not answers do.
fn mean_gap(network: &Network, traffic: usize) -> Option<Nanos> {
    let rate = match network.requests(traffic)?.asks {
        Asks::Kept { .. } => return None,
        Asks::PerSecond(rate) => rate,
        Asks::Load(load) => {
            let with_load = |traffic: &usize| {
                network.requests(*traffic).is_some_and(|requests| matches!(requests.asks, Asks::Load(_)))
            };
            let users: usize =
                (0..network.traffic.len()).filter(with_load).map(|traffic| network.traffic[traffic].to.len()).sum();
            let header = network.access.as_ref().map_or(0, |access| access.header_bytes);
            let mean = network.requests(traffic)?.size.mean() + f64::from(header);
            let wire_bytes = network.transport.wire_bytes(mean as u64) as f64;
            load * network.links[network.watched].rate.bps() / 8.0 / wire_bytes / users as f64
        }
    };
    Some(Nanos::from_f64(1e9 / rate))
}
