//! Prometheus metrics, copied from the box's own counters. Flows are not labels: they come and go.

use std::{fmt::Error, sync::Arc};

use dovetail_admin::{
    Process,
    metrics::{self, Durations, Families, Labels, NOTHING},
};
use dovetail_sched::Nanos;
use dovetail_stats::Histogram;
use prometheus_client::{collector::Collector, encoding::DescriptorEncoder, registry::Unit};

use super::{sample::Sample, status::SIDES};
use crate::{
    live::{ClassCounters, PortCounters, Status},
    node::Cause,
};

/// Bounds of the latency histogram's buckets, in nanoseconds.
const BUCKETS_NS: [u64; 18] = [
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    10_000_000_000,
];

/// Values for one scrape.
#[derive(Debug)]
pub(super) struct Scrape {
    status: Status,
    now: Nanos,
    /// The last second.
    sample: Option<Sample>,
    latencies: Vec<Durations>,
}

/// Encodes the metrics for a scrape.
pub(super) fn encode(scrape: Scrape) -> Result<String, Error> {
    metrics::encode("dovetail_middlebox", scrape)
}

impl Scrape {
    pub(super) fn new(status: Status, now: Nanos, sample: Option<&Sample>) -> Self {
        let of_class = |(histogram, (_, counters)): (&Histogram, &(Arc<str>, ClassCounters))| {
            durations(histogram, counters.latency_nanos)
        };
        let latencies = status.latencies.iter().zip(&status.classes).map(of_class).collect();
        Self { latencies, status, now, sample: sample.cloned() }
    }
}

fn durations(histogram: &Histogram, sum_nanos: u128) -> Durations {
    let mut below = 0;
    let bounds = BUCKETS_NS.into_iter().map(|bound| (bound as f64 / 1e9, histogram.within(bound)));
    let bounds = bounds.chain([(f64::INFINITY, histogram.count())]);
    let buckets = bounds.map(|(bound_s, within)| {
        let own = within - below;
        below = within;
        (bound_s, own)
    });
    Durations { buckets: buckets.collect(), sum_s: sum_nanos as f64 / 1e9, count: histogram.count() }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut families = Families::new(encoder);
        self.servers(&mut families)?;
        self.packets(&mut families)?;
        self.waiting(&mut families)?;
        self.interfaces(&mut families)?;
        families.process(Process::own())?;
        let uptime = (self.now - self.status.started).as_secs_f64();
        families.gauge("uptime", "Time since the box began", Some(Unit::Seconds), [(NOTHING, uptime)])?;
        let told = (self.now - self.status.at).as_secs_f64();
        let help = "Time since the box last told what it has counted: it does every 0.2 s";
        families.gauge("told_ago", help, Some(Unit::Seconds), [(NOTHING, told)])
    }
}

impl Scrape {
    fn classes(&self) -> impl Iterator<Item = (Labels<'_, 1>, &ClassCounters)> {
        self.status.classes.iter().map(|(name, counters)| (class_label(name), counters))
    }

    fn numbered(&self) -> impl Iterator<Item = (u16, &str)> {
        self.status.classes.iter().enumerate().map(|(at, (name, _))| (at as u16, &**name))
    }

    fn servers(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let (figures, seconds) = (&self.status.figures, Some(Unit::Seconds));
        let busy = [("cpu", figures.cpu_busy), ("link", figures.link_busy)];
        let busy = busy.map(|(server, time)| ([("server", server)], time.as_secs_f64()));
        to.counter(
            "busy",
            "How long a server was taken by packets; of the CPU, the sum over workers",
            seconds.clone(),
            busy,
        )?;
        let blocked = [(NOTHING, figures.cpu_blocked.as_secs_f64())];
        let help = "How long the CPU stood still because its packet found no room before the link";
        to.counter("cpu_blocked", help, seconds.clone(), blocked)?;
        let help = "Time of CPU and link that was lost because the box came too late";
        to.counter("late", help, seconds.clone(), [(NOTHING, figures.late.as_secs_f64())])?;
        let help = "How often the box came so late that the bridge took over, or what it held was stale";
        to.counter("lapses", help, None, [(NOTHING, self.status.oddities.lapses)])?;
        let used = self.sample.iter().flat_map(|sample| {
            let names = || self.status.classes.iter().map(|(name, _)| &**name);
            let of = |server, parts: &[f64]| {
                let members: Vec<_> = names().zip(parts.iter().copied()).collect();
                members.into_iter().map(move |(class, part)| ([("class", class), ("server", server)], part))
            };
            of("cpu", sample.cpu()).chain(of("link", sample.link()))
        });
        let help = "The class's part of the server's time in the last second, 0 to 1";
        to.gauge("utilisation_ratio", help, None, used)?;
        let of_classes = self.numbered().flat_map(|(number, class)| {
            let waited = &self.status.waited;
            [("cpu", waited.on_cpu(number)), ("link", waited.on_link(number))]
                .map(|(server, time)| ([("class", class), ("server", server)], time.as_secs_f64()))
        });
        to.counter("served", "How long a server was taken by packets of a class", seconds, of_classes)?;
        let numbers: Vec<_> = (0..self.status.workers.len()).map(|number| number.to_string()).collect();
        let workers = || numbers.iter().map(|number| [("worker", &**number)]).zip(&self.status.workers);
        let busy = workers().map(|(label, worker)| (label, worker.cpu.as_secs_f64()));
        to.counter("worker_busy", "How long a worker was taken by packets", Some(Unit::Seconds), busy)?;
        let worked = workers().map(|(label, worker)| (label, worker.worked));
        to.counter("worker_packets", "Packets that a worker has worked on", None, worked)?;
        let preempted = workers().map(|(label, worker)| (label, worker.preempted));
        let help = "Packets whose work was interrupted while it was timed, by worker";
        to.counter("worker_preempted_packets", help, None, preempted)?;
        let share = [(NOTHING, self.status.cpu_share)];
        to.gauge("cpu_share_ratio", "The part of a CPU that functions have, as configured", None, share)?;
        let rate = self.status.link_rate.map(|rate| (NOTHING, rate.bps()));
        to.gauge("link_rate_bits_per_second", "The link's rate, as configured", None, rate)
    }

    fn packets(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let arrived = self.classes().map(|(label, class)| (label, class.arrived));
        to.counter("arrived_packets", "Packets that arrived to be scheduled", None, arrived)?;
        let arrived = self.classes().map(|(label, class)| (label, class.arrived_bytes));
        to.counter("arrived", "Bytes of packets that arrived to be scheduled", Some(Unit::Bytes), arrived)?;
        let sent = self.classes().map(|(label, class)| (label, class.sent));
        to.counter("sent_packets", "Packets that were handed to the interface", None, sent)?;
        let sent = self.classes().map(|(label, class)| (label, class.sent_bytes));
        to.counter("sent", "Bytes of packets that were handed to the interface", Some(Unit::Bytes), sent)?;
        let dropped = self.status.classes.iter().flat_map(|(name, class)| {
            class.dropped_by().map(|(reason, count)| ([("class", &**name), ("reason", reason)], count))
        });
        to.counter("dropped_packets", "Packets that were dropped, by reason", None, dropped)?;
        let outcomes = self.status.classes.iter().flat_map(|(name, class)| {
            class.programs.by_outcome().map(|(outcome, count)| ([("class", &**name), ("outcome", outcome)], count))
        });
        let help =
            "Packets that the class's program refused, failed on, or did not see: it was quarantined or is missing";
        to.counter("program_packets", help, None, outcomes)?;
        let help = "Packets for which the flow table had no place";
        to.counter("no_flow_packets", help, None, [(NOTHING, self.status.oddities.no_flow)])?;
        let help = "Frames that contradict what the interface says of them, and long ones in tunnels of unknown kinds";
        to.counter("malformed_frames", help, None, [(NOTHING, self.status.oddities.malformed)])?;
        let answers = self.status.answers.by_kind();
        let sent = answers.map(|(kind, answers)| ([("reason", kind)], answers.sent));
        to.counter("icmp_errors_sent", "ICMP errors to senders of packets that ended here", None, sent)?;
        let limited = answers.map(|(kind, answers)| ([("reason", kind)], answers.limited));
        let help = "Packets whose senders got no ICMP error, since too many were sent";
        to.counter("icmp_errors_limited", help, None, limited)?;
        let tunnels = || self.status.tunnels.iter().map(|(name, tunnel)| (&**name, tunnel));
        let decrypted = tunnels().map(|(name, tunnel)| ([("tunnel", name)], tunnel.decrypted));
        to.counter("tunnel_decrypted_packets", "Packets of a tunnel that were decrypted", None, decrypted)?;
        let dropped = tunnels().flat_map(|(name, tunnel)| {
            tunnel.dropped_by().map(|(reason, count)| ([("tunnel", name), ("reason", reason)], count))
        });
        let help = "Packets of a tunnel that were not let in, by reason";
        to.counter("tunnel_dropped_packets", help, None, dropped)?;
        let preempted = self.classes().map(|(label, class)| (label, class.preempted));
        let help = "Packets whose work was interrupted while it was timed";
        to.counter("preempted_packets", help, None, preempted)?;
        let latency = self.status.classes.iter().map(|(name, _)| class_label(name)).zip(&self.latencies);
        let help = "From a packet's arrival to the end of its time on the link; bounds are exact to 1 %";
        to.histogram("latency", help, latency)
    }

    fn waiting(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let waited = &self.status.waited;
        let now = self.numbered().flat_map(|(number, class)| {
            [("cpu", waited.waiting_before_cpu(number)), ("link", waited.waiting_before_link(number))]
                .map(|(server, count)| ([("class", class), ("server", server)], count))
        });
        to.gauge("waiting_packets", "Packets that wait for a server", None, now)?;
        let queued = [(NOTHING, self.status.backlog.bytes)];
        to.gauge("queued", "Bytes that are queued for the CPU", Some(Unit::Bytes), queued)?;
        to.gauge("flows", "Flows that are known", None, [(NOTHING, self.status.flows as u64)])?;
        let behind = self.numbered().flat_map(|(number, class)| {
            self.numbered().flat_map(move |(other, behind)| {
                let cause = Cause::Class(other);
                [("cpu", waited.before_cpu(number, cause)), ("link", waited.before_link(number, cause))]
                    .map(|(server, nanos)| (class, behind, server, nanos))
            })
        });
        // With many classes, most pairs never occur.
        let met = behind.filter(|&(class, behind, _, nanos)| nanos > 0 || class == behind);
        let met = met.map(|(class, behind, server, nanos)| {
            ([("class", class), ("server", server), ("behind", behind)], nanos as f64 / 1e9)
        });
        let help =
            "How long packets of a class waited for a server while it was taken by packets of another or the same";
        to.counter("waited_behind", help, Some(Unit::Seconds), met)?;
        let otherwise = self.numbered().flat_map(|(number, class)| {
            [
                ("cpu", "stalled", waited.before_cpu(number, Cause::Stalled)),
                ("cpu", "held", waited.before_cpu(number, Cause::Held)),
                ("cpu", "late", waited.before_cpu(number, Cause::Late)),
                ("link", "late", waited.before_link(number, Cause::Late)),
            ]
            .map(|(server, on, nanos)| ([("class", class), ("server", server), ("on", on)], nanos as f64 / 1e9))
        });
        let help = "How long packets of a class waited for a server that was taken by none";
        to.counter("waited", help, Some(Unit::Seconds), otherwise)
    }

    fn interfaces(&self, to: &mut Families<'_>) -> Result<(), Error> {
        let each = |count: fn(&PortCounters) -> u64| {
            SIDES.into_iter().zip(&self.status.ports).map(move |(side, port)| ([("side", side)], count(port)))
        };
        to.counter(
            "interface_received_frames",
            "Frames that an interface handed over",
            None,
            each(|port| port.received),
        )?;
        to.counter("interface_sent_frames", "Frames that left on an interface", None, each(|port| port.sent))?;
        let bytes = each(|port| port.sent_bytes);
        to.counter("interface_sent", "Bytes of frames that left on an interface", Some(Unit::Bytes), bytes)?;
        let refused = each(|port| port.refused);
        to.counter(
            "interface_refused_frames",
            "Frames that were to leave and that an interface refused",
            None,
            refused,
        )?;
        let help = "Frames that arrived and were lost before the box saw them";
        to.counter("interface_missed_frames", help, None, each(|port| port.missed))
    }
}

fn class_label(name: &str) -> Labels<'_, 1> {
    [("class", name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_counted_once_each() {
        let mut histogram = Histogram::fixed(100_000_000_000);
        let samples = [9_000, 10_000, 11_000, 600_000, 99_000_000_000];
        samples.into_iter().for_each(|sample| histogram.record(sample));
        let durations = durations(&histogram, samples.into_iter().map(u128::from).sum());
        let counts: Vec<_> = durations.buckets.iter().filter(|bucket| bucket.1 > 0).copied().collect();
        assert_eq!(counts, [(1e-5, 2), (2.5e-5, 1), (1e-3, 1), (f64::INFINITY, 1)]);
        assert_eq!((durations.count, durations.sum_s), (5, 99.00063));
    }
}
