//! Worker threads that process packets beside the box's own thread.
//!
//! The box's thread keeps interfaces, queues and the policy. It hands a packet that the policy has chosen to the worker
//! that the [`Node`](crate::node::Node) names: the frame itself goes through a bounded channel to that worker, and returns
//! through one shared by all workers, with the time that processing took. Each worker has its own functions, tables, keys
//! and program instances, so that none waits for another. Changes to them go through the same channel as frames, and so
//! apply from the next frame on.
//!
//! A sleeping box is woken by a worker. If a worker does not answer for as long as the box may be silent, the box waits for
//! it and does nothing else, so that the bridge takes over, as it does when a box without workers hangs.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering, fence},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use dovetail_sched::{FlowId, Nanos};
use rustix::event::{EventfdFlags, eventfd};

use super::{
    LiveError,
    classes::{Chains, Classes, Worked},
    clock,
    counters::ProgramCounters,
    privileges,
    programs::{Library, Programs},
    start::{self, ALIVE_FOR},
};
use crate::{
    config::{Config, Wait},
    node::MAX_JOBS,
};

/// Room in a worker's channel beyond the packets that the node gives it: packets from before a lapse, and changes.
const BESIDE: usize = MAX_JOBS;

/// A frame to be processed.
pub(super) struct Job {
    pub flow: FlowId,
    pub handle: u64,
    pub class: u16,
    pub bytes: Vec<u8>,
}

/// The result of a job.
pub(super) struct Answer {
    pub worker: u16,
    pub job: Job,
    pub worked: Worked,
    pub programs: ProgramCounters,
    epoch: u64,
}

/// Everything that a worker needs to process frames.
pub(super) struct Tools {
    classes: Classes,
    library: Option<Library>,
    wait: Wait,
}

enum Task {
    Frame(Job, u64),
    Become(Box<Tools>),
    FinishFast,
}

/// The workers, as seen from the box's thread.
pub(super) struct Workers {
    workers: Vec<Worker>,
    answers: Receiver<Answer>,
    wakeup: Arc<Wakeup>,
    /// Incremented at each lapse: jobs from before are ignored.
    epoch: Arc<AtomicU64>,
}

struct Worker {
    tasks: SyncSender<Task>,
    thread: JoinHandle<()>,
    /// Number of frames that it has not answered.
    owed: usize,
    /// When it last answered, or got a frame while it had none.
    heard_at: Nanos,
}

/// Wakes the box's thread.
struct Wakeup {
    event: OwnedFd,
    is_asleep: AtomicBool,
}

impl Tools {
    /// The tools of each worker. The box's own classes do no work then.
    pub(super) fn each(config: &Config, chains: Vec<Chains>, programs: Option<&Programs>) -> Vec<Self> {
        let library = programs.map(Programs::library);
        let tools = |chains| Self {
            classes: Classes::new(config, chains, programs),
            library: library.cloned(),
            wait: config.wait,
        };
        chains.into_iter().map(tools).collect()
    }
}

impl Workers {
    /// Starts one worker for each of `tools`, on any core but the box's own.
    pub(super) fn start(config: &Config, tools: Vec<Tools>) -> Result<Self, LiveError> {
        let count = tools.len();
        let (answer, answers) = sync_channel(count * (MAX_JOBS + BESIDE));
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|wrong| LiveError::Workers(wrong.into()))?;
        let wakeup = Arc::new(Wakeup { event, is_asleep: AtomicBool::new(false) });
        let epoch = Arc::<AtomicU64>::default();
        let start = |(number, mut tools): (usize, Tools)| {
            tools.classes.fill(tools.library.as_ref(), None);
            let (tasks, asked) = sync_channel(MAX_JOBS + BESIDE);
            let at_work = AtWork {
                number: number as u16,
                tools,
                asked,
                answer: answer.clone(),
                wakeup: wakeup.clone(),
                epoch: epoch.clone(),
            };
            let core = config.cpu.core;
            let thread = thread::Builder::new().name(format!("worker {number}")).spawn(move || {
                start::settle_in_beside(core);
                privileges::drop_capabilities();
                at_work.run();
            });
            Ok(Worker { tasks, thread: thread.map_err(LiveError::Workers)?, owed: 0, heard_at: Nanos::ZERO })
        };
        let workers = tools.into_iter().enumerate().map(start).collect::<Result<Vec<_>, LiveError>>()?;
        Ok(Self { workers, answers, wakeup, epoch })
    }

    /// Hands a frame to a worker. Blocks if it still has too many from before a lapse.
    ///
    /// # Errors
    /// When the worker is gone.
    pub(super) fn hand_out(&mut self, to: u16, job: Job) -> Result<(), LiveError> {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let Some(worker) = self.workers.get_mut(usize::from(to)) else { return Err(gone()) };
        worker.tasks.send(Task::Frame(job, epoch)).map_err(|_| gone())?;
        if worker.owed == 0 {
            worker.heard_at = clock::now();
        }
        worker.owed += 1;
        Ok(())
    }

    /// The next answer, if there is one. Blocks if a worker has been silent for too long.
    ///
    /// # Errors
    /// When a worker is gone.
    pub(super) fn next(&mut self) -> Result<Option<Answer>, LiveError> {
        loop {
            let answer = match self.answers.try_recv() {
                Ok(answer) => answer,
                Err(TryRecvError::Disconnected) => return Err(gone()),
                Err(TryRecvError::Empty) => {
                    if !self.is_overdue() {
                        return Ok(None);
                    }
                    match self.answers.recv_timeout(Duration::from_millis(1)) {
                        Ok(answer) => answer,
                        Err(RecvTimeoutError::Timeout) => {
                            self.look()?;
                            continue;
                        }
                        Err(RecvTimeoutError::Disconnected) => return Err(gone()),
                    }
                }
            };
            if answer.epoch != self.epoch.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(worker) = self.workers.get_mut(usize::from(answer.worker)) {
                worker.owed = worker.owed.saturating_sub(1);
                worker.heard_at = clock::now();
            }
            return Ok(Some(answer));
        }
    }

    fn is_overdue(&self) -> bool {
        let mut owing = self.workers.iter().filter(|worker| worker.owed > 0).peekable();
        owing.peek().is_some() && {
            let now = clock::now();
            owing.any(|worker| now > worker.heard_at + ALIVE_FOR)
        }
    }

    /// # Errors
    /// When a worker is gone.
    pub(super) fn look(&self) -> Result<(), LiveError> {
        if self.workers.iter().any(|worker| worker.thread.is_finished()) { Err(gone()) } else { Ok(()) }
    }

    /// Discards the answers to all jobs handed out so far.
    pub(super) fn start_over(&mut self) {
        self.epoch.fetch_add(1, Ordering::Relaxed);
        self.workers.iter_mut().for_each(|worker| worker.owed = 0);
        while self.answers.try_recv().is_ok() {}
    }

    /// Gives workers new tools, used from the next frame on. Blocks if one has too many tasks.
    ///
    /// # Errors
    /// When a worker is gone.
    pub(super) fn reconfigure(&mut self, tools: Vec<Tools>) -> Result<(), LiveError> {
        self.tell(tools.into_iter().map(|tools| Task::Become(Box::new(tools))))
    }

    /// Gives functions a whole CPU from the next frame on.
    pub(super) fn finish_fast(&mut self) {
        // A worker that is gone is noticed when it does not answer.
        let _ = self.tell((0..self.workers.len()).map(|_| Task::FinishFast));
    }

    fn tell(&self, tasks: impl Iterator<Item = Task>) -> Result<(), LiveError> {
        self.workers.iter().zip(tasks).try_for_each(|(worker, task)| worker.tasks.send(task).map_err(|_| gone()))
    }

    /// The box is about to sleep: further answers wake it.
    pub(super) fn arm_wakeup(&self) {
        self.wakeup.is_asleep.store(true, Ordering::SeqCst);
        // An answer sent before its worker checks this flag is seen by the check for answers that follows.
        fence(Ordering::SeqCst);
    }

    /// The box is awake.
    pub(super) fn disarm_wakeup(&self) {
        if !self.wakeup.is_asleep.swap(false, Ordering::SeqCst) {
            let mut count = [0; 8];
            // The event is not readable if no worker has signalled yet.
            let _ = rustix::io::read(&self.wakeup.event, &mut count);
        }
    }

    /// Readable once a worker has woken the box.
    pub(super) fn wakeup(&self) -> BorrowedFd<'_> {
        self.wakeup.event.as_fd()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // A worker ends when its channel closes, after completing its tasks.
        for worker in self.workers.drain(..) {
            drop(worker.tasks);
            let until = Instant::now() + Duration::from_secs(1);
            while !worker.thread.is_finished() && Instant::now() < until {
                while self.answers.try_recv().is_ok() {}
                thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

impl Wakeup {
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::SeqCst) && self.is_asleep.swap(false, Ordering::SeqCst) {
            // It cannot be full: only one worker signals until the box has slept again.
            let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        }
    }
}

fn gone() -> LiveError {
    LiveError::Workers(io::Error::other("a worker has ended"))
}

/// A worker, as seen from its own thread.
struct AtWork {
    number: u16,
    tools: Tools,
    asked: Receiver<Task>,
    answer: SyncSender<Answer>,
    wakeup: Arc<Wakeup>,
    epoch: Arc<AtomicU64>,
}

impl AtWork {
    fn run(mut self) {
        while let Some(task) = self.next() {
            match task {
                Task::Frame(job, epoch) if epoch == self.epoch.load(Ordering::Relaxed) => {
                    if self.work(job, epoch).is_none() {
                        return;
                    }
                }
                Task::Frame(..) => {}
                Task::Become(mut next) => {
                    let Tools { classes, library, .. } = &mut *next;
                    classes.fill(library.as_ref(), Some(&mut self.tools.classes));
                    self.tools = *next;
                }
                Task::FinishFast => self.tools.classes.finish_fast(),
            }
        }
    }

    /// `None` once the box no longer receives answers.
    fn work(&mut self, mut job: Job, epoch: u64) -> Option<()> {
        let mut programs = ProgramCounters::default();
        let worked = self.tools.classes.work(job.class, &mut job.bytes, &mut programs);
        self.answer.send(Answer { worker: self.number, job, worked, programs, epoch }).ok()?;
        self.wakeup.wake();
        Some(())
    }

    /// The next task, waiting in the same way as the box; `None` once the box is gone.
    fn next(&self) -> Option<Task> {
        let spins = match self.tools.wait {
            Wait::Sleep => Nanos::ZERO,
            Wait::SpinThenSleep(time) => time,
            Wait::Spin => Nanos::MAX,
        };
        if spins > Nanos::ZERO {
            let until = clock::now() + spins;
            loop {
                match self.asked.try_recv() {
                    Ok(task) => return Some(task),
                    Err(TryRecvError::Disconnected) => return None,
                    Err(TryRecvError::Empty) if clock::now() >= until => break,
                    Err(TryRecvError::Empty) => std::hint::spin_loop(),
                }
            }
        }
        self.asked.recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::ledger::Ledger, *};

    fn job(handle: u64) -> Job {
        Job { flow: FlowId(0), handle, class: 0, bytes: vec![0; 60] }
    }

    fn config(workers: u16) -> Config {
        let text = format!(
            "[box]\ninside = \"a\"\noutside = \"b\"\npolicy = \"fifo\"\n[cpu]\nworkers = {workers}\n[link]\nrate = \"1Gbps\"\n\
             [[class]]\nname = \"default\"\nfunctions = [\"monitoring\"]\n"
        );
        Config::parse(&text).unwrap()
    }

    fn chains(config: &Config) -> Vec<Chains> {
        Chains::build(config, &Ledger::default()).unwrap()
    }

    fn start(workers: u16) -> Workers {
        let config = config(workers);
        Workers::start(&config, Tools::each(&config, chains(&config), None)).unwrap()
    }

    /// Waits for an answer like a box that has nothing else to do.
    fn wait(workers: &mut Workers) -> Answer {
        loop {
            workers.arm_wakeup();
            if let Some(answer) = workers.next().unwrap() {
                workers.disarm_wakeup();
                return answer;
            }
            let mut asked = [rustix::event::PollFd::from_borrowed_fd(workers.wakeup(), rustix::event::PollFlags::IN)];
            // Without the wakeup the test would never end.
            rustix::event::poll(&mut asked, None).unwrap();
            workers.disarm_wakeup();
        }
    }

    #[test]
    fn every_frame_comes_back_in_its_workers_order() {
        let mut workers = start(3);
        let mut next = [0; 3];
        for round in 0..200_u64 {
            for worker in 0..3 {
                for at in 0..round % 7 {
                    workers.hand_out(worker, job(round * 7 + at)).unwrap();
                }
            }
            for _ in 0..3 * (round % 7) {
                let Answer { worker, job, .. } = wait(&mut workers);
                let last: &mut u64 = &mut next[usize::from(worker)];
                assert!(job.handle >= *last && job.bytes.len() == 60);
                *last = job.handle + 1;
            }
            let config = config(3);
            workers.reconfigure(Tools::each(&config, chains(&config), None)).unwrap();
        }
        assert!(workers.next().unwrap().is_none());
    }

    #[test]
    fn what_was_given_out_before_a_lapse_is_not_answered() {
        let mut workers = start(2);
        for round in 0..50 {
            for at in 0..20 {
                workers.hand_out((at % 2) as u16, job(at)).unwrap();
            }
            workers.start_over();
            workers.hand_out(1, job(1000 + round)).unwrap();
            assert_eq!(wait(&mut workers).job.handle, 1000 + round);
        }
    }

    /// A worker that has been silent for longer than the box may be.
    fn silent(answers_after: Option<Duration>) -> Workers {
        let mut workers = start(1);
        let (tasks, asked) = sync_channel(4);
        let (answer, answers) = sync_channel(4);
        let thread = thread::spawn(move || {
            let (Ok(Task::Frame(job, epoch)), Some(time)) = (asked.recv(), answers_after) else { return };
            thread::sleep(time);
            let worked = Worked { took: Nanos::ZERO, ended_by: None, is_preempted: false, ended: None };
            let _ = answer.send(Answer { worker: 0, job, worked, programs: ProgramCounters::default(), epoch });
            let _ = asked.recv();
        });
        workers.workers[0] = Worker { tasks, thread, owed: 0, heard_at: Nanos::ZERO };
        workers.answers = answers;
        workers.hand_out(0, job(7)).unwrap();
        workers.workers[0].heard_at = Nanos::ZERO;
        workers
    }

    #[test]
    fn a_silent_worker_is_waited_for() {
        let mut workers = silent(Some(Duration::from_millis(20)));
        assert_eq!(workers.next().unwrap().map(|answer| answer.job.handle), Some(7));
    }

    #[test]
    fn a_worker_that_is_gone_ends_the_box() {
        let mut workers = silent(None);
        assert!(matches!(workers.next(), Err(LiveError::Workers(_))));
    }
}
