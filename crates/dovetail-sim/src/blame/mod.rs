//! Who made a packet wait.
//!
//! A packet is in the box from its arrival `a` to its end `e` on the last resource. At every instant in between it is
//! either processed by a resource or it waits before one, and while it waits before resource `j`, that resource is in
//! one of three states:
//!
//! | resource `j` | the waiting packet's time goes to |
//! |---|---|
//! | processes a packet of flow `g` | `g`: *same flow* if it is the packet's own, otherwise *behind* it |
//! | is taken by a packet that waits for another resource: blocked by a full buffer, or released and, with no-wait, not started yet | *stalled* |
//! | is free, and the scheduler chose no packet | *held* |
//!
//! So the latency is divided without remainder, to the nanosecond:
//!
//! ```text
//! e - a = sum_j own_j + same + sum_{g != f} behind_g + stalled + held
//! ```
//!
//! For each resource `j` let `B_j(g, t)` be how long it has been in the state `g` by time `t`. A packet that waits before
//! `j` from `t1` to `t2` owes `B_j(g, t2) - B_j(g, t1)` of its time to `g`: one subtraction of a vector as it begins to
//! wait, one addition as it starts. The states have a *column* each: held, stalled, one for each of the first flows,
//! and one for all later flows of a class ([`Columns`](columns::Columns)), so that a vector is short however many flows
//! there are. What a flow is served is counted besides for each flow, which makes *same* exact for all.
//!
//! An [`Observer`] is told of a packet's passage when it is released, before it happens, and in order of release, while
//! packets may overtake each other between resources. Each resource therefore keeps what is still to come in order of
//! time, and takes it into account when nothing earlier can be told any more.
//!
//! | file | what |
//! |---|---|
//! | `columns` | to which column a flow's service is charged |
//! | `place` | a resource, over time |
//! | `slots` | packets in the box, and what they owe to whom so far |
//! | `row` | sums over packets |
//! | `slowest` | the packets that took longest |
//! | `transfers` | the same of transfers over TCP, of which many packets are in flight at once |
//!
//! Cost: O(columns) a packet for each resource that it waits before; memory for each packet in the box 8 bytes a column.

mod columns;
mod place;
mod row;
mod slots;
mod slowest;
mod transfers;

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos, Packet};

#[cfg(feature = "network")]
pub(crate) use self::transfers::Segment;
use self::{
    columns::Columns,
    place::{Place, Turn},
    slots::Slots,
    slowest::Slowest,
};
pub use self::{
    columns::{Cause, Column, HELD, ON_ITS_WAY, RECOVERING, STALLED, WITHOUT_FLOW},
    row::Row,
    slowest::SlowPacket,
    transfers::TransferBlame,
};
use crate::{Observer, Passage, Profile};

/// How many of the first flows have a column of their own where nothing else is asked for.
pub const FLOW_COLUMNS: usize = 24;

/// Of which packets the sum and the slowest are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Selection {
    /// All.
    #[default]
    All,
    /// The one of this number.
    Packet(u64),
    /// Those of the flow with this label.
    Flow(String),
    /// Those of this class.
    Class(String),
}

/// Where one packet's time went.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The packet's number.
    pub packet: u64,
    /// Its flow.
    pub flow: FlowId,
    /// Its rank among the packets of its flow, from 0.
    pub rank: u64,
    /// When it arrived.
    pub arrival: Nanos,
    /// From arrival to the end on the last resource.
    pub latency: Nanos,
    /// How long each resource processed it.
    pub own: &'a [Nanos],
    /// How long it waited while its own flow was served.
    pub same_flow: Nanos,
    /// How long it waited for each column's cause, its own flow's service left out.
    pub causes: &'a [Nanos],
}

/// Where the time of all packets went.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// What packets waited for.
    pub columns: Vec<Column>,
    /// The sums over the packets of each column's flows; those of the first [`WITHOUT_FLOW`] columns are empty.
    pub rows: Vec<Row>,
    /// The sums over the selected packets.
    pub selected: Row,
    /// The slowest of the selected packets, the slowest first.
    pub slowest: Vec<SlowPacket>,
    /// The flows that appeared.
    pub flows: Vec<FlowColumn>,
}

/// Where a flow's service is charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowColumn {
    /// The flow.
    pub flow: FlowId,
    /// Its name.
    pub label: String,
    /// Its column, as an index.
    pub column: usize,
}

/// An observer that divides every packet's latency among what it waited for, and tells `each` packet's parts.
pub struct Blame<F> {
    columns: Columns,
    places: Vec<Place>,
    slots: Slots,
    flows: Vec<Flow>,
    rows: Vec<Row>,
    selection: Selection,
    selected: Row,
    slowest: Slowest,
    each: F,
    // Reused: slots whose packets have no wait left to account for, and a packet's parts.
    ended: Vec<u32>,
    causes: Vec<Nanos>,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    label: String,
    has_appeared: bool,
    arrived: u64,
    is_selected: bool,
    // The slots of its packets that wait for the first resource, in order of arrival.
    waiting: VecDeque<u32>,
}

impl<F: FnMut(&Parts<'_>)> Blame<F> {
    /// Watches a pipeline of so many resources. The first `flow_columns` flows have a column of their own; the `slowest`
    /// packets of the selection are kept.
    pub fn new(resources: usize, flow_columns: usize, selection: Selection, slowest: usize, each: F) -> Self {
        Self {
            columns: Columns::new(flow_columns),
            places: (0..resources).map(|_| Place::new()).collect(),
            slots: Slots::new(resources),
            flows: Vec::new(),
            rows: vec![Row::new(resources); WITHOUT_FLOW],
            selection,
            selected: Row::new(resources),
            slowest: Slowest::new(slowest),
            each,
            ended: Vec::new(),
            causes: Vec::new(),
        }
    }

    /// Ends the watch. Packets that have not been released are counted as left.
    pub fn finish(mut self) -> Explanation {
        self.advance(Nanos::MAX);
        let mut flows = Vec::new();
        for (at, known) in self.flows.into_iter().enumerate().filter(|(_, known)| known.has_appeared) {
            let flow = FlowId(at as u32);
            let (column, left) = (self.columns.of(flow), known.waiting.len() as u64);
            self.rows[column].left += left;
            if known.is_selected {
                self.selected.left += left;
            }
            flows.push(FlowColumn { flow, label: known.label, column });
        }
        Explanation {
            flows,
            columns: self.columns.finish(),
            rows: self.rows,
            selected: self.selected,
            slowest: self.slowest.finish(),
        }
    }

    /// Takes into account what happens up to `now`, when nothing before `now` will be told any more.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        let last = self.places.len() - 1;
        for (at, place) in self.places.iter_mut().enumerate() {
            if place.next_at() <= now {
                place.advance(now, &mut self.slots, |slot| {
                    if at == last {
                        self.ended.push(slot);
                    }
                });
            }
        }
        while let Some(slot) = self.ended.pop() {
            self.end(slot);
        }
    }

    fn end(&mut self, slot: u32) {
        let (packet, own, owed) = self.slots.packet(slot);
        let column = self.columns.of(packet.flow);
        self.causes.clear();
        self.causes.extend(owed[..self.columns.len()].iter().map(|&nanos| Nanos(nanos)));
        self.causes[column] = self.causes[column] - Nanos(packet.same_flow);
        let parts = Parts {
            packet: packet.number,
            flow: packet.flow,
            rank: packet.rank,
            arrival: packet.arrival,
            latency: packet.done - packet.arrival,
            own,
            same_flow: Nanos(packet.same_flow),
            causes: &self.causes,
        };
        self.rows[column].add(&parts);
        let is_selected =
            self.flows[packet.flow.index()].is_selected || self.selection == Selection::Packet(packet.number);
        if is_selected {
            self.selected.add(&parts);
            self.slowest.offer(&parts, &self.flows[packet.flow.index()].label);
        }
        (self.each)(&parts);
        self.slots.free(slot);
    }
}

impl<F: FnMut(&Parts<'_>)> Observer for Blame<F> {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, Flow::default());
        }
        let known = &mut self.flows[flow.index()];
        known.label = profile.label.to_owned();
        known.has_appeared = true;
        known.is_selected = match &self.selection {
            Selection::All => true,
            Selection::Packet(_) => false,
            Selection::Flow(label) => label == profile.label,
            Selection::Class(class) => Some(class.as_str()) == profile.class,
        };
        self.columns.assign(flow, profile);
        let resources = self.places.len();
        self.rows.resize_with(self.columns.len(), || Row::new(resources));
        self.slots.widen(self.columns.len());
        for place in &mut self.places {
            place.widen(self.columns.len(), flow);
        }
    }

    #[inline]
    fn arrived(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow.index()];
        let slot = self.slots.take(packet, flow.arrived);
        flow.arrived += 1;
        flow.waiting.push_back(slot);
        self.places[0].enters(packet.arrival, slot);
        self.advance(packet.arrival);
    }

    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.advance(now);
        let flow = &mut self.flows[packet.flow.index()];
        self.rows[self.columns.of(packet.flow)].dropped += 1;
        if flow.is_selected || self.selection == Selection::Packet(packet.handle) {
            self.selected.dropped += 1;
        }
        // Buffer limits drop what came last or what waits longest.
        if let Some(at) = flow.waiting.iter().rposition(|&slot| self.slots.number(slot) == packet.handle)
            && let Some(slot) = flow.waiting.remove(at)
        {
            self.slots.free(slot);
        }
    }

    #[inline]
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        // What ended before this release is known now, and nothing that is told later begins before it.
        self.advance(passage.released());
        let Some(slot) = self.flows[packet.flow.index()].waiting.pop_front() else { return };
        debug_assert_eq!(self.slots.number(slot), packet.handle, "flows keep their order");
        self.slots.passes(slot, passage);
        let column = self.columns.of(packet.flow) as u32;
        let (start, end, freed) = (passage.start(), passage.end(), passage.freed());
        for (j, place) in self.places.iter_mut().enumerate() {
            let came = if j == 0 { packet.arrival } else { end[j - 1] };
            if j == 0 && passage.released() < start[0] {
                place.stalls(passage.released(), start[0]);
            } else if j > 0 && came < start[j] {
                place.enters(came, slot);
            }
            let waited = j == 0 || came < start[j];
            place.serves(Turn { at: start[j], until: end[j], column, flow: packet.flow, slot, waited });
            if end[j] < freed[j] {
                place.stalls(end[j], freed[j]);
            }
        }
    }
}
