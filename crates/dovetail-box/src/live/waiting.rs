//! Waits until a frame arrives or something is due.

use std::{
    io,
    num::NonZeroU64,
    os::fd::{AsFd, BorrowedFd},
};

use dovetail_sched::Nanos;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::{
    LiveError, clock,
    port::{Port, noted_error},
};
use crate::config::Wait;

/// Maximum sleep: the switch needs a sign in time that the box is alive.
const MAX_SLEEP: Nanos = Nanos::from_millis(4);

/// How the loop waits.
#[derive(Debug)]
pub(super) struct Waiting {
    how: Wait,
    /// When something last happened.
    busy_at: Nanos,
}

impl Waiting {
    pub(super) fn new(how: Wait) -> Self {
        Self { how, busy_at: Nanos::ZERO }
    }

    /// Whether a wait now would sleep, judging by recent activity.
    pub(super) fn sleeps(&self, now: Nanos) -> bool {
        !self.spins(now)
    }

    pub(super) fn set(&mut self, how: Wait) {
        self.how = how;
    }

    /// Records activity at `now`.
    pub(super) fn busy(&mut self, now: Nanos) {
        self.busy_at = now;
    }

    /// Nothing happened: waits until `due`, or until a frame arrives or finds room, or a worker wakes the box.
    pub(super) fn wait(
        &mut self,
        ports: &[Port; 2],
        wakeup: Option<BorrowedFd<'_>>,
        due: Option<Nanos>,
        now: Nanos,
    ) -> Result<(), LiveError> {
        let due = due.unwrap_or(Nanos::MAX);
        if due <= now || self.spins(now) {
            std::hint::spin_loop();
            return Ok(());
        }
        let time = (due - clock::now()).min(MAX_SLEEP);
        let [inside, outside] = ports.each_ref().map(|port| {
            let flags = if port.has_outgoing() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            PollFd::from_borrowed_fd(port.as_fd(), flags)
        });
        let last = PollFd::from_borrowed_fd(wakeup.unwrap_or(ports[0].as_fd()), PollFlags::IN);
        let mut asked = [inside, outside, last];
        let asked = if wakeup.is_some() { &mut asked[..] } else { &mut asked[..2] };
        let timeout = Timespec { tv_sec: 0, tv_nsec: time.0 as _ };
        match poll(asked, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(()),
            Ok(_) => {}
            Err(wrong) => return Err(LiveError::Wait(wrong.into())),
        }
        for (asked, port) in asked.iter().zip(ports) {
            if asked.revents().contains(PollFlags::ERR)
                && let Some(wrong) = noted_error(port.as_fd())
            {
                tracing::warn!("{}: {wrong}", port.name);
            }
        }
        Ok(())
    }

    fn spins(&self, now: Nanos) -> bool {
        match self.how {
            Wait::Sleep => false,
            Wait::Spin => true,
            Wait::SpinThenSleep(time) => now < self.busy_at + time,
        }
    }
}

/// Makes this thread wake on time, not up to 50 µs later: a sleep that was 67 µs late in a prototype was 17 µs late with
/// this.
pub(super) fn wake_in_time() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}
