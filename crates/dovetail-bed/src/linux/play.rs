//! Plays a set of jobs while watching and changing the link.

use std::{
    panic::resume_unwind,
    thread,
    time::{Duration, Instant},
};

use super::{
    Bed, LISTEN, TELL, Watched,
    link::Counters,
    number,
    player::Player,
    process::{Folder, Running},
    usage::Usage,
    wires::change_downlink,
};
use crate::{BedError, Job, PlaySpec, Played, Proxy, Queued};

/// How often to check whether all jobs are done.
const LOOK: Duration = Duration::from_millis(50);

impl Bed {
    /// Lets users play these jobs at the proxy. Takes the duration, plus as much of the drain as outstanding answers need.
    ///
    /// # Errors
    /// If the jobs or the run are invalid, the proxy does not listen or ends early, or the system fails.
    pub fn play(&mut self, proxy: &Proxy<'_>, jobs: &[Job], play: &PlaySpec) -> Result<Played, BedError> {
        play.validate(jobs, &self.spec)?;
        let folder = Folder::new(number())?;
        let site = self.site(&folder);
        let mut running = Running::new(proxy, &site, &self.gateway, &self.clients)?;
        self.line.latest();
        let begins = Instant::now();
        let player = Player::new(LISTEN, begins, play.duration, play.drain);
        let watched = thread::scope(|scope| {
            let playing = scope.spawn(|| {
                self.clients.enter()?;
                player.play(jobs)
            });
            let seen = self.look_on(begins, play, running.as_mut(), || playing.is_finished());
            player.stop();
            // If the proxy has ended, requests in flight there fail on their own.
            let jobs = playing.join().unwrap_or_else(|panic| resume_unwind(panic));
            Ok::<_, BedError>((jobs.map_err(BedError::system("the users"))?, seen?))
        });
        let ended = begins.elapsed();
        if !play.rates.is_empty() {
            change_downlink(&self.provider, self.spec.rate_bps, self.spec.buffer_packets)?;
        }
        let (jobs, (watched, queue)) = watched?;
        let proxy = running.map(|running| running.end().map(|exit| watched.used(exit))).transpose()?;
        let counted = play.duration.saturating_sub(play.warm_up).as_secs_f64();
        let mean_bps = play.capacity_bits(self.spec.rate_bps) / counted;
        Ok(Played {
            jobs,
            link: watched.link[1].since(watched.link[0], mean_bps),
            queue,
            proxy,
            latest: self.line.latest(),
            counted_from: play.warm_up,
            counted_to: play.duration,
            ended,
        })
    }

    /// Changes the rate when due, samples the counters and the queue, and checks on the proxy until the users are done.
    fn look_on(
        &self,
        begins: Instant,
        play: &PlaySpec,
        mut running: Option<&mut Running<'_>>,
        through: impl Fn() -> bool,
    ) -> Result<(Watched, Vec<Queued>), BedError> {
        let read = || Ok::<_, BedError>((Counters::read(&self.provider)?, Usage::read(&self.gateway)));
        let mut bps = self.spec.rate_bps;
        let mut rates = play.sorted_rates().into_iter().peekable();
        let (mut first, mut last) = (None, None);
        let mut queue = Vec::new();
        let (mut look_proxy, mut look_queue) = (TELL, Duration::ZERO);
        loop {
            let now = begins.elapsed();
            while let Some((_, rate)) = rates.next_if(|&(at, _)| at <= now) {
                change_downlink(&self.provider, rate, self.spec.buffer_packets)?;
                bps = rate;
            }
            if first.is_none() && now >= play.warm_up {
                first = Some(read()?);
            }
            if last.is_none() && now >= play.duration {
                last = Some(read()?);
            }
            if now >= look_proxy {
                running.as_mut().map_or(Ok(()), |running| running.still())?;
                look_proxy = now + TELL;
            }
            if let Some(every) = play.queue_every
                && now >= look_queue
            {
                let seen = Counters::read(&self.provider)?;
                let (bytes, packets) = (seen.queued_bytes, seen.queued_packets);
                queue.push(Queued { at: seen.at().saturating_duration_since(begins), bytes, packets, rate_bps: bps });
                look_queue += every * ((now - look_queue).as_nanos() / every.as_nanos() + 1) as u32;
            }
            if let (Some(first), Some(last)) = (first, last)
                && (through() || now >= play.duration + play.drain)
            {
                return Ok((Watched { link: [first.0, last.0], usage: [first.1, last.1] }, queue));
            }
            let mut next = now + LOOK;
            let events = [rates.peek().map(|&(at, _)| at), play.queue_every.map(|_| look_queue)];
            let edges = [(first.is_none(), play.warm_up), (last.is_none(), play.duration)];
            for at in events.into_iter().flatten().chain(edges.into_iter().filter_map(|(yet, at)| yet.then_some(at))) {
                next = next.min(at);
            }
            thread::sleep(next.saturating_sub(begins.elapsed()));
        }
    }
}
