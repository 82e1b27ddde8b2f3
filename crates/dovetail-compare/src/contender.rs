//! Where policies can be run.

use dovetail_sched::PolicySpec;
use dovetail_sim::network::Contender;

use crate::error::{Error, Misuse};

/// The packet policy of a contender; a request policy requires a gateway.
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
