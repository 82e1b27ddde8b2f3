//! Figures of a run.
//!
//! [`Meters`] observes a run and produces a [`Summary`]. Every figure is a function of what the records contain (arrival,
//! flow, bytes, start and end on each resource), so that it can be recomputed from them:
//!
//! | figure | definition |
//! |---|---|
//! | makespan | first arrival to last end |
//! | utilisation of a resource | the sum of its processing times over the makespan |
//! | throughput | bits of the packets sent over the makespan |
//! | latency | arrival to end on the last resource; mean and maximum exact, percentiles within 0.1 % ([`latency`]) |
//! | Jain's index | of dominant service over flows that stay backlogged ([`jain`]) |
//! | largest gap | in active time between backlogged flows ([`gap`]) |
//!
//! and, with an observer of its own, [`FairShare`]:
//!
//! | figure | definition |
//! |---|---|
//! | worst share | the least that a backlogged flow received relative to its fair dominant share in a window ([`share`]) |
//! | shortfall | the most by which a promised part of that share was ever missed ([`share`]) |
//!
//! A packet counts as waiting from its arrival until it starts on the first resource.

pub mod gap;
pub mod jain;
pub mod latency;
mod rows;
pub mod share;
pub mod timeline;

use dovetail_sched::{Demand, FlowId, Nanos, Packet};

use crate::{Observer, Passage, Profile};
use gap::ActiveTimeGap;
use jain::Jain;
use latency::Latency;
use rows::{Pair, Rows, add_pair};
use timeline::Timeline;

pub use latency::Percentiles;
pub use share::{FairShare, Shares};

/// Default width of the windows of Jain's index.
pub const DEFAULT_WINDOW: Nanos = Nanos::from_millis(100);

/// Number of flows with a line of their own over time.
pub const FLOW_LINES: usize = 16;

/// Everything measured of one run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Packets that crossed the pipeline.
    pub sent: u64,
    /// Packets refused or evicted.
    pub dropped: u64,
    /// Bytes of the packets sent.
    pub bytes_sent: u64,
    /// Bytes of the packets that arrived.
    pub bytes_arrived: u64,
    /// First arrival to last arrival.
    pub arrivals_took: Nanos,
    /// First arrival to last end.
    pub makespan: Nanos,
    /// The longest total processing time of one packet over all resources.
    pub longest_service: Nanos,
    /// Share of the makespan that each resource was busy, in pipeline order.
    pub utilisation: Vec<f64>,
    /// Megabits per second sent over the makespan.
    pub throughput_mbps: f64,
    /// Jain's index of dominant service; `None` if no two flows ever stayed backlogged for a window.
    pub jain_dominant: Option<f64>,
    /// The largest gap in active time; `None` if no two flows were ever backlogged at once.
    pub max_active_time_gap: Option<Nanos>,
    /// Arrival to the end on the last resource; `None` if nothing was sent.
    pub latency: Option<Percentiles>,
    /// The distribution of latency: points of (latency, share of packets with at most that latency).
    pub latency_cdf: Vec<(Nanos, f64)>,
    /// Figures over time; empty if disabled ([`Meters::without_series`]).
    pub series: Series,
    /// Figures per flow, by flow id.
    pub flows: Vec<FlowSummary>,
}

/// Figures over time, in bins of equal width from time 0.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Width of a bin.
    pub width: Nanos,
    /// Share of the bin that each resource was busy, in pipeline order.
    pub utilisation: Vec<Vec<f64>>,
    /// The largest gap in active time in each bin.
    pub gap: Vec<Nanos>,
    /// Dominant service in each bin, in nanoseconds, of each of the first [`FLOW_LINES`] flows.
    pub flows: Vec<(String, Vec<f64>)>,
    /// Bytes sent in each bin by each of the first [`FLOW_LINES`] flows.
    pub flow_bytes: Vec<(String, Vec<f64>)>,
    /// Dominant service in each bin, in nanoseconds, of each application class.
    pub classes: Vec<(String, Vec<f64>)>,
}

/// Figures of one flow.
#[derive(Debug, Clone, Default)]
pub struct FlowSummary {
    /// Its name.
    pub label: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets refused or evicted.
    pub dropped: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Processing time received on each resource.
    pub service: Vec<Nanos>,
    /// Active time received (ATFQ, definition 1).
    pub active: Nanos,
}

impl FlowSummary {
    /// Processing time received on the flow's dominant resource.
    #[must_use]
    pub fn dominant(&self) -> Nanos {
        self.service.iter().copied().fold(Nanos::ZERO, Nanos::max)
    }
}

/// Observes a run and computes its figures. Cost per packet: O(m) and a heap of the backlogged flows.
#[derive(Debug)]
pub struct Meters {
    flows: Vec<Flow>,
    labels: Vec<String>,
    resources: usize,
    // Processing time received, if a pair is too short.
    long: Rows,
    longest_service: Nanos,
    first_arrival: Option<Nanos>,
    last_arrival: Nanos,
    bytes_arrived: u64,
    last_end: Nanos,
    latency: Latency,
    gap: ActiveTimeGap,
    jain: Jain,
    // `None` if series are disabled.
    lines: Option<Box<Lines>>,
    // No packet arrives at the instant of a start after the start was reported.
    is_open_loop: bool,
    // A released packet waits until it starts, and others may arrive before that.
    starting: Option<Starting>,
}

#[derive(Debug)]
struct Starting {
    at: Nanos,
    flow: FlowId,
    demand: Demand,
}

#[derive(Debug, Clone, Copy)]
struct Flow {
    sent: u64,
    dropped: u64,
    bytes: u64,
    // Processing time received.
    service: Pair,
    waiting: u32,
    class: u32,
}

const NO_CLASS: u32 = u32::MAX;
const NEW_FLOW: Flow = Flow { sent: 0, dropped: 0, bytes: 0, service: [Nanos::ZERO; 2], waiting: 0, class: NO_CLASS };

/// The timelines of a run.
#[derive(Debug)]
struct Lines {
    busy: Vec<Timeline>,
    gap: Timeline,
    flows: Vec<(Timeline, Timeline)>,
    classes: Vec<(String, Timeline)>,
}

impl Meters {
    /// Meters for a pipeline of `resources` resources, with windows of `window` (more than zero) for Jain's index.
    #[must_use]
    pub fn new(resources: usize, window: Nanos) -> Self {
        Self {
            flows: Vec::new(),
            labels: Vec::new(),
            resources,
            long: Rows::new(resources),
            longest_service: Nanos::ZERO,
            first_arrival: None,
            last_arrival: Nanos::ZERO,
            bytes_arrived: 0,
            last_end: Nanos::ZERO,
            latency: Latency::new(),
            gap: ActiveTimeGap::new(resources),
            jain: Jain::new(resources, window),
            lines: Some(Box::new(Lines::new(resources))),
            is_open_loop: false,
            starting: None,
        }
    }

    /// Disables [`Series`], which take a tenth of the time.
    #[must_use]
    pub fn without_series(self) -> Self {
        Self { lines: None, ..self }
    }

    /// Tells whether the workload never refills a flow ([`Workload::is_open_loop`](crate::workload::Workload::is_open_loop)).
    /// Then everything that happens at the instant of a start is reported before it, and most starts are counted as they are
    /// reported. The figures are the same.
    #[must_use]
    pub fn of_open_loop(self, is_open_loop: bool) -> Self {
        Self { is_open_loop, ..self }
    }

    /// Ends the observation.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        self.start_before(Nanos::MAX);
        let makespan = self.last_end - self.first_arrival.unwrap_or_default();
        let over_makespan = |amount: f64| if makespan == Nanos::ZERO { 0.0 } else { amount / makespan.as_f64() };
        let series = self.lines.map_or_else(Series::default, |lines| lines.finish(&self.labels));
        let (max_active_time_gap, jain_dominant) = (self.gap.largest(), self.jain.mean());
        // With millions of flows, free what is no longer needed to make room for the summary.
        drop(self.jain);
        let active = self.gap.into_active();
        let flows = (0..).map(FlowId).zip(self.flows.into_iter().zip(self.labels).zip(active));
        let long = self.long.are_used().then_some(&self.long);
        let flows: Vec<FlowSummary> = flows
            .map(|(id, ((flow, label), active))| FlowSummary {
                label,
                sent: flow.sent,
                dropped: flow.dropped,
                bytes: flow.bytes,
                service: long.map_or(&flow.service[..self.resources.min(2)], |long| long.of(id)).to_vec(),
                active,
            })
            .collect();
        // Totals are computed here, to save work per packet.
        let total = |of: fn(&FlowSummary) -> u64| flows.iter().map(of).sum::<u64>();
        let busy = |resource: usize| flows.iter().map(|flow| flow.service[resource]).sum::<Nanos>();
        let bytes_sent = total(|flow| flow.bytes);
        Summary {
            sent: total(|flow| flow.sent),
            dropped: total(|flow| flow.dropped),
            bytes_sent,
            bytes_arrived: self.bytes_arrived,
            arrivals_took: self.last_arrival - self.first_arrival.unwrap_or_default(),
            makespan,
            longest_service: self.longest_service,
            utilisation: (0..self.resources).map(|resource| over_makespan(busy(resource).as_f64())).collect(),
            throughput_mbps: over_makespan(bytes_sent as f64 * 8e3),
            jain_dominant,
            max_active_time_gap,
            latency: self.latency.percentiles(),
            latency_cdf: self.latency.cdf(),
            flows,
            series,
        }
    }

    /// Starts the released packet if its start is before `now`; other events at the instant of its start come first.
    #[inline]
    fn start_before(&mut self, now: Nanos) {
        if self.starting.as_ref().is_some_and(|starting| starting.at < now) {
            self.start();
        }
    }

    #[inline(never)]
    fn start(&mut self) {
        if let Some(Starting { at, flow, demand }) = self.starting.take() {
            self.starts(at, flow, demand.times());
        }
    }

    /// Counts a packet's times if the pipeline has more than two resources; returns their sum.
    #[cold]
    fn serve_long(&mut self, flow: FlowId, passage: &Passage) -> Nanos {
        let times = passage.start().iter().zip(passage.end()).map(|(&start, &end)| end - start);
        self.long.of_mut(flow).iter_mut().zip(times.clone()).for_each(|(service, time)| *service += time);
        times.sum()
    }

    #[inline]
    fn starts(&mut self, at: Nanos, flow: FlowId, times: &[Nanos]) {
        let state = &mut self.flows[flow.index()];
        state.waiting -= 1;
        self.jain.advance(at, &self.gap);
        self.jain.served(flow, times);
        let gap = self.gap.served(flow, times, state.waiting == 0);
        if let Some(lines) = &mut self.lines {
            lines.gap.add(at, gap);
        }
    }
}

impl Observer for Meters {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        let at = flow.index();
        if at >= self.flows.len() {
            self.flows.resize(at + 1, NEW_FLOW);
            self.labels.resize(at + 1, String::new());
            self.long.hold(flow);
        }
        self.labels[at] = profile.label.to_owned();
        self.gap.appeared(flow, profile.weight.as_f64());
        if let Some(lines) = &mut self.lines {
            self.flows[at].class = profile.class.map_or(NO_CLASS, |name| lines.class(name));
            if at < FLOW_LINES && at >= lines.flows.len() {
                lines.flows.resize_with(at + 1, || (Timeline::sums(), Timeline::sums()));
            }
        }
    }

    #[inline]
    fn arrived(&mut self, packet: &Packet) {
        self.start_before(packet.arrival);
        self.first_arrival.get_or_insert(packet.arrival);
        self.last_arrival = packet.arrival;
        self.bytes_arrived += u64::from(packet.bytes);
        let flow = &mut self.flows[packet.flow.index()];
        flow.waiting += 1;
        if flow.waiting == 1 {
            self.jain.advance(packet.arrival, &self.gap);
            self.jain.joined(packet.flow, packet.arrival);
            self.gap.joined(packet.flow);
        }
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.start_before(now);
        let flow = &mut self.flows[packet.flow.index()];
        flow.dropped += 1;
        flow.waiting -= 1;
        if flow.waiting == 0 {
            self.jain.advance(now, &self.gap);
            self.gap.left(packet.flow);
        }
    }

    #[inline]
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let starts = passage.starts();
        self.start_before(Nanos::MAX);
        let done = passage.done();
        self.last_end = self.last_end.max(done);
        self.latency.record(done - packet.arrival);
        let flow = &mut self.flows[packet.flow.index()];
        flow.sent += 1;
        flow.bytes += u64::from(packet.bytes);
        let all = if self.long.are_used() {
            self.serve_long(packet.flow, passage)
        } else {
            let times = passage.first_two();
            add_pair(&mut flow.service, times);
            times[0] + times[1]
        };
        self.longest_service = self.longest_service.max(all);
        if let Some(lines) = &mut self.lines {
            lines.sent(packet, passage, self.flows[packet.flow.index()].class);
        }
        if self.is_open_loop && starts == passage.released() {
            self.starts(starts, packet.flow, packet.demand.times());
        } else {
            self.starting = Some(Starting { at: starts, flow: packet.flow, demand: packet.demand });
        }
    }
}

impl Lines {
    fn new(resources: usize) -> Self {
        Self {
            busy: vec![Timeline::sums(); resources],
            gap: Timeline::maxima(),
            flows: Vec::new(),
            classes: Vec::new(),
        }
    }

    fn sent(&mut self, packet: &Packet, passage: &Passage, class: u32) {
        let starts = passage.start()[0];
        for (line, (&start, &end)) in self.busy.iter_mut().zip(passage.start().iter().zip(passage.end())) {
            line.spread(start, end);
        }
        let dominant = || packet.demand.dominant().as_f64();
        if let Some((service, bytes)) = self.flows.get_mut(packet.flow.index()) {
            service.add(starts, dominant());
            bytes.add(starts, f64::from(packet.bytes));
        }
        if let Some((_, line)) = self.classes.get_mut(class as usize) {
            line.add(starts, dominant());
        }
    }

    fn class(&mut self, name: &str) -> u32 {
        let at = self.classes.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.classes.push((name.to_owned(), Timeline::sums()));
            self.classes.len() - 1
        });
        at as u32
    }

    /// Converts all lines to the widest width of any.
    fn finish(self, labels: &[String]) -> Series {
        let all = self
            .busy
            .iter()
            .chain([&self.gap])
            .chain(self.flows.iter().flat_map(|(service, bytes)| [service, bytes]))
            .chain(self.classes.iter().map(|(_, line)| line));
        let width = all.map(Timeline::width).max().unwrap_or(Nanos(1));
        let bins = |line: Timeline| line.at_width(width);
        let per_bin = |line: Timeline| bins(line).into_iter().map(|busy| busy / width.as_f64()).collect();
        let (services, bytes): (Vec<_>, Vec<_>) = self.flows.into_iter().unzip();
        let named = |lines: Vec<Timeline>| labels.iter().cloned().zip(lines.into_iter().map(bins)).collect();
        Series {
            width,
            utilisation: self.busy.into_iter().map(per_bin).collect(),
            gap: bins(self.gap).into_iter().map(Nanos::from_f64).collect(),
            flows: named(services),
            flow_bytes: named(bytes),
            classes: self.classes.into_iter().map(|(name, line)| (name, bins(line))).collect(),
        }
    }
}
