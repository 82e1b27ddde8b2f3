//! Limits connections by the number of open files that the process may have (getrlimit(2)).
//!
//! At the start the soft limit is raised to the hard one. What is left after a reserve is for connections: a client's takes one
//! descriptor, and its server's another. The reserve keeps the admin port, the log, probes and name lookups working when
//! clients have taken all the rest.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{config::Limits, error::GatewayError};

/// Half of it is for refusing clients for lack of space, half for everything unrelated to clients.
const RESERVE: u64 = 128;
/// With fewer connections than this a gateway is not useful.
const MIN_CONNECTIONS: u64 = 8;

/// The descriptors available for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptors {
    limit: u64,
}

impl Descriptors {
    /// The most that this process can get.
    pub(crate) fn raise() -> Result<Self, GatewayError> {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // If the soft limit cannot be raised, it has to do.
        let is_raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        Self::of(if is_raised { maximum } else { current }.unwrap_or(u64::MAX))
    }

    /// For a limit of this many open files.
    pub(crate) fn of(limit: u64) -> Result<Self, GatewayError> {
        if limit < RESERVE + 2 * MIN_CONNECTIONS {
            return Err(GatewayError::Descriptors(limit));
        }
        Ok(Self { limit })
    }

    /// The number for connections of clients and servers together.
    pub(crate) fn for_connections(self) -> usize {
        usize::try_from(self.limit - RESERVE).unwrap_or(usize::MAX)
    }

    /// The supported number of client connections.
    pub(crate) fn clients(self) -> usize {
        self.for_connections() / 2
    }

    /// A warning if that is fewer than configured.
    pub(crate) fn warning(self, limits: &Limits) -> Option<String> {
        let (asked, most) = (limits.connections, self.clients());
        (asked > most).then(|| {
            let needed = 2 * asked as u64 + RESERVE;
            format!(
                "limits.connections is {asked}, but {} open files allow {most}, which is used instead; raise the \
                 hard limit to {needed} (ulimit -Hn, or LimitNOFILE= of the unit), or lower limits.connections",
                self.limit
            )
        })
    }
}

/// Whether an operation failed because the process or the machine had no descriptor left.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let errors = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    error.raw_os_error().is_some_and(|error| errors.iter().any(|errno| errno.raw_os_error() == error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn what_is_left_after_the_reserve_is_for_pairs_of_connections() {
        let of = |limit| Descriptors::of(limit).expect("enough").clients();
        assert_eq!((of(256), of(1024), of(65_536)), (64, 448, 32_704));
        assert!(of(u64::MAX) > 1_000_000);
        assert!(Descriptors::of(143).is_err_and(|why| why.to_string().contains("143")));
    }

    #[test]
    fn a_warning_says_how_many_are_needed_and_they_are_enough() {
        let text = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n";
        let limits = Config::parse(text).expect("a configuration").limits;
        let warning = |limit| Descriptors::of(limit).expect("enough").warning(&limits);
        let said = warning(1024).expect("a warning");
        assert!(said.contains("16384") && said.contains("allow 448") && said.contains("to 32896"), "{said}");
        assert!(warning(32_895).is_some());
        assert_eq!(warning(32_896), None);
    }

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let raised = Descriptors::raise().expect("enough");
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!((current, raised.limit), (maximum, maximum.unwrap_or(u64::MAX)));
    }
}
