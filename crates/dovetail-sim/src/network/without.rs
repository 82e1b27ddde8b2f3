//! A build without TCP: networks can be parsed, but not run.

use dovetail_sched::PolicySpec;

use super::{
    contender::Contender, error::NetworkError, options::NetworkOptions, outcome::NetworkOutcome, spec::Network,
};
use crate::Observer;

/// Fails: running a network requires the feature `network`.
///
/// # Errors
/// Always.
pub fn simulate_network<O: Observer>(
    network: &Network,
    _: &PolicySpec,
    _: &mut O,
    _: NetworkOptions<'_>,
) -> Result<NetworkOutcome, NetworkError> {
    network.check()?;
    Err(NetworkError::LeftOut)
}

/// Fails: running a network requires the feature `network`.
///
/// # Errors
/// Always.
pub fn simulate_access<O: Observer>(
    network: &Network,
    _: &Contender,
    _: &mut O,
    _: NetworkOptions<'_>,
) -> Result<NetworkOutcome, NetworkError> {
    network.check()?;
    Err(NetworkError::LeftOut)
}
