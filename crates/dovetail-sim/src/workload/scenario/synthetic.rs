//! The stream of packets of a scenario.
//!
//! Every source keeps the time of its next packet. A [`Tournament`] selects the next among listed flows, an [`Agenda`] among
//! transfers, which begin and end. A packet takes one walk up or down, O(log sources), and no allocation.

use dovetail_sched::{
    Demand, FlowId, Nanos, Weight,
    cost::{ProgramId, ProgramTable},
};

use super::{
    Scenario,
    agenda::Agenda,
    sources::{FlowSpec, Process, TransferSpec},
    tournament::Tournament,
};
use crate::workload::{Arrival, ClassSet, Notice, Workload, WorkloadError, mix, random::Random};

impl Scenario {
    /// Creates the stream of packets.
    ///
    /// # Errors
    /// [`WorkloadError`] when the scenario has no flows, would never end, or cannot be scaled to its load.
    pub fn workload(&self) -> Result<Synthetic, WorkloadError> {
        Synthetic::new(self).map_err(|what| WorkloadError::File { file: self.file.clone(), what })
    }
}

/// Packets of a source arrive before this time. Unlimited sources go on to the end of the clock, which is reported.
fn stop_ns(stop: Nanos) -> f64 {
    if stop == Nanos::MAX { f64::INFINITY } else { stop.as_f64() }
}

/// Limit of the queued packets of all backlogged flows: a gigabyte.
const MAX_QUEUED: u64 = 1 << 24;

/// A placeholder to be overwritten.
const NO_ARRIVAL: Arrival = Arrival::new(Nanos::ZERO, FlowId(0), 0, Demand::of_one(Nanos::ZERO));

/// A scenario as a workload.
#[derive(Debug)]
pub struct Synthetic {
    file: String,
    classes: ClassSet,
    seed: u64,
    specs: Vec<FlowSpec>,
    /// First flow of each spec.
    first_flow: Vec<u32>,
    /// Listed flows; a source's index is its flow's id.
    sources: Vec<Source>,
    transfers: Vec<TransferSpec>,
    starters: Vec<Starter>,
    /// Transfers in flight, and free slots.
    running: Vec<Running>,
    free: Vec<u32>,
    /// Flows of transfers, by id starting after the listed ones.
    transfer_flows: Vec<TransferFlow>,
    /// Next packets of listed flows.
    tournament: Tournament,
    /// Next starts of transfers, and next packets of those in flight.
    agenda: Agenda,
    backlog: u32,
    /// Whether any flow is permanently backlogged.
    is_backlogged: bool,
    end: Nanos,
    left: u64,
    hint: Option<u64>,
}

/// A listed flow.
#[derive(Debug, Clone)]
struct Source {
    random: Random,
    on_left: f64,
    /// Size of the next packet, drawn with the one before: what comes next is known without waiting for logarithms.
    bytes: u32,
    gap: f64,
    left: u64,
    spec: u32,
    class: u16,
    changed: u16,
    /// Packets of the initial backlog still to come.
    initial: u32,
}

/// Starts of transfers.
#[derive(Debug, Clone)]
struct Starter {
    random: Random,
    started: u32,
}

/// A transfer in flight.
#[derive(Debug, Clone, Copy)]
struct Running {
    left: u64,
    flow: u32,
    spec: u16,
    class: u16,
}

/// What is kept of a transfer permanently.
#[derive(Debug, Clone, Copy)]
struct TransferFlow {
    ordinal: u32,
    spec: u16,
    class: u16,
}

impl Synthetic {
    fn new(scenario: &Scenario) -> Result<Self, String> {
        let classes = scenario.classes.clone();
        let seed = scenario.seed;
        if scenario.flows.is_empty() && scenario.transfers.is_empty() {
            return Err("has no packets: it needs a [[flow]], a [[transfers]], or a capture (trace) beside it".into());
        }
        let end = scenario.duration.unwrap_or(Nanos::MAX);
        let gaps = 1.0 / scenario.rate_factor()?;
        let mut specs = scenario.flows.clone();
        let mut first_flow = Vec::with_capacity(specs.len());
        let mut sources = Vec::new();
        let mut first_times = Vec::new();
        let mut waiting = 0;
        for (at, spec) in specs.iter_mut().enumerate() {
            let name = &spec.name;
            if end == Nanos::MAX && scenario.packets.is_none() && spec.stop == Nanos::MAX && spec.packets == u64::MAX {
                return Err(format!(
                    "flow '{name}' has no end: give it stop or packets, or the scenario duration or packets"
                ));
            }
            spec.process = spec.process.scaled(gaps, &spec.size).map_err(|what| format!("flow '{name}': {what}"))?;
            first_flow.push(sources.len() as u32);
            let initial = scenario.backlog.min(scenario.queue_packets.unwrap_or(u32::MAX));
            if let Process::Backlogged = spec.process {
                waiting += u64::from(spec.count) * u64::from(initial).min(spec.packets);
                if waiting > MAX_QUEUED {
                    return Err(format!(
                        "flow '{name}': with it {waiting} packets of backlogged flows wait, more than {MAX_QUEUED}: lower \
                         backlog, which is {initial}"
                    ));
                }
            }
            for _ in 0..spec.count {
                let flow = sources.len() as u32;
                let mut random = Random::new(seed, u64::from(flow));
                let (gap, on_left) = spec.process.first_gap(&spec.size, &mut random);
                let class = match spec.class {
                    Some(class) => class,
                    None => classes.of_flow(None, class_hash(seed, flow)).map_err(|error| error.to_string())?,
                };
                let time = spec.start.as_f64() + gap;
                first_times.push((time < stop_ns(spec.stop)).then_some(time));
                let mut source = Source {
                    random,
                    on_left,
                    bytes: 0,
                    gap: 0.0,
                    left: spec.packets,
                    spec: at as u32,
                    class,
                    changed: 0,
                    initial,
                };
                source.draw(spec);
                sources.push(source);
            }
        }
        let tournament = Tournament::new(first_times.into_iter());
        let mut agenda = Agenda::default();
        let mut transfers = scenario.transfers.clone();
        let mut starters = Vec::with_capacity(transfers.len());
        for spec in &mut transfers {
            if spec.class.is_none() {
                classes.of_flow(None, 0).map_err(|error| format!("transfers '{}': {error}", spec.name))?;
            }
            spec.process = spec.process.scaled(gaps, &spec.size)?;
            // Transfers' streams are numbered from the other end, so that they do not depend on the number of flows.
            let mut random = Random::new(seed, u64::MAX - starters.len() as u64);
            let (gap, _) = spec.process.first_gap(&spec.size, &mut random);
            let time = spec.start.as_f64() + gap;
            if time < stop_ns(spec.stop) {
                agenda.push(time, starters.len() as u32);
            }
            starters.push(Starter { random, started: 0 });
        }
        let hint = hint(scenario, 1.0 / gaps);
        Ok(Self {
            file: scenario.file.clone(),
            classes,
            seed,
            specs,
            first_flow,
            sources,
            transfers,
            starters,
            running: Vec::new(),
            free: Vec::new(),
            transfer_flows: Vec::new(),
            tournament,
            agenda,
            backlog: scenario.backlog.min(scenario.queue_packets.unwrap_or(u32::MAX)),
            is_backlogged: scenario.flows.iter().any(|flow| matches!(flow.process, Process::Backlogged)),
            end,
            left: scenario.packets.unwrap_or(u64::MAX),
            hint,
        })
    }

    /// Number of packets kept queued for a backlogged flow.
    #[must_use]
    pub fn backlog(&self) -> u32 {
        self.backlog
    }

    /// Writes the next packet of a listed flow, which is due, to `arrival`, and schedules the flow's next.
    #[inline(always)]
    fn source_packet(&mut self, flow: u32, time: f64, at: Nanos, arrival: &mut Arrival) {
        let source = &mut self.sources[flow as usize];
        let spec = &self.specs[source.spec as usize];
        let next = time + source.gap;
        source.packet(spec, &self.classes, self.seed, flow, at, arrival);
        if let Process::Backlogged = spec.process {
            source.initial -= 1;
            if source.initial == 0 || source.left == 0 {
                self.tournament.end_first(flow);
            }
            return;
        }
        if source.left == 0 || next >= stop_ns(spec.stop) {
            self.tournament.end_first(flow);
        } else {
            self.tournament.replace_first(flow, next);
        }
    }

    /// Starts a transfer: its first packet is a separate event.
    fn start(&mut self, at: usize, event: u32, time: f64) {
        let spec = &self.transfers[at];
        let starter = &mut self.starters[at];
        let flow = (self.sources.len() + self.transfer_flows.len()) as u32;
        let left = spec.size.sample(&mut starter.random);
        let class = spec.class.or_else(|| self.classes.of_flow(None, class_hash(self.seed, flow)).ok()).unwrap_or(0);
        starter.started += 1;
        self.transfer_flows.push(TransferFlow { ordinal: starter.started, spec: at as u16, class });
        let next = time + spec.process.gap(1.0, &mut 0.0, &mut starter.random);
        if starter.started == spec.flows || next >= stop_ns(spec.stop) {
            self.agenda.pop();
        } else {
            self.agenda.replace_first(next, event);
        }
        let running = Running { left, flow, spec: at as u16, class };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.running[slot as usize] = running;
                slot
            }
            None => {
                self.running.push(running);
                (self.running.len() - 1) as u32
            }
        };
        self.agenda.push(time, self.starters.len() as u32 + slot);
    }

    /// The next packet of a transfer in flight.
    fn transfer_packet(&mut self, slot: u32, event: u32, time: f64, at: Nanos) -> Arrival {
        let running = &mut self.running[slot as usize];
        let spec = &self.transfers[usize::from(running.spec)];
        let bytes = running.left.min(u64::from(spec.mtu)) as u32;
        running.left -= u64::from(bytes);
        let (class, left) = (running.class, running.left);
        let draw = || cost_stream(self.seed, running.flow, left);
        let (demand, expansion) = self.classes.outcome(class, bytes, draw);
        let arrival =
            Arrival { at, flow: FlowId(running.flow), bytes, demand, expansion, program: ProgramId(class.into()) };
        if running.left == 0 {
            self.free.push(slot);
            self.agenda.pop();
        } else {
            self.agenda.replace_first(time + spec.nanos_per_byte * f64::from(bytes), event);
        }
        arrival
    }

    /// No more packets arrive: the limit of packets or the end is reached.
    #[cold]
    fn finish(&mut self) -> Result<bool, WorkloadError> {
        let clock_ends = self.left > 0 && self.end == Nanos::MAX;
        self.tournament.clear();
        self.agenda.clear();
        if clock_ends {
            let what = "packets arrive beyond the end of the clock, 584 years after its start: raise the load or the \
                        rates, or give the scenario a duration";
            return Err(WorkloadError::File { file: self.file.clone(), what: what.into() });
        }
        Ok(false)
    }

    fn transfer_flow(&self, flow: FlowId) -> Option<&TransferFlow> {
        self.transfer_flows.get(flow.index().checked_sub(self.sources.len())?)
    }
}

impl Source {
    /// Writes a packet of this flow at `at` to `arrival`, which is large to move.
    #[inline(always)]
    fn packet(&mut self, spec: &FlowSpec, classes: &ClassSet, seed: u64, flow: u32, at: Nanos, arrival: &mut Arrival) {
        while let Some(&(change, class)) = spec.changes.get(usize::from(self.changed))
            && change <= at
        {
            self.class = class;
            self.changed += 1;
        }
        let bytes = self.bytes;
        self.left -= 1;
        let draw = || cost_stream(seed, flow, self.left);
        (arrival.demand, arrival.expansion) = classes.outcome(self.class, bytes, draw);
        (arrival.at, arrival.flow, arrival.bytes) = (at, FlowId(flow), bytes);
        arrival.program = ProgramId(self.class.into());
        self.draw(spec);
    }

    /// Draws the next packet's size, and the time from it to the one after it.
    #[inline]
    fn draw(&mut self, spec: &FlowSpec) {
        self.bytes = spec.size.sample(&mut self.random) as u32;
        self.gap = spec.process.gap(f64::from(self.bytes), &mut self.on_left, &mut self.random);
    }
}

/// Random stream for the cost of a flow's packet, identified by the flow's remaining packets: it is the same for every
/// policy, whenever the packet arrives.
fn cost_stream(seed: u64, flow: u32, left: u64) -> Random {
    Random::new(mix(mix(seed, 0x636f_7374), u64::from(flow)), left)
}

/// Determines the class of a flow without a given one.
fn class_hash(seed: u64, flow: u32) -> u64 {
    mix(mix(seed, 0x636c_6173_7365_7321), u64::from(flow))
}

/// Expected number of packets of a scenario: from its rates, or its limit.
fn hint(scenario: &Scenario, factor: f64) -> Option<u64> {
    let limit = scenario.packets;
    let mut expected = 0.0;
    let span = |start: Nanos, stop: Nanos| {
        let end = stop.min(scenario.duration.unwrap_or(Nanos::MAX));
        if end == Nanos::MAX { f64::INFINITY } else { (end - start).as_f64() }
    };
    for flow in &scenario.flows {
        let rate = flow.process.packets_per_ns(&flow.size).unwrap_or(f64::INFINITY) * factor;
        let packets = if flow.packets == u64::MAX { f64::INFINITY } else { flow.packets as f64 };
        let span = span(flow.start, flow.stop);
        let own = if span == 0.0 { 0.0 } else { (rate * span).min(packets) };
        expected += own * f64::from(flow.count);
    }
    for transfers in &scenario.transfers {
        let rate = transfers.process.packets_per_ns(&transfers.size).unwrap_or(0.0) * factor;
        let flows = (rate * span(transfers.start, transfers.stop)).min(f64::from(transfers.flows));
        expected += flows * transfers.mean_packets();
    }
    let expected = (expected < 1e18).then_some(expected as u64);
    match (limit, expected) {
        (Some(limit), Some(expected)) => Some(limit.min(expected)),
        (limit, expected) => limit.or(expected),
    }
}

impl Workload for Synthetic {
    fn resources(&self) -> &[String] {
        self.classes.resource_names()
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        let mut arrival = NO_ARRIVAL;
        Ok(self.next_into(&mut arrival)?.then_some(arrival))
    }

    #[inline]
    fn next_into(&mut self, arrival: &mut Arrival) -> Result<bool, WorkloadError> {
        loop {
            let (listed, transfer) = (self.tournament.first(), self.agenda.first());
            // At the same time, listed flows come first.
            let flow = listed.filter(|&(time, _)| transfer.is_none_or(|(other, _)| time <= other));
            let Some((time, event)) = flow.or(transfer) else { return Ok(false) };
            let at = Nanos::from_f64(time);
            if self.left == 0 || at >= self.end {
                return self.finish();
            }
            if flow.is_some() {
                self.left -= 1;
                self.source_packet(event, time, at, arrival);
                return Ok(true);
            }
            let place = event as usize;
            if place < self.starters.len() {
                self.start(place, event, time);
                continue;
            }
            self.left -= 1;
            *arrival = self.transfer_packet((place - self.starters.len()) as u32, event, time, at);
            return Ok(true);
        }
    }

    #[inline]
    fn refill(&mut self, flow: FlowId, now: Nanos) -> Option<Arrival> {
        if !self.is_backlogged {
            return None;
        }
        let source = self.sources.get_mut(flow.index())?;
        let spec = &self.specs[source.spec as usize];
        let over = now >= spec.stop || now >= self.end || source.left == 0 || self.left == 0;
        if over || !matches!(spec.process, Process::Backlogged) {
            return None;
        }
        self.left -= 1;
        let mut arrival = NO_ARRIVAL;
        source.packet(spec, &self.classes, self.seed, flow.0, now, &mut arrival);
        Some(arrival)
    }

    fn weight(&self, flow: FlowId) -> Weight {
        let listed = self.sources.get(flow.index()).map(|source| self.specs[source.spec as usize].weight);
        let transfer = || self.transfer_flow(flow).map(|flow| self.transfers[usize::from(flow.spec)].weight);
        listed.or_else(transfer).unwrap_or(Weight::ONE)
    }

    fn resource_weights(&self, flow: FlowId) -> Option<&[Weight]> {
        let source = self.sources.get(flow.index())?;
        self.specs[source.spec as usize].resource_weights.as_deref()
    }

    fn programs(&self) -> ProgramTable {
        self.classes.programs()
    }

    fn is_open_loop(&self) -> bool {
        !self.is_backlogged
    }

    fn label(&self, flow: FlowId) -> String {
        if let Some(source) = self.sources.get(flow.index()) {
            let spec = &self.specs[source.spec as usize];
            let ordinal = flow.0 - self.first_flow[source.spec as usize] + 1;
            return if spec.count == 1 { spec.name.clone() } else { format!("{}-{ordinal}", spec.name) };
        }
        match self.transfer_flow(flow) {
            Some(transfer) => format!("{}-{}", self.transfers[usize::from(transfer.spec)].name, transfer.ordinal),
            None => format!("flow {flow}"),
        }
    }

    /// The flow's current class.
    fn class(&self, flow: FlowId) -> Option<&str> {
        let listed = self.sources.get(flow.index()).map(|source| source.class);
        let class = listed.or_else(|| self.transfer_flow(flow).map(|transfer| transfer.class))?;
        Some(&self.classes.classes()[usize::from(class)].name)
    }

    fn packets_hint(&self) -> Option<u64> {
        self.hint
    }

    fn notices(&self) -> Vec<Notice> {
        let capped = self.transfers.iter().zip(&self.starters);
        let capped = capped.filter(|(spec, starter)| spec.capped && starter.started == spec.flows);
        let notice = |(spec, _): (&TransferSpec, _)| Notice {
            what: format!("transfers '{}' ended at the default limit of {} flows: set 'flows'", spec.name, spec.flows),
            count: 1,
        };
        capped.map(notice).collect()
    }
}
