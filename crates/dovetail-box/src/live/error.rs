//! Errors of a running box.

use std::io;

use dovetail_sched::PolicyError;

use super::switch::{SwitchError, ports::PortError};

/// Why a box cannot start, or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The interfaces do not meet the requirements.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The switch between box and bridge cannot be set up.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// The namespace of the interfaces cannot be entered.
    #[error("network namespace {namespace}: {source}; 'ip netns list' shows those there are")]
    Namespace {
        /// Its name.
        namespace: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A socket operation failed.
    #[error("socket on {interface}: {source}{}", hint(source))]
    Socket {
        /// The interface.
        interface: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Frames of an interface cannot be received in the configured way.
    #[error("box.io: {interface}: {what}, or io = \"af-packet\"")]
    Io {
        /// The interface.
        interface: String,
        /// What prevents it, and what to do.
        what: String,
    },
    /// An interface was removed or renamed while the box was running.
    #[error("{interface} was removed or renamed, or another has its name now: start the box anew once it is there")]
    Gone {
        /// Its name.
        interface: String,
    },
    /// The policy cannot be built.
    #[error("policy: {0}")]
    Policy(#[from] PolicyError),
    /// The thread cannot be bound to the configured core.
    #[error("cpu.core: the box cannot run on core {core}: {source}; lscpu lists those there are, from 0")]
    Core {
        /// The core.
        core: u16,
        /// The system's answer.
        source: io::Error,
    },
    /// Processors cannot be kept from sleeping deeply.
    #[error("cpu.wake_latency: {file}: {source}; have the box's user write to it, or leave the key out")]
    WakeLatency {
        /// The kernel's file for the request.
        file: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The admin port cannot be opened.
    #[error("admin.listen: {0}")]
    Admin(io::Error),
    /// Signal handlers cannot be installed.
    #[error("signals: {0}")]
    Signals(io::Error),
    /// A capture file cannot be created.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Sequence numbers of tunnels cannot be recorded.
    #[error("ipsec.sequence_file: {path}: {source}")]
    Sequence {
        /// The file.
        path: String,
        /// What is wrong.
        source: io::Error,
    },
    /// Waiting for frames failed.
    #[error("waiting for frames: {0}")]
    Wait(io::Error),
    /// Workers cannot be started, or one has terminated.
    #[error("cpu.workers: {0}")]
    Workers(io::Error),
    /// Programs cannot be loaded.
    #[error("programs: {0}")]
    Programs(String),
    /// The flow table cannot be created.
    #[error("queues.flows: {0}")]
    Flows(String),
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; run it as root, or give it CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF",
        _ => "",
    }
}
