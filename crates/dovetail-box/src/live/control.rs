//! Commands from other threads to a running box.

use std::sync::{
    Arc, Mutex, PoisonError,
    mpsc::{Receiver, Sender, channel},
};

use dovetail_sched::Nanos;

use super::{classes::Chains, inbound::Inbound, ledger::Reference, status::Status};
use crate::config::Config;

/// A handle to observe and control a running box. Can be cloned and sent to other threads.
#[derive(Debug, Clone)]
pub struct Control {
    commands: Sender<Command>,
    status: Arc<Mutex<Status>>,
    ledger: Reference,
}

/// Channel for the answer to a command.
pub(super) type Answer = Sender<Result<(), String>>;

/// A new configuration, ready to be applied.
pub(super) struct Next {
    pub config: Config,
    /// One for each worker.
    pub chains: Vec<Chains>,
    pub inbound: Inbound,
}

/// Commands that a box accepts while it runs.
pub(super) enum Command {
    Stop,
    Reload(Box<Next>, Answer),
    Retune(String, Answer),
}

/// The box's end of the channel.
#[derive(Debug)]
pub(super) struct Asked {
    commands: Receiver<Command>,
    status: Arc<Mutex<Status>>,
}

/// Creates both ends.
pub(super) fn pair(ledger: Reference) -> (Control, Asked) {
    let (commands, receiver) = channel();
    let status = Arc::<Mutex<Status>>::default();
    (Control { commands, status: status.clone(), ledger }, Asked { commands: receiver, status })
}

impl Control {
    /// Makes the box send what is queued, hand over to the bridge, and end.
    pub fn stop(&self) {
        // Nothing to do if the box has already ended.
        let _ = self.commands.send(Command::Stop);
    }

    /// Applies another configuration without losing or reordering a packet. Blocks for the answer, which takes
    /// milliseconds, or until new programs are compiled.
    ///
    /// # Errors
    /// What cannot be changed at run time; nothing has changed in that case.
    pub fn reload(&self, config: Config) -> Result<(), String> {
        let chains = Chains::build(&config, &self.ledger.ledger()).map_err(|wrong| wrong.to_string())?;
        let inbound = Inbound::build(&config);
        self.ask(|answer| Command::Reload(Box::new(Next { config, chains, inbound }), answer))
    }

    /// Changes parameters of the policy, given as a policy string such as `tradeoff:alpha=0.9`. Blocks for the answer.
    ///
    /// # Errors
    /// What is wrong with it, or that this parameter cannot be changed while the policy runs.
    pub fn retune(&self, policy: &str) -> Result<(), String> {
        self.ask(|answer| Command::Retune(policy.into(), answer))
    }

    /// The status that the box published last, at most some tenths of a second ago.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When that was, in nanoseconds of CLOCK_MONOTONIC; zero if never.
    #[must_use]
    pub fn told_at(&self) -> Nanos {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).at
    }

    fn ask(&self, command: impl FnOnce(Answer) -> Command) -> Result<(), String> {
        let (answer, answered) = channel();
        let has_ended = |_| "the box has ended".to_owned();
        self.commands.send(command(answer)).map_err(|_| has_ended(()))?;
        answered.recv().map_err(|_| has_ended(()))?
    }
}

impl Asked {
    /// The next command, if there is one. The box keeps running after all handles are dropped.
    pub(super) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    pub(super) fn tell(&self, status: Status) {
        // If the lock is taken by a reader, the next status replaces this one.
        if let Ok(mut told) = self.status.try_lock() {
            *told = status;
        }
    }
}
