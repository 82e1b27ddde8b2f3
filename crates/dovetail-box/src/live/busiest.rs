//! The flows that recently used most of the box.
//!
//! Packets are counted per flow for a second; then the top few flows are kept and counting restarts. A flow's entry is
//! reset by its first packet of a second, so that only flows with packets are visited: amortised O(1) per packet.

use std::{cmp::Reverse, sync::Arc};

use dovetail_sched::{FlowId, Nanos, flow::FiveTuple};

/// Length of a counting period.
const COUNT_FOR: Nanos = Nanos::from_secs(1);
/// Number of flows kept.
pub const MAX_FLOWS: usize = 20;

/// The flows with the largest share of CPU or link, whichever is larger, over the last whole second; at most [`MAX_FLOWS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Busiest {
    /// Length of the counting period.
    pub over: Nanos,
    /// Number of flows that had packets.
    pub active: usize,
    /// The busiest flows, in descending order.
    pub flows: Vec<BusyFlow>,
}

/// Usage of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct BusyFlow {
    /// Protocol, addresses and ports; `None` if it is not IP.
    pub tuple: Option<FiveTuple>,
    /// VLAN id of the outer tag.
    pub vlan: Option<u16>,
    /// The class of its last packet.
    pub class: Arc<str>,
    /// Its counts.
    pub had: Had,
}

/// Counts of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Had {
    /// Packets sent.
    pub sent: u64,
    /// Bytes of those, as sent.
    pub sent_bytes: u64,
    /// Packets dropped: refused or evicted, dropped by their functions, or too long.
    pub dropped: u64,
    /// Processing time of its packets.
    pub cpu: Nanos,
    /// Time of its packets on the link.
    pub link: Nanos,
}

/// Per-flow counts of the current second.
#[derive(Debug, Default)]
pub(super) struct Activity {
    counts: Vec<Count>,
    /// Flows that had a packet in the current second.
    active: Vec<FlowId>,
    second: u64,
    began: Nanos,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// The second that the counts belong to; 0 for none.
    second: u64,
    had: Had,
}

impl Activity {
    pub(super) fn new(now: Nanos) -> Self {
        Self { began: now, ..Self::default() }
    }

    /// Registers a new flow with this id.
    pub(super) fn appears(&mut self, flow: FlowId) {
        if self.counts.len() <= flow.index() {
            self.counts.resize(flow.index() + 1, Count::default());
        }
        self.counts[flow.index()].had = Had::default();
    }

    /// The counts of a known flow in the current second, for updating.
    pub(super) fn of(&mut self, flow: FlowId) -> &mut Had {
        // Seconds are numbered from 1.
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

    /// Once a second is over, the flows with the largest share of the link or of all workers; starts a new second. `name`
    /// identifies a flow, if it still exists.
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
        if active > MAX_FLOWS {
            self.active.select_nth_unstable_by_key(MAX_FLOWS, most);
            self.active.truncate(MAX_FLOWS);
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
            // Flows are ranked by the resource that they used most.
            if flow % 2 == 0 {
                // Two workers count as one CPU.
                had.cpu += Nanos(2 * u64::from(flow))
            } else {
                had.link += Nanos(flow.into())
            }
            had.sent += 1;
        }
        let told = activity.tell(Nanos::from_secs(1), 2, nameless).expect("a second is over");
        assert_eq!((told.active, told.flows.len(), told.over), (1_000, MAX_FLOWS, Nanos::from_secs(1)));
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
