//! Errors of setting up the switch.

use std::{fmt, io};

use rustix::{
    system::uname,
    thread::{CapabilitySet, capabilities},
};

/// Why the switch cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The process lacks permission.
    #[error(
        "{what}: not permitted. The switch is made of BPF programs, for which {missing}; run as root, or give the program \
         CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW"
    )]
    NotPermitted {
        /// What was attempted.
        what: &'static str,
        /// What this process lacks, as half a sentence.
        missing: String,
    },
    /// The kernel is too old to attach a program to an interface for the lifetime of a process.
    #[error(
        "the switch needs Linux 6.6 or later, for tcx links (this is {release}); an older one can run the box with on_failure \
         = \"closed\" and no bridge"
    )]
    Kernel {
        /// The kernel's release.
        release: String,
    },
    /// The kernel was built without BPF, or without what a program at an interface needs.
    #[error("{what}: this kernel ({release}) was built without it; it needs CONFIG_BPF_SYSCALL and CONFIG_NET_XGRESS")]
    NotBuilt {
        /// What was attempted.
        what: &'static str,
        /// The kernel's release.
        release: String,
    },
    /// The kernel's verifier rejected a program.
    #[error("the kernel refused the program '{program}' ({error}){}", indented(.log))]
    Program {
        /// The program's name.
        program: &'static str,
        /// The system's answer.
        error: io::Error,
        /// The verifier's log, which may be empty.
        log: String,
    },
    /// This process and the kernel's programs do not use the same clock.
    #[error(
        "this process's CLOCK_MONOTONIC is ahead of the kernel's, so the box could hang and no one would notice: run it \
         outside of time namespaces"
    )]
    Clock,
    /// There is no interface of this index in this network namespace.
    #[error("there is no interface number {index} in this network namespace: 'ip link' lists those that are there")]
    NoInterface {
        /// Its index.
        index: u32,
    },
    /// The kernel cannot tell a program a frame's VLAN tag.
    #[error(
        "af-xdp: this kernel ({release}) does not tell programs the VLAN tags of frames: it takes Linux 6.8 or later, built with \
         CONFIG_DEBUG_INFO_BTF, and /sys; io = \"af-packet\" needs none of that"
    )]
    NoTags {
        /// The kernel's release.
        release: String,
    },
    /// An interface's driver does not run the program.
    #[error("af-xdp: interface number {index} does not run an XDP program: {error}; {}", remedy(.error))]
    Steering {
        /// Its index.
        index: u32,
        /// The system's answer.
        error: io::Error,
    },
    /// A system call failed.
    #[error("{what}: {error}")]
    System {
        /// What was attempted.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl SwitchError {
    /// Maps the system's error to the variant that helps a reader most.
    pub(super) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted { what, missing: missing() },
            Some(libc::ENOSYS | libc::EOPNOTSUPP) => Self::NotBuilt { what, release: release() },
            _ => Self::System { what, error },
        }
    }

    /// When the function for tags is missing.
    #[cfg(feature = "af-xdp")]
    pub(super) fn no_function() -> Self {
        Self::NoTags { release: release() }
    }

    /// Maps an error of attaching the AF_XDP program to an interface.
    #[cfg(feature = "af-xdp")]
    pub(super) fn steering(index: u32) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.raw_os_error() {
            Some(libc::ENODEV) => Self::NoInterface { index },
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted { what: "attach the program", missing: missing() },
            _ => Self::Steering { index, error },
        }
    }

    /// Maps an error of attaching the program to an interface.
    pub(super) fn attaching(index: u32) -> impl FnOnce(io::Error) -> Self {
        move |error| match error.raw_os_error() {
            Some(libc::ENODEV) => Self::NoInterface { index },
            // Kernels before tcx do not know the attach type.
            Some(libc::EINVAL) if is_before_6_6(&release()) => Self::Kernel { release: release() },
            _ => Self::system("attach the program to an interface")(error),
        }
    }
}

fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY) => "another one is there, which 'ip link set … xdp off' removes",
        Some(libc::ERANGE | libc::EMSGSIZE) => "its MTU, or that of a veth's other end, is too large for one",
        _ => "io = \"af-packet\" needs none",
    }
}

fn release() -> String {
    uname().release().to_string_lossy().into_owned()
}

/// Whether a release as printed by `uname -r` is older than tcx.
fn is_before_6_6(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) < (6, 6),
        _ => false,
    }
}

/// The capabilities that this process lacks.
fn missing() -> String {
    let has = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let lacks = |(one, _): &(CapabilitySet, &str)| !has.intersects(*one | CapabilitySet::SYS_ADMIN);
    let needed = [(CapabilitySet::BPF, "CAP_BPF"), (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN")];
    let names: Vec<&str> = needed.iter().filter(|one| lacks(one)).map(|(_, name)| *name).collect();
    if names.is_empty() {
        "capabilities count only outside of user namespaces, and a security module may forbid them".into()
    } else {
        format!("this process lacks {}", names.join(" and "))
    }
}

/// The verifier's log, on separate indented lines.
fn indented(log: &str) -> impl fmt::Display {
    log.lines().fold(":".to_owned(), |text, line| text + "\n  " + line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_before_tcx() {
        for old in ["5.15.0-91-generic", "6.5.13", "4.19", "6.1.0-18-amd64"] {
            assert!(is_before_6_6(old), "{old}");
        }
        for new in ["6.6.0", "6.18.44-fc-v657", "7.0-rc1", "unreadable", ""] {
            assert!(!is_before_6_6(new), "{new}");
        }
    }

    #[test]
    fn what_the_verifier_says_is_indented() {
        let error = SwitchError::Program {
            program: "box_filter",
            error: io::Error::from_raw_os_error(libc::EINVAL),
            log: "0: (95) exit\nR0 !read_ok".into(),
        };
        assert!(error.to_string().ends_with("):\n  0: (95) exit\n  R0 !read_ok"), "{error}");
    }
}
