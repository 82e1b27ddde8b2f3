//! Changes to a plane between rounds: a new configuration, a lapse, the end; and its status.
//!
//! Counters continue: per class by name, and those of the box.

use std::sync::Arc;

use dovetail_sched::{Nanos, Scheduler, units::Rate};
use dovetail_stats::Histogram;

use super::{
    super::{
        LiveError, classes::Classes, clock, counters::WorkerCounters, flows::Flows, inbound::Inbound, port::Port,
        start, status::Status, watch::Watch,
    },
    MAX_LATENCY, Plane, names,
};
use crate::{
    config::{self, Config},
    node::{Link, Pace, Room},
};

impl Plane {
    pub(in crate::live) fn change(
        &mut self,
        config: &Config,
        classes: Classes,
        mut inbound: Inbound,
        next: Option<Box<dyn Scheduler>>,
    ) {
        inbound.take_over(std::mem::take(&mut self.inbound));
        self.inbound = inbound;
        let last = config.classes.len() - 1;
        let new_class = |name: &Arc<str>| config.classes.iter().position(|class| class.name == *name).unwrap_or(last);
        let moved: Vec<_> = self.names.iter().map(|name| new_class(name) as u16).collect();
        self.frames.change_classes(&moved);
        self.flows.change_classes(&moved);
        let kept = |class: &config::Class| self.names.iter().position(|name| *name == class.name);
        let kept: Vec<_> = config.classes.iter().map(kept).collect();
        self.counters = kept.iter().map(|at| at.map_or_else(Default::default, |at| self.counters[at])).collect();
        let none = Histogram::fixed(MAX_LATENCY);
        self.latencies =
            kept.iter().map(|at| at.map_or_else(|| none.clone(), |at| self.latencies[at].clone())).collect();
        let kept: Vec<_> = kept.iter().map(|at| at.map(|at| at as u16)).collect();
        self.node.change_classes(&moved, &kept);
        self.names = names(config);
        self.growth_bytes = classes.growth_bytes();
        self.classes = classes;
        self.segments = config.segments;
        self.node.set_link(config.link, config.room);
        if config.link.pace == Pace::Device
            && let Err(wrong) = self.ports[self.toward].hold_little(config.link.rate)
        {
            tracing::warn!("{wrong}");
        }
        self.ports.iter_mut().for_each(|port| port.set_delay(config.delay));
        if let Some(next) = next {
            self.node.replace(next);
        }
        self.flows.introduce_all(&mut self.node, &self.classes);
    }

    /// Drops all held frames, which are stale, or older than what the bridge has forwarded meanwhile.
    pub(in crate::live) fn start_over(&mut self, config: &Config) -> Result<(), LiveError> {
        for port in &mut self.ports {
            port.empty();
        }
        self.oddities.lapses += 1;
        if let Some(workers) = &mut self.workers {
            workers.start_over();
        }
        let Self { frames, counters, watchers, .. } = self;
        frames.clear(|class, number| {
            counters[usize::from(class)].lapsed += 1;
            watchers.dropped(number);
        });
        self.flows = Flows::new(&config.queues, clock::now())?;
        let mut node = start::node(config, &self.classes)?;
        node.carry_on(&mut self.node);
        self.node = node;
        Ok(())
    }

    /// Removes emulated delays: packets take no time but that of their processing.
    pub(in crate::live) fn finish_fast(&mut self) {
        self.classes.finish_fast();
        if let Some(workers) = &mut self.workers {
            workers.finish_fast();
        }
        let link = self.node.link();
        let rate = Rate::from_bps(1e15).unwrap_or(link.rate);
        self.node.set_link(Link { rate, pace: Pace::Own, ..link }, Room::Packets(u32::MAX));
        self.ports.iter_mut().for_each(Port::finish_fast);
    }

    pub(in crate::live) fn status(&mut self, at: Nanos, config: &Config) -> Status {
        for port in &mut self.ports {
            port.count_missed();
        }
        if let Some(busiest) = self.flows.busiest(at, config.cpu.workers, &self.names) {
            self.busiest = Arc::new(busiest);
        }
        Status {
            at,
            started: self.started,
            policy: config.policy.to_string(),
            interfaces: config.interfaces.each_ref().map(|interface| interface.to_string().into()),
            toward: Some(config.toward),
            cpu_share: config.cpu.share,
            workers: self.by_worker(),
            link_rate: Some(config.link.rate),
            figures: self.node.figures(),
            waited: self.node.waited(),
            backlog: self.node.backlog(),
            flows: self.flows.len(),
            ports: self.ports.each_ref().map(|port| port.counters),
            classes: self.names.iter().cloned().zip(self.counters.iter().copied()).collect(),
            weights: config.classes.iter().map(|class| class.weight).collect(),
            latencies: self.latencies.clone(),
            busiest: self.busiest.clone(),
            oddities: self.oddities,
            answers: self.answers.counters(),
            tunnels: self.inbound.counters(),
        }
    }

    fn by_worker(&self) -> Vec<WorkerCounters> {
        if self.workers.is_some() {
            return self.by_worker.clone();
        }
        let figures = self.node.figures();
        let preempted = self.counters.iter().map(|class| class.preempted).sum();
        vec![WorkerCounters { worked: figures.worked, cpu: figures.cpu_busy, preempted }]
    }
}
