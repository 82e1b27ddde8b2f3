//! Entry points that run a network.

use dovetail_sched::PolicySpec;

use super::{
    access_model::NoUsers,
    blamed::Blamed,
    capture::Capture,
    contender::Contender,
    error::NetworkError,
    net::Net,
    options::NetworkOptions,
    outcome::NetworkOutcome,
    request_gateway::{RequestGateway, lay_out},
    spec::Network,
    transport::Protocol,
    watch::Watch,
    world::World,
};
use crate::Observer;

/// Runs `network` with `policy` in front of its watched link.
///
/// # Errors
/// [`NetworkError`] when the network contradicts itself, a policy cannot be built or the capture cannot be written.
pub fn simulate_network<O: Observer>(
    network: &Network,
    policy: &PolicySpec,
    observer: &mut O,
    options: NetworkOptions<'_>,
) -> Result<NetworkOutcome, NetworkError> {
    network.check()?;
    if network.access.is_some() {
        return Err(NetworkError::Network("users send requests through a gateway here: set its policy".into()));
    }
    let NetworkOptions { progress, capture, blame, stop, .. } = options.lend();
    if blame.is_some() && network.transport.protocol == Protocol::Quic {
        let why = "transfers over QUIC are not explained: what they wait for is told by TCP's sequence numbers";
        return Err(NetworkError::Network(why.into()));
    }
    let blamed = blame.map_or(Blamed::Nothing, |blame| {
        blame.knows(network.traffic.iter().map(|traffic| traffic.name.as_str()));
        Blamed::Transfers(blame)
    });
    let watch = Watch::new(observer, capture.map(Capture::begin).transpose()?, blamed);
    let net = Net::new(network, policy, &[], watch)?;
    World::new(net, NoUsers, progress, stop).run()
}

/// Runs a network whose users send requests through this `gateway`.
///
/// # Errors
/// Same as for [`simulate_network`], and when there is no gateway.
pub fn simulate_access<O: Observer>(
    network: &Network,
    gateway: &Contender,
    observer: &mut O,
    options: NetworkOptions<'_>,
) -> Result<NetworkOutcome, NetworkError> {
    network.check()?;
    let laid = lay_out(network, gateway)?;
    let NetworkOptions { progress, capture, requests, stop, .. } = options.lend();
    let blamed = requests.map_or(Blamed::Nothing, |blame| {
        let name = |at: usize| network.traffic[at].name.as_str();
        let user = |(at, node): (usize, usize)| (network.nodes[node].name.as_str(), name(network.class_of(at)));
        let others = (0..network.traffic.len()).filter(|&at| network.requests(at).is_none());
        let over_tcp = laid.access.users.is_some();
        blame.knows(network.users().map(user), over_tcp, others.map(|at| (at, name(at))));
        Blamed::Requests(blame)
    });
    let watch = Watch::new(observer, capture.map(Capture::begin).transpose()?, blamed);
    let mut net = Net::new(&laid.network, &laid.far_end, &laid.by_traffic, watch)?;
    let gateway = RequestGateway::begin(&laid.access, &laid.requests, &mut net)?;
    World::new(net, gateway, progress, stop).run()
}
