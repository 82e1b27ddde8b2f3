//! The main loop and its commands.

use std::{collections::VecDeque, thread, time::Duration};

use dovetail_sched::{Nanos, cost::ProgramTable};

use super::{
    LiveError,
    classes::{Chains, Classes},
    clock,
    control::{Answer, Asked, Command, Control, Next, pair},
    ledger::Ledger,
    plane::{Plane, names},
    privileges,
    programs::Programs,
    start,
    switch::Switch,
    sys,
    waiting::Waiting,
    wakefulness::Wakefulness,
    watch::Watch,
    workers::{Tools, Workers},
};
use crate::config::{Config, OnFailure};

/// Interval of checking for commands: each check may delay a packet by some 20 ns.
const LISTEN_EVERY: Nanos = Nanos::from_micros(50);
/// Interval of publishing the status.
const TELL_EVERY: Nanos = Nanos::from_millis(200);
/// Interval of checking whether programs are compiled, while some are pending.
const LOOK_EVERY: Nanos = Nanos::from_millis(2);
/// Minimum interval between warnings of lapses: a machine that keeps the box from running once does so often.
const WARN_EVERY: Nanos = Nanos::from_secs(10);
/// Maximum time that a stopped box spends on sending what is queued.
const MAX_DRAIN: Nanos = Nanos::from_secs(1);
/// Interval of checking, after handing over, for frames that it had decided to take before.
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// A box between two interfaces. Its thread is in their namespace.
pub struct Live {
    config: Config,
    switch: Switch,
    plane: Plane,
    waiting: Waiting,
    asked: Asked,
    listen_at: Nanos,
    tell_at: Nanos,
    programs: Option<Programs>,
    /// Kept for as long as tunnels may use sequence numbers.
    _ledger: Ledger,
    /// Kept for as long as the wake-up latency is to be bounded.
    _wakefulness: Option<Wakefulness>,
    /// Configurations waiting for their programs, each with the channel for its answer. The folder is being loaded for the first.
    pending: VecDeque<(Box<Next>, Answer)>,
    look_at: Nanos,
    /// When the next lapse may be logged, and the number of lapses not logged yet.
    warn_at: Nanos,
    lapses_untold: u64,
}

impl Live {
    /// A box that is ready to [`run`](Self::run), and its control handle. Moves the calling thread into the namespace of
    /// the interfaces; the bridge forwards until the box runs.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub fn open(config: Config) -> Result<(Self, Control), LiveError> {
        // Compiled while the bridge forwards, and on a thread started before this one raises its priority.
        let programs = Programs::open(&config)?;
        start::enter_namespace(&config)?;
        let (switch, ports) = start::open_ports(&config)?;
        let wakefulness = config.cpu.wake_latency.map(Wakefulness::within).transpose()?;
        let ledger = Ledger::open(config.sequence_file.as_deref())?;
        let (chains, others) = share_out(Chains::build(&config, &ledger)?, &config);
        let mut classes = Classes::new(&config, chains, programs.as_ref());
        let workers = if others.is_empty() {
            classes.fill(programs.as_ref().map(Programs::library), None);
            None
        } else {
            Some(Workers::start(&config, Tools::each(&config, others, programs.as_ref()))?)
        };
        let plane = Plane::new(&config, ports, classes, workers)?;
        let (control, asked) = pair(ledger.reference());
        let waiting = Waiting::new(config.wait);
        let live = Self {
            config,
            switch,
            plane,
            waiting,
            asked,
            listen_at: Nanos::ZERO,
            tell_at: Nanos::ZERO,
            programs,
            _ledger: ledger,
            _wakefulness: wakefulness,
            pending: VecDeque::new(),
            look_at: Nanos::ZERO,
            warn_at: Nanos::ZERO,
            lapses_untold: 0,
        };
        Ok((live, control))
    }

    /// Also reports every packet to `watch`, on the box's own thread.
    pub fn watch(&mut self, watch: Box<dyn Watch>) {
        self.plane.watch(watch);
    }

    /// Runs until stopped.
    ///
    /// # Errors
    /// Why it cannot continue. The bridge takes over.
    pub fn run(mut self) -> Result<(), LiveError> {
        start::settle_in(&self.config)?;
        let alive_for = start::alive_for(self.config.on_failure);
        self.switch.take_over(clock::now(), alive_for);
        self.plane.bind()?;
        privileges::drop_capabilities();
        loop {
            let mut now = clock::now();
            if !self.switch.renew(now, alive_for) {
                self.start_over()?;
                now = clock::now();
                self.switch.take_over(now, alive_for);
            }
            let is_busy = self.plane.round(now, || self.switch.has_lapsed(clock::now()))?;
            if now >= self.listen_at {
                self.listen_at = now + LISTEN_EVERY;
                while let Some(command) = self.asked.next() {
                    match command {
                        Command::Stop => return self.stop(),
                        Command::Reload(next, answer) => self.reload(next, answer),
                        Command::Retune(policy, answer) => drop(answer.send(self.retune(&policy))),
                    }
                }
            }
            if !self.pending.is_empty() && now >= self.look_at {
                self.look_at = now + LOOK_EVERY;
                self.go_on_reloading();
            }
            if now >= self.tell_at {
                self.tell_at = now + TELL_EVERY;
                self.asked.tell(self.plane.status(now, &self.config));
                self.plane.look()?;
            }
            if is_busy {
                self.waiting.busy(now);
            } else {
                let sleeps = self.waiting.sleeps(now);
                if sleeps && !self.plane.prepare_sleep()? {
                    continue;
                }
                self.waiting.wait(self.plane.ports(), self.plane.wakeup(), self.plane.poll_at(), now)?;
                if sleeps {
                    self.plane.disarm_wakeup();
                }
            }
        }
    }

    /// The bridge has taken over meanwhile, and held frames are older than what it has forwarded; without one, they are stale.
    fn start_over(&mut self) -> Result<(), LiveError> {
        self.plane.start_over(&self.config)?;
        self.lapses_untold += 1;
        let now = clock::now();
        if now >= self.warn_at {
            let times = if self.lapses_untold == 1 { String::new() } else { format!(", {} times", self.lapses_untold) };
            let meanwhile = match self.config.on_failure {
                OnFailure::Open => "the bridge took over",
                OnFailure::Closed => "nothing passed",
            };
            let alive_for = start::alive_for(self.config.on_failure);
            tracing::warn!("the box was kept from running for over {alive_for}{times}, and {meanwhile} meanwhile");
            (self.warn_at, self.lapses_untold) = (now + WARN_EVERY, 0);
        }
        Ok(())
    }

    fn stop(mut self) -> Result<(), LiveError> {
        let ended = self.finish();
        // Told in every case: what is lost when the bridge takes over meanwhile is in no earlier status.
        self.asked.tell(self.plane.status(clock::now(), &self.config));
        ended
    }

    /// Sends what is queued as fast as possible, and hands over.
    fn finish(&mut self) -> Result<(), LiveError> {
        let alive_for = start::alive_for(self.config.on_failure);
        self.plane.finish_fast();
        let until = clock::now() + MAX_DRAIN;
        loop {
            let now = clock::now();
            if !self.switch.renew(now, alive_for) {
                return self.start_over();
            }
            let is_busy = self.plane.round(now, || self.switch.has_lapsed(clock::now()))?;
            if (!is_busy && self.plane.is_empty()) || now >= until {
                break;
            }
        }
        self.switch.hand_over();
        // Frames that the box had taken before are still its to send, even if a processor has not delivered them to a socket yet.
        let decided = thread::Builder::new().spawn(sys::let_the_kernel_finish);
        loop {
            // Without another thread, only what arrives in this round is sent.
            let is_decided = decided.as_ref().map_or(true, thread::JoinHandle::is_finished);
            let now = clock::now();
            // What was taken before the bridge took over is not stale.
            let is_busy = self.plane.round(now, || false)?;
            if now >= until + MAX_DRAIN || (is_decided && !is_busy && self.plane.is_empty()) {
                return Ok(());
            }
            if !is_busy {
                thread::sleep(BETWEEN_LOOKS);
            }
        }
    }

    /// Applies another configuration, once its programs are compiled.
    fn reload(&mut self, next: Box<Next>, answer: Answer) {
        if let Err(wrong) = self.can_become(&next.config) {
            drop(answer.send(Err(wrong)));
        } else if let Some(programs) = &mut self.programs {
            if self.pending.is_empty() {
                programs.reload();
            }
            self.pending.push_back((next, answer));
        } else {
            drop(answer.send(self.reconfigure(*next)));
        }
    }

    /// Checks whether the programs of the first pending configuration are compiled.
    fn go_on_reloading(&mut self) {
        let Some(programs) = &mut self.programs else { return };
        if !programs.poll() {
            return;
        }
        if let Some((next, answer)) = self.pending.pop_front() {
            if !self.pending.is_empty() {
                programs.reload();
            }
            drop(answer.send(self.reconfigure(*next)));
        }
    }

    fn can_become(&self, config: &Config) -> Result<(), String> {
        let fixed = [
            ("box.inside and box.outside", config.interfaces != self.config.interfaces),
            ("box.on_failure", config.on_failure != self.config.on_failure),
            ("box.io", config.io != self.config.io),
            ("box.toward", config.toward != self.config.toward),
            ("cpu.core", config.cpu.core != self.config.cpu.core),
            ("cpu.wake_latency", config.cpu.wake_latency != self.config.cpu.wake_latency),
            ("cpu.workers", config.cpu.workers != self.config.cpu.workers),
            ("link.pace", config.link.pace != self.config.link.pace),
            ("queues.flows and queues.timeout", {
                let (new, old) = (&config.queues, &self.config.queues);
                (new.flows, new.timeout) != (old.flows, old.timeout)
            }),
            ("ipsec.sequence_file", config.sequence_file != self.config.sequence_file),
            ("[programs]", config.programs != self.config.programs),
            ("[admin]", config.admin != self.config.admin),
        ];
        match fixed.iter().find(|(_, is_changed)| *is_changed) {
            Some((what, _)) => Err(format!("{what} needs a restart of the box")),
            None => Ok(()),
        }
    }

    fn reconfigure(&mut self, Next { config, chains, inbound }: Next) -> Result<(), String> {
        let (chains, others) = share_out(chains, &config);
        let mut classes = Classes::new(&config, chains, self.programs.as_ref());
        let mut programs = classes.programs();
        if let Some(learning) = self.plane.node.scheduler().learning() {
            // Costs learnt for a program do not apply to its other versions.
            let learnt = learning.learnt();
            let known = learnt.programs().iter();
            let known = known.filter(|program| classes.does_the_same(&self.plane.classes, &program.name));
            programs.take_over(&ProgramTable::new(known.cloned().collect()));
        }
        let is_same = config.policy == self.config.policy
            && config.queues == self.config.queues
            && names(&config) == self.plane.names
            && classes.all_do_the_same(&self.plane.classes);
        let next =
            if is_same { None } else { Some(start::scheduler(&config, programs).map_err(|wrong| wrong.to_string())?) };
        if others.is_empty() {
            classes.fill(self.programs.as_ref().map(Programs::library), Some(&mut self.plane.classes));
        } else {
            let tools = Tools::each(&config, others, self.programs.as_ref());
            self.plane.change_workers(tools).map_err(|wrong| wrong.to_string())?;
        }
        self.plane.change(&config, classes, inbound, next);
        self.waiting.set(config.wait);
        self.config = config;
        Ok(())
    }

    fn retune(&mut self, policy: &str) -> Result<(), String> {
        let spec = Config::policy(policy)?;
        let now = clock::now();
        self.plane.node.scheduler().retune(&spec.knobs(), now).map_err(|wrong| wrong.to_string())?;
        self.config.policy = spec;
        Ok(())
    }
}

/// Splits the functions into those of the box's own thread and those of workers, if there are any.
fn share_out(mut chains: Vec<Chains>, config: &Config) -> (Chains, Vec<Chains>) {
    if chains.len() == 1
        && let Some(own) = chains.pop()
    {
        return (own, Vec::new());
    }
    (Chains::none(config), chains)
}
