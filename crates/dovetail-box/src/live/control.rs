//! What is asked of a running box by other threads.

use std::sync::{
    Arc, Mutex, PoisonError,
    mpsc::{Receiver, Sender, channel},
};

use dovetail_sched::Nanos;

use super::{classes::Chains, inbound::Inbound, ledger::Reference, status::Status};
use crate::config::Config;

/// A running box, for those who look at it and steer it. Can be cloned and sent to other threads.
#[derive(Debug, Clone)]
pub struct Control {
    commands: Sender<Command>,
    status: Arc<Mutex<Status>>,
    ledger: Reference,
}

/// Where the answer to a command goes.
pub(super) type Answer = Sender<Result<(), String>>;

/// What a box is to go by next.
pub(super) struct Next {
    pub config: Config,
    /// For each worker.
    pub chains: Vec<Chains>,
    pub inbound: Inbound,
}

/// What a box can be asked while it runs.
pub(super) enum Command {
    Stop,
    Reload(Box<Next>, Answer),
    Retune(String, Answer),
}

/// The box's end of it.
#[derive(Debug)]
pub(super) struct Asked {
    commands: Receiver<Command>,
    status: Arc<Mutex<Status>>,
}

/// Both ends.
pub(super) fn pair(ledger: Reference) -> (Control, Asked) {
    let (commands, receiver) = channel();
    let status = Arc::<Mutex<Status>>::default();
    (Control { commands, status: status.clone(), ledger }, Asked { commands: receiver, status })
}

impl Control {
    /// Has it send what is queued, hand over to the bridge, and end.
    pub fn stop(&self) {
        // A box that has ended needs no telling.
        let _ = self.commands.send(Command::Stop);
    }

    /// Has it go by another configuration, without losing or reordering a packet. Waits for the answer, which is there
    /// within milliseconds, or, where there are programs, once those that are new are compiled.
    ///
    /// # Errors
    /// What cannot be changed while it runs, and then nothing has changed.
    pub fn reload(&self, config: Config) -> Result<(), String> {
        let chains = Chains::build(&config, &self.ledger.ledger()).map_err(|wrong| wrong.to_string())?;
        let inbound = Inbound::build(&config);
        self.ask(|answer| Command::Reload(Box::new(Next { config, chains, inbound }), answer))
    }

    /// Has it turn the knobs of its policy: a policy's string such as `tradeoff:alpha=0.9`. Waits for the answer.
    ///
    /// # Errors
    /// What is wrong with it, or that this knob cannot be turned while the policy runs.
    pub fn retune(&self, policy: &str) -> Result<(), String> {
        self.ask(|answer| Command::Retune(policy.into(), answer))
    }

    /// What it told of itself last, some tenths of a second ago at most.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When that was, in nanoseconds of CLOCK_MONOTONIC; zero for never.
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
    /// The next command, if there is one. That all controls are gone is no reason to stop.
    pub(super) fn next(&self) -> Option<Command> {
        self.commands.try_recv().ok()
    }

    pub(super) fn tell(&self, status: Status) {
        // Someone who is reading gets the next one.
        if let Ok(mut told) = self.status.try_lock() {
            *told = status;
        }
    }
}
