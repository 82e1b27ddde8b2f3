//! The event loop.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{
    access_model::{AccessModel, NetOf},
    agenda::Event,
    error::NetworkError,
    hosts::Hosts,
    net::Arrival,
    options::NetworkProgress,
    outcome::NetworkOutcome,
    packets::{EndId, Of},
};

/// How often progress is reported, in events.
const PROGRESS_EVERY: u64 = 1 << 16;

/// How often a run checks whether to stop, in events: every few milliseconds at most.
const STOP_EVERY: u64 = 1 << 12;

/// A network, its hosts, and its users' access.
pub(super) struct World<'a, M: AccessModel> {
    net: NetOf<'a, M>,
    hosts: Hosts,
    access: M,
    progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
    stop: Option<&'a AtomicBool>,
}

impl<'a, M: AccessModel> World<'a, M> {
    pub(super) fn new(
        mut net: NetOf<'a, M>,
        access: M,
        progress: Option<&'a mut dyn FnMut(NetworkProgress)>,
        stop: Option<&'a AtomicBool>,
    ) -> Self {
        let hosts = Hosts::begin(&mut net);
        Self { net, hosts, access, progress, stop }
    }

    pub(super) fn run(mut self) -> Result<NetworkOutcome, NetworkError> {
        let stop_at = self.net.spec.over_at();
        // With an explicit end and unlimited traffic, the run lasts until that end.
        let to_the_end = self.net.spec.stop_at.is_some() && self.net.spec.is_endless();
        let mut events = 0u64;
        while self.hosts.pending > 0 || to_the_end || self.access.is_waited_for(&self.net) {
            if self.net.agenda.next_at() > self.net.now {
                if self.access.is_asked() {
                    self.access.serve(&mut self.net)?;
                    continue;
                }
                if self.net.is_asked() {
                    self.net.begin_asked()?;
                    continue;
                }
                if self.hosts.pending == 0 && self.access.is_satisfied(&self.net) {
                    break;
                }
            }
            let Some((at, event)) = self.net.agenda.pop() else { break };
            if at >= stop_at {
                self.net.now = stop_at;
                break;
            }
            self.net.now = at;
            self.happen(event)?;
            self.net.lost.drain(..).for_each(|part| self.access.lost(part));
            events += 1;
            if events.is_multiple_of(PROGRESS_EVERY) {
                self.tell_progress();
            }
            if events.is_multiple_of(STOP_EVERY) && self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(NetworkError::Stopped { now: self.net.now });
            }
        }
        self.tell_progress();
        Ok(self.finish())
    }

    fn finish(mut self) -> NetworkOutcome {
        self.net.lost.drain(..).for_each(|part| self.access.lost(part));
        let watched = self.net.watched();
        let mut counters = Vec::new();
        watched.scheduler.figures(&mut |name, value| counters.push((name, value)));
        let evicted_flows = watched.evictions();
        self.net.watch.stop();
        let watch = &self.net.watch;
        let (transfers, streams) = self.hosts.finish(watch, self.net.now);
        NetworkOutcome {
            link: watch.link,
            unknown: watch.unknown,
            marked: self.net.spec.links[self.net.spec.watched].mark_packets.map(|_| watch.marked),
            evicted_flows,
            ended: self.net.now,
            transfers,
            streams,
            counters,
            access: self.access.finish(),
        }
    }

    fn tell_progress(&mut self) {
        if let Some(progress) = &mut self.progress {
            let transfers = self.net.spec.transfers();
            progress(NetworkProgress { done: transfers - self.hosts.pending, transfers, now: self.net.now });
        }
    }

    fn happen(&mut self, event: Event<M::Event>) -> Result<(), NetworkError> {
        match event {
            Event::Sent { link } => self.net.sent(link),
            Event::Ask { link } => self.net.ask(link),
            Event::Arrives { at, packet } => match self.net.arrive(at, packet)? {
                Some(Arrival::Segment(end)) => self.turn(end)?,
                Some(Arrival::Alone { of: Of::Access(part), .. }) => self.access.arrived(part, at, &mut self.net)?,
                Some(Arrival::Alone { of, bytes }) => {
                    self.hosts.received(of, bytes, &mut self.net);
                    self.access.strayed(at, bytes, &self.net);
                }
                None => {}
            },
            Event::Wake { end } => {
                if self.net.is_woken(end) {
                    self.turn(end)?;
                }
            }
            Event::Traffic { at } => self.hosts.act(at, &mut self.net)?,
            Event::Access(event) => self.access.happen(event, &mut self.net)?,
        }
        Ok(())
    }

    fn turn(&mut self, id: EndId) -> Result<(), NetworkError> {
        match self.net.turn(id)? {
            Some(turned) if matches!(turned.of, Of::Access(_)) => self.access.turned(id, &turned, &mut self.net),
            Some(turned) => self.hosts.turned(id, &turned, &mut self.net),
            None => Ok(()),
        }
    }
}
