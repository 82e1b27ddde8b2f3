//! The network of a scenario as modified by a gateway's policy.

use dovetail_sched::{DropPolicy, Limits, Nanos, PolicySpec, request::RequestSpec, units::Rate};

use crate::network::{
    contender::Contender,
    error::NetworkError,
    routes::Routes,
    spec::{Access, Link, Network, Node},
};

/// The network to run.
pub(in crate::network) struct Layout {
    pub(in crate::network) network: Network,
    pub(in crate::network) access: Access,
    /// Policy in front of the watched link.
    pub(in crate::network) far_end: PolicySpec,
    pub(in crate::network) requests: RequestSpec,
    /// Links that distinguish packets by class.
    pub(in crate::network) by_traffic: Vec<usize>,
}

/// Packets of a class queued at the shaper: HTB's classes with Linux's default fifo on a narrow device keep 1,000, which
/// delays by seconds; guides recommend 50.
const SHAPER_PACKETS: u32 = 50;

pub(in crate::network) fn lay_out(network: &Network, gateway: &Contender) -> Result<Layout, NetworkError> {
    let mut network = network.clone();
    let no_gateway = || NetworkError::Network("no users send requests through a gateway here: add [access]".into());
    let access = network.access.clone().ok_or_else(no_gateway)?;
    let far_end = network.links[network.watched].policy.clone();
    let ordinary: RequestSpec = "none".parse()?;
    let (requests, by_traffic) = match gateway {
        Contender::Requests(spec) => (spec.clone(), Vec::new()),
        Contender::UserSide(policy) => (ordinary, user_side(&mut network, access.gateway, policy)),
        Contender::Ingress { part } => (ordinary, vec![shape(&mut network, access.gateway, *part)?]),
    };
    Ok(Layout { network, access, far_end, requests, by_traffic })
}

/// Puts the policy in front of every link from the gateway towards its users.
fn user_side(network: &mut Network, gateway: usize, policy: &PolicySpec) -> Vec<usize> {
    let routes = Routes::new(network.nodes.len(), &network.links);
    let users = (0..network.traffic.len()).filter(|&at| network.requests(at).is_some());
    let users = users.flat_map(|at| network.traffic[at].to.iter().copied());
    let mut links: Vec<usize> = users.filter_map(|user| routes.next(gateway, user)).collect();
    links.sort_unstable();
    links.dedup();
    // A flow there is a class, numbered like its traffic.
    let classes = network.traffic.len() as u32;
    for &link in &links {
        let link = &mut network.links[link];
        link.policy = policy.clone();
        link.limits.flows = link.limits.flows.max(classes);
    }
    links
}

/// Puts a shaper between the watched link and the gateway.
fn shape(network: &mut Network, gateway: usize, part: f64) -> Result<usize, NetworkError> {
    let shaper = network.nodes.len();
    network.nodes.push(Node { name: "shaper".into() });
    let watched = &mut network.links[network.watched];
    watched.to = shaper;
    let rate = Rate::from_bps(watched.rate.bps() * part).map_err(|error| NetworkError::Network(error.to_string()))?;
    let limits = Limits { on_full: DropPolicy::Tail, ..Limits::per_flow(SHAPER_PACKETS) };
    let (delay, policy) = (Nanos::ZERO, "drr".parse()?);
    network.links.push(Link {
        from: shaper,
        to: gateway,
        rate,
        changes: [].into(),
        delay,
        policy,
        limits,
        mark_packets: None,
    });
    Ok(network.links.len() - 1)
}
