//! Counters of a box, by class, worker and tunnel.

use dovetail_sched::Nanos;

/// Packets of a class so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Packets that arrived.
    pub arrived: u64,
    /// Bytes of those.
    pub arrived_bytes: u64,
    /// Packets sent.
    pub sent: u64,
    /// Bytes of those, as sent.
    pub sent_bytes: u64,
    /// Packets refused or evicted because queues were full.
    pub queue_full: u64,
    /// Packets dropped by a function, except for the two reasons that follow.
    pub ended_by_function: u64,
    /// Packets whose hop limit was exhausted.
    pub hop_limit: u64,
    /// Packets without a route to their destination.
    pub no_route: u64,
    /// Packets dropped by the program: it refused them, failed on them, or was quarantined.
    pub ended_by_program: u64,
    /// Packets that had become too long for the interface.
    pub too_long: u64,
    /// Packets lost because the bridge took over, or the box did not run for long, while they were queued or processed.
    pub lapsed: u64,
    /// Processing time, as counted for the CPU that the policy schedules.
    pub cpu: Nanos,
    /// Packets whose processing was preempted while it was measured.
    pub preempted: u64,
    /// Sum of the times from arrival to the start of transmission on the link.
    pub waited: Nanos,
    /// Sum of the times from arrival to the end of transmission on the link, in nanoseconds.
    pub latency_nanos: u128,
    /// Outcomes of the class's program.
    pub programs: ProgramCounters,
}

impl ClassCounters {
    /// Dropped packets, by reason.
    #[must_use]
    pub const fn dropped_by(&self) -> [(&'static str, u64); 7] {
        [
            ("queue_full", self.queue_full),
            ("function", self.ended_by_function),
            ("hop_limit", self.hop_limit),
            ("no_route", self.no_route),
            ("program", self.ended_by_program),
            ("too_long", self.too_long),
            ("lapse", self.lapsed),
        ]
    }

    /// Number of dropped packets.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_by().into_iter().map(|(_, count)| count).sum()
    }
}

/// Outcomes of a class's program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramCounters {
    /// Packets that it dropped.
    pub refused: u64,
    /// Packets on which it trapped.
    pub trapped: u64,
    /// Packets that ran out of fuel.
    pub out_of_fuel: u64,
    /// Packets for which it returned an invalid answer.
    pub bad_answers: u64,
    /// Packets that arrived while it was quarantined.
    pub quarantined: u64,
    /// Packets that were forwarded without it because the program does not exist.
    pub missing: u64,
}

impl ProgramCounters {
    /// Adds the counters of another worker.
    pub(super) fn add(&mut self, more: &Self) {
        self.refused += more.refused;
        self.trapped += more.trapped;
        self.out_of_fuel += more.out_of_fuel;
        self.bad_answers += more.bad_answers;
        self.quarantined += more.quarantined;
        self.missing += more.missing;
    }

    /// Packets that the program did not process as intended, by outcome.
    #[must_use]
    pub const fn by_outcome(&self) -> [(&'static str, u64); 6] {
        [
            ("refused", self.refused),
            ("trapped", self.trapped),
            ("out_of_fuel", self.out_of_fuel),
            ("bad_answer", self.bad_answers),
            ("quarantined", self.quarantined),
            ("missing", self.missing),
        ]
    }

    /// Packets on which it failed.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.trapped + self.out_of_fuel + self.bad_answers
    }
}

/// Counters of a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    /// Packets processed.
    pub worked: u64,
    /// Processing time, as counted for the CPU that the policy schedules.
    pub cpu: Nanos,
    /// Packets whose processing was preempted while it was measured.
    pub preempted: u64,
}

/// Packets of a decrypted tunnel so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TunnelCounters {
    /// Packets decrypted and forwarded.
    pub decrypted: u64,
    /// Packets that were not encrypted with its key, or were modified since.
    pub authentication: u64,
    /// Packets whose sequence number had been seen already, or was older than the window.
    pub replay: u64,
    /// Packets that were fragments or inconsistent.
    pub malformed: u64,
    /// Packets with a source outside the tunnel's prefixes.
    pub not_allowed: u64,
    /// Packets that routers marked for congestion, from a sender that cannot be told of it.
    pub congestion: u64,
    /// Packets that had a route but whose hop limit was exhausted.
    pub hop_limit: u64,
    /// Dummy packets, which conceal the traffic volume.
    pub dummy: u64,
}

impl TunnelCounters {
    /// Dropped packets, by reason.
    #[must_use]
    pub const fn dropped_by(&self) -> [(&'static str, u64); 7] {
        [
            ("authentication", self.authentication),
            ("replay", self.replay),
            ("malformed", self.malformed),
            ("not_allowed", self.not_allowed),
            ("congestion", self.congestion),
            ("hop_limit", self.hop_limit),
            ("dummy", self.dummy),
        ]
    }
}

/// Outcomes of frames that count for no class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Frames inconsistent with their metadata from the interface, and long ones in tunnels of unknown kinds.
    pub malformed: u64,
    /// Packets for which the flow table was full.
    pub no_flow: u64,
    /// How often the box was so late that the bridge took over, or that what it held was stale.
    pub lapses: u64,
}
