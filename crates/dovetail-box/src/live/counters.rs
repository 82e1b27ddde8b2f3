//! What a box has done, by class, worker and tunnel.

use dovetail_sched::Nanos;

/// Packets of a class so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// That arrived.
    pub arrived: u64,
    /// Bytes of those.
    pub arrived_bytes: u64,
    /// That left.
    pub sent: u64,
    /// Bytes of those, as they left.
    pub sent_bytes: u64,
    /// That found no room in the queues, or lost it to others.
    pub queue_full: u64,
    /// That a function ended, but for the two reasons that follow.
    pub ended_by_function: u64,
    /// That had been through as many routers as they may.
    pub hop_limit: u64,
    /// To whose destination there is no route.
    pub no_route: u64,
    /// That the program ended: it refused them, failed on them, or was in quarantine.
    pub ended_by_program: u64,
    /// That had become too long for the interface.
    pub too_long: u64,
    /// That were queued or worked on when the bridge took over, and were lost.
    pub lapsed: u64,
    /// Time of their work, as the CPU that the policy shares out counts it.
    pub cpu: Nanos,
    /// Packets whose work was interrupted while it was timed.
    pub preempted: u64,
    /// Sum of the times between arrival and the start on the link.
    pub waited: Nanos,
    /// Sum of the times between arrival and the end on the link, in nanoseconds.
    pub latency_nanos: u128,
    /// What became of them in the program of the class.
    pub programs: ProgramCounters,
}

impl ClassCounters {
    /// Packets that were dropped, by reason.
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

    /// Packets that were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_by().into_iter().map(|(_, count)| count).sum()
    }
}

/// What became of a class's packets in its program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgramCounters {
    /// Packets that it had dropped.
    pub refused: u64,
    /// Packets on which it trapped.
    pub trapped: u64,
    /// Packets for which its fuel did not suffice.
    pub out_of_fuel: u64,
    /// Packets to which it gave an answer that is none.
    pub bad_answers: u64,
    /// Packets that came while it was in quarantine.
    pub quarantined: u64,
    /// Packets that went on without it, since there is no such program.
    pub missing: u64,
}

impl ProgramCounters {
    /// Those of another worker as well.
    pub(super) fn add(&mut self, more: &Self) {
        self.refused += more.refused;
        self.trapped += more.trapped;
        self.out_of_fuel += more.out_of_fuel;
        self.bad_answers += more.bad_answers;
        self.quarantined += more.quarantined;
        self.missing += more.missing;
    }

    /// Packets on which it failed.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.trapped + self.out_of_fuel + self.bad_answers
    }
}

/// What a worker has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    /// Packets that it has worked on.
    pub worked: u64,
    /// Time of that, as the CPU that the policy shares out counts it.
    pub cpu: Nanos,
    /// Packets whose work was interrupted while it was timed.
    pub preempted: u64,
}

/// Packets of a tunnel that is decrypted, so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TunnelCounters {
    /// That were decrypted and went on.
    pub decrypted: u64,
    /// That were not encrypted with its key, or were changed since.
    pub authentication: u64,
    /// Whose sequence number had come already, or was too old to tell.
    pub replay: u64,
    /// That were fragments, or contradicted themselves.
    pub malformed: u64,
    /// Whose source is none of those that the tunnel is for.
    pub not_allowed: u64,
    /// That routers marked for congestion, of a sender that cannot be told of it.
    pub congestion: u64,
    /// That had a route, and had been through as many routers as they may.
    pub hop_limit: u64,
    /// That hide how much traffic there is, and hold nothing.
    pub dummy: u64,
}

impl TunnelCounters {
    /// Packets that were dropped, by reason.
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

/// What became of frames that are no packets of any class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Frames that contradict what the interface says of them, and long ones in tunnels of unknown kinds.
    pub malformed: u64,
    /// Packets for which the flow table had no place.
    pub no_flow: u64,
    /// How often the bridge took over because the box came too late.
    pub lapses: u64,
}
