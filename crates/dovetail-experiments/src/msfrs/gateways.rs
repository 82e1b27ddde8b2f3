//! Gateways to measure on a real link: unmodified Squid, and this program.

use std::{
    env, fmt,
    process::{Command, Stdio},
};

use dovetail_bed::{Bed, BedSpec, LoadSpec, Measured, Proxy, check};

use crate::{error::Error, experiment::Given};
use dovetail_compare::side_by_side::side_by_side_on;

/// The gateway that serves users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gateway {
    /// Without a cache, otherwise with defaults.
    Squid,
    /// This program under a request policy.
    Ours(&'static str),
}

impl fmt::Display for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Squid => f.write_str("Squid"),
            Self::Ours(policy) => f.write_str(policy),
        }
    }
}

/// A run to make.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) gateway: Gateway,
    pub(super) bed: BedSpec,
    /// One per class of the testbed.
    pub(super) weights: Vec<u32>,
    pub(super) load: LoadSpec,
}

/// Reports the requirements for such runs that this machine lacks.
pub(super) fn possible() -> Result<(), Error> {
    let elsewhere = "it is measured on a real link, not simulated";
    check().map_err(|error| Error::lacking(format!("{error} ({elsewhere})")))?;
    let begun =
        Command::new("squid").arg("-v").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let lacks = |why: &str| Error::lacking(format!("it compares with Squid, {why} ({elsewhere})"));
    match begun {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(lacks("and 'squid -v' fails")),
        Err(_) => Err(lacks("which is not on the path: install the package squid, and let no service begin it")),
    }
}

/// Makes each job's run, `at_once` of them in parallel, in separate testbeds.
pub(super) fn measured(jobs: &[Job], at_once: usize, given: &Given<'_>) -> Result<Vec<Measured>, Error> {
    let program = env::current_exe().map_err(Error::broken)?;
    side_by_side_on(at_once, jobs, |job| {
        let measure = || {
            let proxy = match job.gateway {
                Gateway::Squid => Proxy::squid(),
                Gateway::Ours(policy) => Proxy::dovetail(&program, policy, &job.weights),
            };
            Bed::new(&job.bed)?.measure(&proxy, &job.load, &|packets| given.bar.inc(packets))
        };
        measure().map_err(Error::broken)
    })
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering},
        time::Duration,
    };

    use dovetail_bed::{Load, Sizes};
    use dovetail_compare::Meter;

    use super::*;

    /// Counts packets.
    #[derive(Default)]
    struct Counted(AtomicU64);

    impl Meter for Counted {
        fn inc(&self, more: u64) {
            self.0.fetch_add(more, Ordering::Relaxed);
        }

        fn rename(&self, _: &str) {}
    }

    /// The testbed, Squid, and the measurements from them, on a small scale; skipped if one is missing.
    #[test]
    fn squid_serves_all_users_twice_alike() {
        if let Err(why) = possible() {
            return dovetail_skip::skipped(why);
        }
        let load = LoadSpec {
            load: Load::Closed { outstanding: 2 },
            sizes: Sizes::Fixed(20_000),
            warm_up: Duration::from_secs(2),
            duration: Duration::from_secs(6),
            drain: Duration::from_secs(20),
            ..LoadSpec::default()
        };
        let job = Job { gateway: Gateway::Squid, bed: BedSpec::default(), weights: vec![4, 2, 1], load };
        let packets = Counted::default();
        let given = Given { traces: &[], bar: &packets };
        let runs = measured(&[job.clone(), job], 2, &given).unwrap();
        for measured in runs {
            assert_eq!(measured.failed().next(), None);
            assert!(measured.answered_in_window() > 20 && measured.link.utilisation > 0.8, "{:?}", measured.link);
            let used = measured.proxy.unwrap();
            assert!(used.cpu_s > 0.0 && used.resident_bytes > 5_000_000, "{used:?}");
            assert_eq!(used.exit, "on its own");
        }
        assert!(packets.0.into_inner() > 100);
    }
}
