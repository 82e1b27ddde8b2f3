//! A network namespace, which goes with the value that made it.
//!
//! A thread that has entered a namespace stays there, and so do the threads and processes that it begins and the sockets
//! that it opens, wherever they are used.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    panic::resume_unwind,
    path::{Path, PathBuf},
    thread,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use super::{owner, tool::tool};
use crate::{BedError, Place};

const FOLDER: &str = "/run/netns";

/// A named namespace.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    /// # Errors
    /// What `ip` says.
    pub(super) fn new(bed: u32, place: Place) -> Result<Self, BedError> {
        let place = match place {
            Place::Clients => "clients",
            Place::Gateway => "gateway",
            Place::Provider => "provider",
            Place::Servers => "servers",
        };
        let name = owner::name(&format!("{bed}-{place}"));
        tool("ip", &format!("netns add {name}"))?;
        Ok(Self { name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What `work` does there, on a thread of its own.
    ///
    /// # Errors
    /// What `work` answers, or that the namespace cannot be entered.
    pub(super) fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let entered = scope.spawn(|| {
                self.enter()?;
                work()
            });
            entered.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Moves this thread there for good.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn enter(&self) -> io::Result<()> {
        let file = File::open(path(&self.name))?;
        Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Writes a setting under `net`.
    ///
    /// # Errors
    /// The system's, with the setting.
    pub(super) fn set(&self, key: &str, value: &str) -> Result<(), BedError> {
        self.within(|| fs::write(Path::new("/proc/sys/net").join(key), value))
            .map_err(BedError::system(format!("net/{key} = {value}")))
    }

    /// A setting under `net`.
    ///
    /// # Errors
    /// The system's, with the setting.
    pub(super) fn read(&self, key: &str) -> Result<String, BedError> {
        self.within(|| fs::read_to_string(Path::new("/proc/sys/net").join(key)))
            .map_err(BedError::system(format!("net/{key}")))
    }

    /// The processes there.
    pub(super) fn processes(&self) -> Vec<Pid> {
        processes(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

/// Those whose first thread is in the namespace: threads of this process that entered it are not among them.
fn processes(name: &str) -> Vec<Pid> {
    let Ok(namespace) = fs::metadata(path(name)) else { return Vec::new() };
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let there = |pid: &Pid| {
        let of = fs::metadata(format!("/proc/{}/ns/net", pid.as_raw_nonzero()));
        of.is_ok_and(|of| of.ino() == namespace.ino() && of.dev() == namespace.dev())
    };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).filter(there).collect()
}

/// Ends what runs there, as nothing could reach it any more, and the namespace.
fn remove(name: &str) {
    for pid in processes(name) {
        // One that has just ended needs no signal.
        let _ = kill_process(pid, Signal::KILL);
    }
    // Nothing can be done about one that does not go.
    let _ = tool("ip", &format!("netns del {name}"));
}

/// Removes the namespaces of processes that were killed before they could.
pub(super) fn sweep() {
    for name in owner::left_in(Path::new(FOLDER)) {
        remove(&name);
    }
}
