//! Who is compared.

use dovetail_sched::PolicySpec;
use dovetail_sim::network::Contender;

use crate::{
    error::{Error, Misuse},
    options::CompareOptions,
};

/// The policies of packets to compare.
pub(super) fn policies(options: &CompareOptions, default: &[&str]) -> Result<Vec<PolicySpec>, Error> {
    let packets = |contender: Contender| match contender {
        Contender::UserSide(policy) => Ok(policy),
        Contender::Requests(_) | Contender::Ingress { .. } => {
            let why =
                "it schedules requests at a gateway; give it a network with [access], such as scenarios/access.toml";
            Err(Misuse::policy(contender, why).into())
        }
    };
    contenders(options, default)?.into_iter().map(packets).collect()
}

/// What to compare: what was asked for, or `default`.
pub(super) fn contenders(options: &CompareOptions, default: &[&str]) -> Result<Vec<Contender>, Error> {
    if options.policies.is_empty() {
        let parsed: Result<Vec<_>, _> = default.iter().map(|name| name.parse()).collect();
        return parsed.map_err(Error::from);
    }
    for (at, policy) in options.policies.iter().enumerate() {
        if options.policies[..at].contains(policy) {
            return Err(Misuse::Twice(policy.to_string()).into());
        }
    }
    Ok(options.policies.clone())
}
