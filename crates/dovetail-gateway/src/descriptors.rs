//! How many connections the process may have: each is an open file, and files are limited (getrlimit(2)).
//!
//! At the start the soft limit is raised to the hard one. What is left after a reserve is for connections: a client's takes
//! one descriptor, and its server's another. The reserve keeps the admin's port, the log, probes and lookups of names at
//! work when clients have taken all the rest.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::{config::Limits, error::GatewayError};

/// Half of it for clients who are told that there is no room, half for everything that is no client's.
const RESERVE: u64 = 128;
/// With fewer connections than this there is no gateway to speak of.
const LEAST_CONNECTIONS: u64 = 8;

/// Descriptors that there are for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptors {
    limit: u64,
}

impl Descriptors {
    /// As many as this process can get.
    pub(crate) fn raise() -> Result<Self, GatewayError> {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // A soft limit that cannot be raised is one to live with.
        let is_raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
        Self::of(if is_raised { maximum } else { current }.unwrap_or(u64::MAX))
    }

    /// With a limit of this many open files.
    pub(crate) fn of(limit: u64) -> Result<Self, GatewayError> {
        if limit < RESERVE + 2 * LEAST_CONNECTIONS {
            return Err(GatewayError::Descriptors(limit));
        }
        Ok(Self { limit })
    }

    /// For clients' connections and servers' together.
    pub(crate) fn for_connections(self) -> usize {
        usize::try_from(self.limit - RESERVE).unwrap_or(usize::MAX)
    }

    /// Clients' connections that are supported.
    pub(crate) fn clients(self) -> usize {
        self.for_connections() / 2
    }

    /// What to say if that is fewer than there may be.
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

/// Whether something failed because no descriptor was left, to this process or to the machine.
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
