//! A network namespace that is removed when the value that created it is dropped.

use std::{
    fs::{self, File},
    io,
    os::{fd::AsFd, unix::fs::MetadataExt},
    panic::resume_unwind,
    path::{Path, PathBuf},
    thread,
};

use rustix::{
    process::{Pid, Signal, getpid, kill_process},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use crate::{NetnsError, tool};

/// The directory of named namespaces, one file each.
pub const FOLDER: &str = "/run/netns";

/// A named namespace. Dropping it ends the processes that run in it and removes it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Creates a namespace of this name.
    ///
    /// # Errors
    /// If `ip` fails, for example because the name is taken.
    pub fn new(name: impl Into<String>) -> Result<Self, NetnsError> {
        let name = name.into();
        tool("ip", &format!("netns add {name}"))?;
        Ok(Self { name })
    }

    /// The name, as `ip -n` accepts it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `work` in the namespace, on a thread of its own, and returns its result.
    ///
    /// # Errors
    /// Those of `work`, and if the namespace cannot be entered.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let entered = scope.spawn(|| {
                self.enter()?;
                work()
            });
            entered.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Moves the current thread into the namespace for good.
    ///
    /// # Errors
    /// Those of the system.
    pub fn enter(&self) -> io::Result<()> {
        let file = File::open(path(&self.name))?;
        Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Writes a setting under `net`.
    ///
    /// # Errors
    /// Those of the system, with the name of the setting.
    pub fn set(&self, key: &str, value: &str) -> Result<(), NetnsError> {
        self.within(|| fs::write(Path::new("/proc/sys/net").join(key), value))
            .map_err(|error| NetnsError::System { what: format!("net/{key} = {value}"), error })
    }

    /// Reads a setting under `net`.
    ///
    /// # Errors
    /// Those of the system, with the name of the setting.
    pub fn read(&self, key: &str) -> Result<String, NetnsError> {
        self.within(|| fs::read_to_string(Path::new("/proc/sys/net").join(key)))
            .map_err(|error| NetnsError::System { what: format!("net/{key}"), error })
    }

    /// The IDs of the processes whose first thread is in the namespace. A process of which only other threads have entered it
    /// is not included.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        processes(&self.name).into_iter().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Kills the [processes](Self::processes) in the namespace, except this one.
    pub fn end_processes(&self) {
        end_processes(&self.name);
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

/// Whether a namespace of this name exists.
#[must_use]
pub fn exists(name: &str) -> bool {
    path(name).exists()
}

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

fn end_processes(name: &str) {
    for pid in processes(name).into_iter().filter(|&pid| pid != getpid()) {
        // A process that has just ended needs no signal.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Removes the namespace of this name, if it exists, and kills what runs there, since nothing could reach it any more.
pub fn remove(name: &str) {
    end_processes(name);
    // If it cannot be removed, nothing more can be done.
    let _ = tool("ip", &format!("netns del {name}"));
}
