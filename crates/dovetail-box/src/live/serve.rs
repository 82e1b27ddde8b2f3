//! A box as a service: from the command line's arguments to its end by a signal.

use std::{
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel, sync_channel},
    thread,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::{
    Control, Live, LiveError,
    admin::{self, Admin},
    elsewhere::elsewhere,
    privileges, programs,
    standby::Standby,
    start,
    switch::{claim, ports},
    watch::{Capture, Records},
};
use crate::{
    config::{self, Config, Effect, OnFailure},
    functions::{forwarding, ipsec},
};

/// Warnings about a configuration on this machine that do not keep a box from running.
///
/// # Errors
/// What keeps a box from running: missing interfaces, no bridge, a bridge that should not be there, or no such core.
pub fn check(config: &Config) -> Result<Vec<String>, LiveError> {
    let found = elsewhere(|| {
        start::enter_namespace(config)?;
        start::bind_to_core(config)?;
        start::find_ports(config)
    })?;
    let mut warnings = config.warnings();
    warnings.extend(ports::weaknesses(found.each_ref(), config.on_failure));
    let [inside, outside] = &found;
    if inside.mtu_bytes != outside.mtu_bytes {
        let (inside, outside) = (inside.mtu_bytes, outside.mtu_bytes);
        warnings.push(format!(
            "the MTU is {inside} inside and {outside} outside: longer packets are answered with 'too big'"
        ));
    }
    let (workers, cores) =
        (usize::from(config.cpu.workers), thread::available_parallelism().map_or(usize::MAX, usize::from));
    if workers > 1 && workers >= cores {
        warnings.push(format!(
            "{workers} workers and the box's own thread share {cores} cores: packets will wait for threads that wait for one another"
        ));
    }
    if config.on_failure == OnFailure::Closed && !config.classes.iter().any(config::Class::encrypts) {
        warnings.push("traffic stops whenever the box does: on_failure = \"open\" has a bridge carry it on".into());
    }
    let applied = config.classes.iter().filter(|class| class.effect == Effect::Apply);
    for class in applied {
        let is_given = |name: &str| match name {
            ipsec::NAME => class.tunnel.is_some(),
            forwarding::NAME => config.routes.is_some(),
            _ => false,
        };
        let changing = class.functions.iter().find(|entry| entry.changes_frames && !is_given(entry.name));
        if let Some(entry) = changing {
            let (class, function) = (&class.name, entry.name);
            warnings.push(format!(
                "class {class}: {function} works with the keys and tables of an example, which no other end understands: \
                 effect = \"discard\" sends frames on as they came"
            ));
        }
    }
    Ok(warnings)
}

/// That another box has one of the interfaces, if one has. It keeps a box from starting, but the file of a running box is checked
/// before it reloads it.
///
/// # Errors
/// When an interface is missing, or the system's error.
pub fn in_use(config: &Config) -> Result<Option<String>, LiveError> {
    elsewhere(|| {
        start::enter_namespace(config)?;
        let taken = claim::taken(&start::find_ports(config)?)?;
        Ok(taken.map(|error| error.to_string()))
    })
}

/// What [`check_programs`] finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedPrograms {
    /// The costs of the programs that can be run, as lines under a heading; empty if there are none.
    pub costs: String,
    /// Warnings about the others, and about classes whose program is missing.
    pub warnings: Vec<String>,
}

/// Compiles and measures the programs of a configuration.
///
/// # Errors
/// When their folder cannot be read, or nothing can be compiled.
pub fn check_programs(config: &Config) -> Result<CheckedPrograms, LiveError> {
    let (costs, warnings) = programs::check(config)?;
    Ok(CheckedPrograms { costs, warnings })
}

/// Files that record the traffic.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Folder for a file with a row per packet.
    pub records: Option<PathBuf>,
    /// Capture file of the frames sent.
    pub capture: Option<PathBuf>,
}

impl Files {
    fn begin(&self, live: &mut Live, policy: &str) -> Result<(), LiveError> {
        let error = |path: &Path| {
            let path = path.display().to_string();
            move |source| LiveError::File { path, source }
        };
        if let Some(folder) = &self.records {
            live.watch(Box::new(Records::begin(folder, policy).map_err(error(folder))?));
        }
        if let Some(path) = &self.capture {
            live.watch(Box::new(Capture::begin(path).map_err(error(path))?));
        }
        Ok(())
    }
}

/// Runs a box until SIGTERM or SIGINT; SIGHUP makes it read `file` again. `ready` is called when the box is about to
/// receive frames.
///
/// # Errors
/// What is missing, or why it cannot continue.
pub fn run_until_signalled(
    config: Config,
    file: PathBuf,
    files: &Files,
    ready: impl FnOnce(&Control),
) -> Result<(), LiveError> {
    let signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(LiveError::Signals)?;
    // In the namespace in which the command was started, which opening the box may leave.
    let port = config.admin.clone().map(|port| Ok((admin::listen(port.listen)?, port))).transpose();
    let port = port.map_err(LiveError::Admin)?;
    let policy = config.policy.to_string();
    let (interfaces, on_failure) = (config.interfaces.clone(), config.on_failure);
    let (mut live, control) = Live::open(config)?;
    // This thread is in the interfaces' namespace now.
    let _standby = Standby::watch(interfaces, on_failure);
    files.begin(&mut live, &policy)?;
    let (started, starts) = channel();
    thread::spawn({
        let control = control.clone();
        move || {
            privileges::drop_capabilities();
            let served = port.map(|(listener, port)| serve(listener, port, &control, &file)).transpose();
            let is_served =
                served.as_ref().map(|_| ()).map_err(|wrong| io::Error::new(wrong.kind(), wrong.to_string()));
            // The receiver is still waiting.
            let _ = started.send(is_served);
            if served.is_ok() {
                heed(signals, &control, &file);
            }
        }
    });
    starts.recv().unwrap_or(Ok(())).map_err(LiveError::Admin)?;
    ready(&control);
    live.run()
}

fn serve(listener: TcpListener, port: config::Admin, control: &Control, file: &Path) -> io::Result<Admin> {
    let reload = {
        let (control, file) = (control.clone(), file.to_owned());
        move || reload(&control, &file)
    };
    Admin::serve(listener, control.clone(), port.token, Some(Box::new(reload)))
}

fn reload(control: &Control, file: &Path) -> Result<(), String> {
    let config = Config::read(file).map_err(|wrong| wrong.to_string())?;
    control.reload(config)?;
    tracing::info!("{} was reloaded", file.display());
    Ok(())
}

fn heed(mut signals: Signals, control: &Control, file: &Path) {
    // A reload takes as long as compiling programs; a signal to stop must not wait for that.
    let (asks, asked) = sync_channel(1);
    thread::spawn({
        let (control, file) = (control.clone(), file.to_owned());
        move || reload_when_asked(&asked, &control, &file)
    });
    for signal in &mut signals {
        if signal == SIGHUP {
            // A reload that is queued already will read the newest file.
            let _ = asks.try_send(());
        } else {
            control.stop();
        }
    }
}

fn reload_when_asked(asked: &Receiver<()>, control: &Control, file: &Path) {
    for () in asked {
        if let Err(wrong) = reload(control, file) {
            tracing::warn!("{wrong}: nothing is changed");
        }
    }
}
