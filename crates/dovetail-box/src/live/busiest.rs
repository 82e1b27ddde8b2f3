//! Which flows had the most of the box lately.
//!
//! Packets are counted by flow for a second, then the few with the most are kept and counting begins anew. A flow's place is
//! emptied by its first packet of a second, so that no more flows are gone through than had packets: O(1) a packet, over time.

use std::{cmp::Reverse, sync::Arc};

use dovetail_sched::{FlowId, Nanos, flow::FiveTuple};

/// How long packets are counted.
const COUNT_FOR: Nanos = Nanos::from_secs(1);
/// How many flows are kept.
pub const MOST_FLOWS: usize = 20;

/// The flows with the most of what they had most of, CPU or link, over the last whole second; at most [`MOST_FLOWS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Busiest {
    /// How long packets were counted.
    pub over: Nanos,
    /// How many flows there were packets of.
    pub active: usize,
    /// Those with the most first.
    pub flows: Vec<BusyFlow>,
}

/// What a flow had.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyFlow {
    /// Protocol, addresses and ports; `None` for what is not IP.
    pub tuple: Option<FiveTuple>,
    /// The id of its outer VLAN.
    pub vlan: Option<u16>,
    /// The class of its last packet.
    pub class: Arc<str>,
    /// What was counted.
    pub had: Had,
}

/// What was counted of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Had {
    /// Packets that left.
    pub sent: u64,
    /// Bytes of those, as they left.
    pub sent_bytes: u64,
    /// Packets that did not: refused or evicted, ended by their work, or too long.
    pub dropped: u64,
    /// Time of its packets' work.
    pub cpu: Nanos,
    /// Time that its packets took on the link.
    pub link: Nanos,
}

/// The counts.
#[derive(Debug, Default)]
pub(super) struct Activity {
    counts: Vec<Count>,
    /// Flows that had a packet in this second.
    active: Vec<FlowId>,
    second: u64,
    began: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Of which second it is; 0 for none.
    second: u64,
    had: Had,
}

impl Activity {
    pub(super) fn new(now: Nanos) -> Self {
        Self { began: now, ..Self::default() }
    }

    /// There is a flow of this id that was not there before.
    pub(super) fn appears(&mut self, flow: FlowId) {
        if self.counts.len() <= flow.index() {
            self.counts.resize(flow.index() + 1, Count::default());
        }
        self.counts[flow.index()].had = Had::default();
    }

    /// What a known flow had in this second, to add to.
    pub(super) fn of(&mut self, flow: FlowId) -> &mut Had {
        // Seconds count from 1.
        let second = self.second + 1;
        if self.counts.len() <= flow.index() {
            self.appears(flow);
        }
        let count = &mut self.counts[flow.index()];
        if count.second != second {
            *count = Count { second, had: Had::default() };
            self.active.push(flow);
        }
        &mut count.had
    }

    /// The flows with the most of the link or of all workers, once a second is over, which begins a new one. `name`: what a
    /// flow is, if it is still there.
    pub(super) fn tell(
        &mut self,
        now: Nanos,
        workers: u64,
        name: impl Fn(FlowId) -> Option<(Option<FiveTuple>, Option<u16>, Arc<str>)>,
    ) -> Option<Busiest> {
        let over = now - self.began;
        if over < COUNT_FOR {
            return None;
        }
        let counts = &self.counts;
        let most = |flow: &FlowId| {
            let had = counts[flow.index()].had;
            Reverse((Nanos(had.cpu.0 / workers.max(1)).max(had.link), had.sent_bytes, had.dropped))
        };
        let active = self.active.len();
        if active > MOST_FLOWS {
            self.active.select_nth_unstable_by_key(MOST_FLOWS, most);
            self.active.truncate(MOST_FLOWS);
        }
        self.active.sort_by_key(most);
        let flow = |&flow: &FlowId| {
            let (tuple, vlan, class) = name(flow)?;
            Some(BusyFlow { tuple, vlan, class, had: counts[flow.index()].had })
        };
        let flows = self.active.iter().filter_map(flow).collect();
        self.active.clear();
        self.second += 1;
        self.began = now;
        Some(Busiest { over, active, flows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nameless(flow: FlowId) -> Option<(Option<FiveTuple>, Option<u16>, Arc<str>)> {
        Some((None, Some(flow.0 as u16), "all".into()))
    }

    #[test]
    fn the_few_with_the_most_of_a_second_are_kept() {
        let mut activity = Activity::default();
        assert!(activity.tell(Nanos::from_millis(999), 1, nameless).is_none(), "it is not over");
        for flow in 0..1_000u32 {
            activity.appears(FlowId(flow));
            let had = activity.of(FlowId(flow));
            // What counts is what it had most of.
            if flow % 2 == 0 {
                // Of two workers, which are one CPU.
                had.cpu += Nanos(2 * u64::from(flow))
            } else {
                had.link += Nanos(flow.into())
            }
            had.sent += 1;
        }
        let told = activity.tell(Nanos::from_secs(1), 2, nameless).expect("a second is over");
        assert_eq!((told.active, told.flows.len(), told.over), (1_000, MOST_FLOWS, Nanos::from_secs(1)));
        let order: Vec<_> = told.flows.iter().map(|flow| flow.vlan.unwrap_or_default()).collect();
        assert_eq!(order, (980..1_000).rev().collect::<Vec<u16>>());

        activity.of(FlowId(3)).dropped += 1;
        let told = activity.tell(Nanos::from_millis(2_500), 1, nameless).expect("another second is over");
        assert_eq!((told.active, told.over), (1, Nanos::from_millis(1_500)));
        assert_eq!(size_of::<Count>(), 48, "as the book says");
        assert_eq!(told.flows[0].had, Had { dropped: 1, ..Had::default() }, "nothing of the second before");
    }

    #[test]
    fn an_id_that_names_another_flow_begins_anew() {
        let mut activity = Activity::default();
        activity.of(FlowId(0)).sent += 7;
        activity.appears(FlowId(0));
        activity.of(FlowId(0)).sent += 1;
        activity.of(FlowId(1)).sent += 1;
        let gone = |flow: FlowId| if flow.0 == 1 { None } else { nameless(flow) };
        let told = activity.tell(Nanos::from_secs(1), 1, gone).expect("a second is over");
        assert_eq!((told.active, told.flows.len(), told.flows[0].had.sent), (2, 1, 1));
    }
}
