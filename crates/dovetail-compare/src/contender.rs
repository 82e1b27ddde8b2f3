//! Which policies can be run where.

use dovetail_sched::PolicySpec;
use dovetail_sim::network::Contender;

use crate::error::{Error, Misuse};

/// A policy of packets; one of requests needs a gateway.
pub(crate) fn of_packets(contender: &Contender) -> Result<PolicySpec, Error> {
    match contender {
        Contender::UserSide(policy) => Ok(policy.clone()),
        Contender::Requests(_) | Contender::Ingress { .. } => {
            let why =
                "it schedules requests at a gateway; give it a network with [access], such as scenarios/access.toml";
            Err(Misuse::policy(contender, why).into())
        }
    }
}
