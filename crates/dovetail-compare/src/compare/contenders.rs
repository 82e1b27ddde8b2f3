//! The policies to compare.

use dovetail_sched::PolicySpec;
use dovetail_sim::network::Contender;

use crate::{
    contender::of_packets,
    error::{Error, Misuse},
    options::CompareOptions,
};

/// The packet policies to compare.
pub(super) fn policies(options: &CompareOptions, default: &[&str]) -> Result<Vec<PolicySpec>, Error> {
    contenders(options, default)?.iter().map(of_packets).collect()
}

/// What to compare: what was requested, or `default`.
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
