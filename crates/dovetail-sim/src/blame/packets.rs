//! The packets of a pipeline.

use std::collections::VecDeque;

use dovetail_sched::{FlowId, Nanos, Packet};

use super::{
    columns::{Columns, WITHOUT_FLOW},
    explanation::{Explanation, FlowColumn},
    parts::{Parts, Selection},
    place::{Place, Turn},
    row::Row,
    slots::Slots,
    slowest::Slowest,
};
use crate::{Observer, Passage, Profile};

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
