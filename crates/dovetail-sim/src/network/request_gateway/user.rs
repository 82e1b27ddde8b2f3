//! Users: when they send requests, to which server, and of what length. Nothing here depends on what happens to requests,
//! except when a user who waits for responses sends the next request.

use std::net::SocketAddrV4;

use dovetail_sched::Nanos;

use crate::{
    network::spec::{Asks, Network, Requests, Traffic},
    workload::random::Random,
};

/// A user.
#[derive(Debug)]
pub(super) struct User {
    pub(super) traffic: usize,
    pub(super) node: usize,
    pub(super) socket: SocketAddrV4,
    // Separate generators, so that one does not affect the other.
    sizes: Random,
    servers: Random,
    gaps: Random,
    uploads: Random,
    // Mean time between requests of a user who does not wait for responses.
    mean_gap: Option<Nanos>,
}

/// A request that a user wants to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish {
    /// Length of the response's body.
    pub(super) bytes: u64,
    /// Index of the server's node.
    pub(super) server: usize,
    /// Bytes of the request's own body.
    pub(super) upload: u64,
}

/// Users who keep requests outstanding begin spread over this time, not all at once.
const STAGGER: Nanos = Nanos::from_secs(1);

impl User {
    /// User `number` of all users.
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

    /// When the user sends the first requests, one for each that they keep outstanding.
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

    /// The next request: its server, and the lengths of response and upload.
    pub(super) fn asks(&mut self, traffic: &Traffic, requests: &Requests) -> Wish {
        let bytes = requests.size.sample(&mut self.sizes);
        let server = traffic.from[(self.servers.unit() * traffic.from.len() as f64) as usize];
        let upload = requests.upload.as_ref().map_or(0, |upload| upload.sample(&mut self.uploads));
        Wish { bytes, server, upload }
    }

    /// Time from a request to the next, for a user who does not wait for responses.
    pub(super) fn next(&mut self) -> Option<Nanos> {
        // Never zero, or time would not advance.
        self.mean_gap.map(|mean| self.wait(mean).max(Nanos(1)))
    }

    /// Time from a response to the next request, for a user who waits for responses.
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

/// Mean time between requests of each user of this traffic, if they do not wait for responses.
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
