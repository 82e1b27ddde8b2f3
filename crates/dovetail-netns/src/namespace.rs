//! A network namespace, which goes with the value that made it.

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

/// Where named namespaces are, a file each.
pub const FOLDER: &str = "/run/netns";

/// A named namespace. It is removed when this is dropped, and what runs there is ended.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one of this name.
    ///
    /// # Errors
    /// What `ip` says, as where there is one already.
    pub fn new(name: impl Into<String>) -> Result<Self, NetnsError> {
        let name = name.into();
        tool("ip", &format!("netns add {name}"))?;
        Ok(Self { name })
    }

    /// Its name, as `ip -n` takes it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What `work` does there, on a thread of its own.
    ///
    /// # Errors
    /// What `work` answers, or that the namespace cannot be entered.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
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
    pub fn enter(&self) -> io::Result<()> {
        let file = File::open(path(&self.name))?;
        Ok(move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    /// Writes a setting under `net`.
    ///
    /// # Errors
    /// The system's, with the setting.
    pub fn set(&self, key: &str, value: &str) -> Result<(), NetnsError> {
        self.within(|| fs::write(Path::new("/proc/sys/net").join(key), value))
            .map_err(|error| NetnsError::System { what: format!("net/{key} = {value}"), error })
    }

    /// A setting under `net`.
    ///
    /// # Errors
    /// The system's, with the setting.
    pub fn read(&self, key: &str) -> Result<String, NetnsError> {
        self.within(|| fs::read_to_string(Path::new("/proc/sys/net").join(key)))
            .map_err(|error| NetnsError::System { what: format!("net/{key}"), error })
    }

    /// The numbers of the processes whose first thread is there: threads of this process that entered it are not among them.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        processes(&self.name).into_iter().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Ends these processes at once, but not this one.
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

/// Whether there is one of this name.
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
        // One that has just ended needs no signal.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Removes the namespace of this name, if there is one, and ends what runs there, as nothing could reach it any more.
pub fn remove(name: &str) {
    end_processes(name);
    // Nothing can be done about one that does not go.
    let _ = tool("ip", &format!("netns del {name}"));
}
