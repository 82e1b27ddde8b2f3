//! Runs a proxy as a process in the gateway's namespace: starts, watches and ends it.

use std::{
    env,
    fs::{self, File},
    io,
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use dovetail_netns::Namespace;
use rustix::process::{Pid, Signal, kill_process};

use super::owner;
use crate::{BedError, Proxy, Site};

/// How long a proxy may take to listen, and to end.
const TO_LISTEN: Duration = Duration::from_secs(20);
const TO_END: Duration = Duration::from_secs(10);
/// How often it is checked meanwhile.
const LOOK: Duration = Duration::from_millis(50);
/// How many lines of its output an error shows.
const SHOWN_LINES: usize = 12;

/// A temporary directory that is removed when dropped. Every user may write to it, since proxies drop root.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// # Errors
    /// Those of the system.
    pub(super) fn new(number: u32) -> Result<Self, BedError> {
        let path = env::temp_dir().join(owner::name(&number.to_string()));
        let make = || {
            fs::create_dir(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777))
        };
        make().map_err(BedError::system(format!("make the folder {}", path.display())))?;
        Ok(Self(path))
    }

    /// Removes the directories of processes that were killed before they could do so.
    pub(super) fn sweep() {
        let folder = env::temp_dir();
        for name in owner::left_in(&folder) {
            // If it cannot be removed, nothing more can be done.
            let _ = fs::remove_dir_all(folder.join(name));
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it cannot be removed, nothing more can be done.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running program, which is ended when dropped.
#[derive(Debug)]
pub(super) struct Running<'a> {
    name: &'a str,
    child: Child,
    printed: PathBuf,
    gateway: &'a Namespace,
}

impl<'a> Running<'a> {
    /// Starts the proxy and waits until it listens. `None` if it is already running.
    ///
    /// # Errors
    /// If it cannot be started, ends, or does not listen in time.
    pub(super) fn new(
        proxy: &'a Proxy<'_>,
        site: &Site,
        gateway: &'a Namespace,
        clients: &Namespace,
    ) -> Result<Option<Self>, BedError> {
        let Proxy::Command { name, make } = proxy else { return Ok(None) };
        let printed = site.folder.join("printed");
        let begin = || {
            let mut command = make(site)?;
            let file = File::create(&printed)?;
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
            command.spawn().map_err(|error| no_program(&command, error))
        };
        let child = gateway.within(begin).map_err(BedError::system(format!("begin {name}")))?;
        let mut running = Self { name, child, printed, gateway };
        let begun = Instant::now();
        loop {
            let listens = clients.within(|| TcpStream::connect_timeout(&site.listen.into(), Duration::from_secs(1)));
            running.still()?;
            if listens.is_ok() {
                return Ok(Some(running));
            }
            if begun.elapsed() > TO_LISTEN {
                return Err(running.error(format!("does not listen on {}", site.listen)));
            }
            thread::sleep(LOOK);
        }
    }

    /// Checks that it is still running.
    ///
    /// # Errors
    /// If it has ended.
    pub(super) fn still(&mut self) -> Result<(), BedError> {
        let ended = self.child.try_wait().map_err(BedError::system(format!("wait for {}", self.name)))?;
        ended.map_or(Ok(()), |status| Err(self.error(format!("ended with {status}"))))
    }

    fn error(&self, what: String) -> BedError {
        let printed = fs::read(&self.printed).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed);
        let lines: Vec<&str> = printed.trim_end().lines().collect();
        let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        let said = if last.is_empty() { String::new() } else { format!(":\n{}", last.join("\n")) };
        BedError::Proxy { name: self.name.to_owned(), what, said }
    }

    /// Asks it to end, kills it if it does not, and returns how it ended.
    ///
    /// # Errors
    /// Those of the system, if it cannot be waited for.
    pub(super) fn end(mut self) -> Result<String, BedError> {
        let what = || format!("wait for {}", self.name);
        signal(&self.child, Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < TO_END {
            if let Some(status) = self.child.try_wait().map_err(BedError::system(what()))? {
                return Ok(words(status));
            }
            thread::sleep(LOOK);
        }
        signal(&self.child, Signal::KILL);
        self.child.wait().map_err(BedError::system(what()))?;
        Ok(format!("killed, as it had not ended after {} s", TO_END.as_secs()))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Its child processes may outlive it.
        self.gateway.end_processes();
        let _ = self.child.wait();
    }
}

/// The system's words do not say what it is that was not found.
fn no_program(command: &Command, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotFound {
        return error;
    }
    let program = command.get_program().display();
    io::Error::new(error.kind(), format!("there is no program {program}: install it"))
}

fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // A process that has just ended needs no signal.
        let _ = kill_process(pid, signal);
    }
}

fn words(status: ExitStatus) -> String {
    if status.success() { "on its own".into() } else { format!("with {status}") }
}
