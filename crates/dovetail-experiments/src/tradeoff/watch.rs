//! Observes a run for the figures: each resource and each flow, second by second.

use dovetail_sched::{FlowId, Nanos, Packet};
use dovetail_sim::{Observer, Passage, Profile, measure::latency::Latency};

const SECOND: u64 = 1_000_000_000;

/// Observer of a run with two resources.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Nanoseconds that each resource was busy, per second.
    busy: [Vec<f64>; 2],
    pub(super) flows: Vec<FlowWatch>,
    pub(super) latency: Latency,
    pub(super) arrived: u64,
    pub(super) dropped: u64,
    first_arrival: Option<Nanos>,
    last_end: Nanos,
    /// When the last packet arrives, and the nanoseconds that each resource was busy until then.
    arrivals_end: Nanos,
    busy_under_load: [f64; 2],
}

/// One flow.
#[derive(Debug, Clone, Default)]
pub(super) struct FlowWatch {
    pub(super) class: String,
    pub(super) arrived: u64,
    pub(super) bytes_arrived: u64,
    pub(super) dropped: u64,
    /// Latency of the packets sent.
    pub(super) latency: Moments,
    /// Part of it between CPU and link.
    pub(super) link_wait: Moments,
    /// When the last packet ended.
    pub(super) done: Nanos,
    /// Nanoseconds on its dominant resource, per second.
    dominant: Vec<f64>,
    waiting: u64,
    /// Seconds in which nothing was waiting at some time.
    dry: Vec<bool>,
    dry_since: Option<Nanos>,
}

/// Mean and standard deviation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub(super) count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut moments = Self::default();
        for value in values {
            moments.add(value);
        }
        moments
    }

    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count
    }

    pub(super) fn deviation(&self) -> f64 {
        (self.squares / self.count - self.mean().powi(2)).max(0.0).sqrt()
    }
}

impl Watch {
    /// For a run whose last packet arrives at `arrivals_end`.
    pub(super) fn until(arrivals_end: Nanos) -> Self {
        Self { arrivals_end, ..Self::default() }
    }

    /// First arrival to last end.
    pub(super) fn makespan(&self) -> Nanos {
        self.last_end - self.first_arrival.unwrap_or_default()
    }

    /// Fraction of each second that the resource was busy, 0 to 1; for the last one, of the part that the run lasted.
    pub(super) fn utilisation(&self, resource: usize) -> Vec<f64> {
        let busy = self.busy[resource].iter().enumerate();
        let lasted = |second: usize| (self.last_end.0.saturating_sub(second as u64 * SECOND)).clamp(1, SECOND);
        busy.map(|(second, busy)| busy / lasted(second) as f64).collect()
    }

    /// Fraction of the makespan that the resource was busy.
    pub(super) fn mean_utilisation(&self, resource: usize) -> f64 {
        self.busy[resource].iter().sum::<f64>() / self.makespan().as_f64()
    }

    /// Fraction of the time with arrivals that the resource was busy.
    pub(super) fn utilisation_under_load(&self, resource: usize) -> f64 {
        self.busy_under_load[resource] / (self.arrivals_end - self.first_arrival.unwrap_or_default()).as_f64()
    }

    /// The mean of [`utilisation`](Self::utilisation) over whole seconds.
    pub(super) fn utilisation_between(&self, resource: usize, seconds: std::ops::Range<usize>) -> f64 {
        let busy = seconds.clone().map(|second| self.busy[resource].get(second).copied().unwrap_or(0.0));
        busy.sum::<f64>() / (seconds.len() as f64 * SECOND as f64)
    }

    /// The flows of a class.
    pub(super) fn of_class<'a>(&'a self, class: &'a str) -> impl Iterator<Item = &'a FlowWatch> {
        self.flows.iter().filter(move |flow| flow.class == class)
    }

    /// Fraction of the packets that were dropped.
    pub(super) fn drop_rate(&self) -> f64 {
        self.dropped as f64 / self.arrived as f64
    }
}

impl FlowWatch {
    /// Fraction of a second that the flow occupied its dominant resource.
    pub(super) fn share(&self, second: usize) -> f64 {
        self.dominant.get(second).copied().unwrap_or(0.0) / SECOND as f64
    }

    /// The mean share over whole seconds.
    pub(super) fn mean_share(&self, seconds: std::ops::Range<usize>) -> f64 {
        let count = seconds.len() as f64;
        seconds.map(|second| self.share(second)).sum::<f64>() / count
    }

    /// Whether a packet was waiting at every moment of these seconds.
    pub(super) fn backlogged(&self, seconds: std::ops::Range<usize>) -> bool {
        let dry_since = self.dry_since.is_some_and(|since| since < Nanos(seconds.end as u64 * SECOND));
        !dry_since && !seconds.into_iter().any(|second| self.dry.get(second).copied().unwrap_or(false))
    }

    fn left(&mut self, now: Nanos) {
        self.waiting -= 1;
        if self.waiting == 0 {
            self.dry_since = Some(now);
        }
    }

    fn joined(&mut self, now: Nanos) {
        self.waiting += 1;
        let Some(since) = self.dry_since.take().filter(|&since| since < now) else { return };
        let (from, to) = ((since.0 / SECOND) as usize, (now.0 / SECOND) as usize);
        if self.dry.len() <= to {
            self.dry.resize(to + 1, false);
        }
        self.dry[from..=to].fill(true);
    }
}

/// Adds each second's part of the time from `start` to `end`, in nanoseconds.
fn spread(seconds: &mut Vec<f64>, start: Nanos, end: Nanos) {
    let (first, last) = ((start.0 / SECOND) as usize, (end.0 / SECOND) as usize);
    if seconds.len() <= last {
        seconds.resize(last + 1, 0.0);
    }
    for (second, amount) in seconds.iter_mut().enumerate().take(last + 1).skip(first) {
        let from = start.0.max(second as u64 * SECOND);
        let to = end.0.min((second as u64 + 1) * SECOND);
        *amount += (to - from) as f64;
    }
}

impl Observer for Watch {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.flows.len() {
            // Before its first packet, nothing waits.
            let new = FlowWatch { dry_since: Some(Nanos::ZERO), ..FlowWatch::default() };
            self.flows.resize(flow.index() + 1, new);
        }
        self.flows[flow.index()].class = profile.class.unwrap_or_default().to_owned();
    }

    fn arrived(&mut self, packet: &Packet) {
        self.first_arrival.get_or_insert(packet.arrival);
        self.arrived += 1;
        let flow = &mut self.flows[packet.flow.index()];
        flow.arrived += 1;
        flow.bytes_arrived += u64::from(packet.bytes);
        flow.joined(packet.arrival);
    }

    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.dropped += 1;
        let flow = &mut self.flows[packet.flow.index()];
        flow.dropped += 1;
        flow.left(now);
    }

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        let latency = passage.done() - packet.arrival;
        self.latency.record(latency);
        self.last_end = self.last_end.max(passage.done());
        let times = packet.demand.times();
        let dominant = usize::from(times[1] > times[0]);
        let flow = &mut self.flows[packet.flow.index()];
        flow.latency.add(latency.as_f64());
        flow.link_wait.add((passage.start()[1] - passage.end()[0]).as_f64());
        flow.done = passage.done();
        flow.left(passage.start()[0]);
        spread(&mut flow.dominant, passage.start()[dominant], passage.end()[dominant]);
        for (j, busy) in self.busy.iter_mut().enumerate() {
            spread(busy, passage.start()[j], passage.end()[j]);
            let [start, end] = [passage.start()[j], passage.end()[j]].map(|at| at.min(self.arrivals_end));
            self.busy_under_load[j] += (end - start).as_f64();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_sched::{Limits, PolicySpec, Setup};
    use dovetail_sim::{
        Options, PipelineMode, simulate,
        workload::{Csv, CsvOptions},
    };

    /// Flow a needs the link most, flow b the CPU; b's second packet arrives when nothing has been waiting for a second.
    fn watched() -> Watch {
        let table = "arrival_ns,flow,bytes,cpu_ns,link_ns\n\
                     0,a,100,500000000,1000000000\n\
                     0,a,100,500000000,1000000000\n\
                     0,b,100,500000000,100000000\n\
                     3400000000,b,100,200000000,100000000\n";
        let table = Box::new(std::io::Cursor::new(table.as_bytes().to_vec()));
        let mut workload = Csv::open(table, "table", CsvOptions::default()).unwrap();
        let mut policy = "fifo".parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
        let mut watch = Watch::until(Nanos(3_400_000_000));
        simulate(&mut workload, &mut policy, PipelineMode::Unbounded, &mut watch, Options::default()).unwrap();
        watch
    }

    #[test]
    fn seconds_add_up() {
        // CPU 0-0.5-1-1.5, 3.4-3.6; link 0.5-1.5-2.5-2.6, 3.6-3.7.
        let watch = watched();
        let near = |got: Vec<f64>, want: &[f64]| {
            assert_eq!(got.len(), want.len(), "{got:?}");
            for (got, want) in got.iter().zip(want) {
                assert!((got - want).abs() < 1e-12, "{got} instead of {want}");
            }
        };
        near(watch.utilisation(0), &[1.0, 0.5, 0.0, 0.2 / 0.7]);
        near(watch.utilisation(1), &[0.5, 1.0, 0.6, 0.1 / 0.7]);
        near((0..4).map(|second| watch.flows[0].share(second)).collect(), &[0.5, 1.0, 0.5, 0.0]);
        near((0..4).map(|second| watch.flows[1].share(second)).collect(), &[0.0, 0.5, 0.0, 0.2]);
        near(vec![watch.mean_utilisation(0)], &[1.7 / 3.7]);
        near(vec![watch.utilisation_between(1, 0..2)], &[0.75]);
        near(vec![watch.utilisation_under_load(0)], &[1.5 / 3.4]);
        // Flow 0's second packet waits from 1 to 1.5 s for the link.
        near(vec![watch.flows[0].link_wait.mean()], &[0.25e9]);
    }

    #[test]
    fn what_runs_dry_is_noticed() {
        let watch = watched();
        // The last packet of flow 0 starts at 0.5 s, of flow 1 at 1 s and then not before 3.4 s.
        assert!(!watch.flows[0].backlogged(0..1) && !watch.flows[0].backlogged(2..3));
        assert!(watch.flows[1].backlogged(0..1) && !watch.flows[1].backlogged(0..2));
        assert!(!watch.flows[1].backlogged(2..3));
    }

    #[test]
    fn moments_are_those_of_a_table() {
        let moments = Moments::of([1.0, 2.0, 3.0, 4.0]);
        assert_eq!(moments.mean(), 2.5);
        assert!((moments.deviation() - 1.25f64.sqrt()).abs() < 1e-12);
    }
}
