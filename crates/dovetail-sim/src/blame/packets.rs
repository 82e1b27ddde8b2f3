//! What the packets of a pipeline wait for.

use std::{collections::VecDeque, mem::take, sync::Arc};

use dovetail_sched::{FlowId, Nanos, Packet};

use super::{
    columns::{Columns, WITHOUT_FLOW},
    explanation::{Explanation, FlowColumn},
    parts::{Ended, Selection},
    place::{Happened, Place, Turn},
    row::Row,
    slots::{Slots, Stay, Waiting},
    slowest::{SlowPacket, Slowest},
};
use crate::{Observer, Passage, Profile};

/// Row of the selected packets in a place's sums; the row of a column follows one later.
const SELECTED: usize = 0;

/// The history before the oldest waiting packet is discarded once it exceeds this many turns and half of all.
const FORGET_TURNS: usize = 1 << 16;

/// An observer that divides each packet's latency among what it waited for, and calls `each` for each packet that ended.
pub struct Blame<F> {
    columns: Columns,
    places: Vec<Place>,
    slots: Slots,
    flows: Vec<Flow>,
    rows: Vec<Row>,
    selection: Selection,
    selected: Row,
    // By column: how long selected packets of its flows waited for their own flow.
    selected_same_nanos: Vec<u128>,
    slowest: Slowest<Box<Slow>>,
    each: F,
    ended: Vec<u32>,
    until_tidy: usize,
    // The latest time reported.
    reached: Nanos,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    label: Arc<str>,
    has_appeared: bool,
    arrived: u64,
    is_selected: bool,
    // Its packets that wait for the first resource, in order of arrival.
    waiting: VecDeque<Waiting>,
}

/// A slow packet; what it waited for is computed once it is sure to remain one, or before the history is discarded.
#[derive(Debug)]
struct Slow {
    packet: Ended,
    label: Arc<str>,
    same_flow: u64,
    column: usize,
    stays: Vec<Stay>,
    // Empty until computed.
    causes: Vec<Nanos>,
}

impl Slow {
    fn finish(self) -> SlowPacket {
        let Ended { packet, arrival, latency, .. } = self.packet;
        SlowPacket {
            packet,
            flow: self.label.as_ref().to_owned(),
            arrival,
            latency,
            own: self.stays.iter().map(|stay| stay.end - stay.start).collect(),
            same_flow: Nanos(self.same_flow),
            causes: self.causes,
        }
    }
}

impl<F: FnMut(&Ended)> Blame<F> {
    /// Watches a pipeline of this many resources. The first `flow_columns` flows have a column of their own; the `slowest`
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
            selected_same_nanos: Vec::new(),
            slowest: Slowest::new(slowest),
            each,
            ended: Vec::new(),
            until_tidy: FORGET_TURNS,
            reached: Nanos::ZERO,
        }
    }

    /// Ends the observation. Packets that have not been released are counted as left.
    pub fn finish(mut self) -> Explanation {
        self.advance(Nanos::MAX);
        let ended = self.places[0].last_at().max(self.reached);
        let mut flows = Vec::new();
        for at in 0..self.flows.len() {
            let flow = FlowId(at as u32);
            if !self.flows[at].has_appeared {
                continue;
            }
            let column = self.columns.of(flow);
            for waited in take(&mut self.flows[at].waiting) {
                self.rows[column].left += 1;
                self.selected.left += u64::from(self.is_selected(flow, waited.number));
                self.leaves(flow, &waited, ended);
            }
            flows.push(FlowColumn { flow, label: self.flows[at].label.as_ref().to_owned(), column });
        }
        self.find_out(|_| true);
        let columns = self.columns.len();
        let causes = |places: &[Place], row: usize| -> Vec<u128> {
            (0..columns).map(|column| places.iter().map(|place| place.sum(column, row)).sum()).collect()
        };
        for (column, row) in self.rows.iter_mut().enumerate().skip(WITHOUT_FLOW) {
            row.causes_nanos = causes(&self.places, 1 + column);
            row.causes_nanos[column] -= row.same_flow_nanos;
        }
        if !self.selected_same_nanos.is_empty() {
            self.selected.causes_nanos = causes(&self.places, SELECTED);
            for (cause, same) in self.selected.causes_nanos.iter_mut().zip(&self.selected_same_nanos) {
                *cause -= same;
            }
        }
        Explanation {
            flows,
            columns: self.columns.finish(),
            rows: self.rows,
            selected: self.selected,
            slowest: self.slowest.finish().into_iter().map(|slow| slow.finish()).collect(),
        }
    }

    /// Processes events up to `now`, once nothing before `now` can be reported any more.
    #[inline]
    fn advance(&mut self, now: Nanos) {
        let last = self.places.len() - 1;
        for at in 0..self.places.len() {
            while self.places[at].next_at() <= now
                && let Some(happened) = self.places[at].next(now)
            {
                match happened {
                    Happened::Entered(slot) => self.enters(at, slot),
                    Happened::Started(slot) => {
                        self.starts(at, slot);
                        if at == last {
                            self.ended.push(slot);
                        }
                    }
                }
            }
        }
        while let Some(slot) = self.ended.pop() {
            self.end(slot);
        }
    }

    /// A packet starts to wait for a later resource.
    fn enters(&mut self, at: usize, slot: u32) {
        let came = self.slots.stays(slot)[at].came;
        let packet = self.slots.packet(slot);
        let place = &mut self.places[at];
        place.wait(rows(&self.columns, packet.flow(), packet.is_selected), came, 1);
        packet.same_flow = packet.same_flow.wrapping_sub(place.served(packet.flow(), came));
    }

    #[inline]
    fn starts(&mut self, at: usize, slot: u32) {
        let Stay { came, start, .. } = self.slots.stays(slot)[at];
        if at > 0 && came == start {
            return;
        }
        let packet = self.slots.packet(slot);
        let place = &mut self.places[at];
        place.wait(rows(&self.columns, packet.flow(), packet.is_selected), start, -1);
        packet.same_flow = packet.same_flow.wrapping_add(place.served(packet.flow(), start));
    }

    fn is_selected(&self, flow: FlowId, number: u64) -> bool {
        self.flows[flow.index()].is_selected || self.selection == Selection::Packet(number)
    }

    /// A packet that waits for the first resource will not be sent: its waiting time is deducted again.
    fn leaves(&mut self, flow: FlowId, waited: &Waiting, now: Nanos) {
        let rows = rows(&self.columns, flow, self.is_selected(flow, waited.number));
        self.places[0].wait(rows, now, -1);
        if waited.arrival < now {
            let mut owed = vec![Nanos::ZERO; self.columns.len()];
            self.places[0].add_between(waited.arrival, now, &mut owed);
            self.places[0].forgive(rows, &owed);
        }
    }

    fn end(&mut self, slot: u32) {
        let packet = *self.slots.packet(slot);
        let Ended { packet: number, flow, latency, .. } = packet.ended;
        let column = self.columns.of(flow);
        let stays = self.slots.stays(slot);
        self.rows[column].ended(latency, packet.same_flow, stays.iter().map(|stay| stay.end - stay.start));
        if packet.is_selected {
            self.selected.ended(latency, packet.same_flow, stays.iter().map(|stay| stay.end - stay.start));
            self.selected_same_nanos.resize(self.columns.len(), 0);
            self.selected_same_nanos[column] += u128::from(packet.same_flow);
            let label = &self.flows[flow.index()].label;
            self.slowest.keep(latency, number, |before| {
                // If all wait at once, each is the slowest so far.
                let (packet, label, same_flow) = (packet.ended, label.clone(), packet.same_flow);
                let Some(mut slow) = before else {
                    let (stays, causes) = (stays.to_vec(), Vec::new());
                    return Box::new(Slow { packet, label, same_flow, column, stays, causes });
                };
                (slow.packet, slow.label, slow.same_flow, slow.column) = (packet, label, same_flow, column);
                slow.causes.clear();
                slow.stays.clear();
                slow.stays.extend_from_slice(stays);
                slow
            });
        }
        (self.each)(&packet.ended);
        self.slots.free(slot);
        self.until_tidy -= 1;
        if self.until_tidy == 0 {
            self.tidy();
        }
    }

    /// Discards history that no packet needs.
    fn tidy(&mut self) {
        self.until_tidy = FORGET_TURNS;
        let waiting = self.flows.iter().filter_map(|flow| Some(flow.waiting.front()?.arrival));
        let oldest = waiting.chain(self.slots.oldest()).min().unwrap_or(Nanos::MAX);
        let is_worth_it = self.places.iter().any(|place| {
            let [all, before] = place.remembered(oldest);
            before > FORGET_TURNS && before > all / 2
        });
        if is_worth_it {
            self.find_out(|slow| slow.packet.arrival < oldest);
            self.places.iter_mut().for_each(|place| place.forget_before(oldest));
        }
    }

    /// Computes what these of the slowest packets waited for.
    fn find_out(&mut self, which: impl Fn(&Slow) -> bool) {
        let (places, columns) = (&self.places, self.columns.len());
        self.slowest.change(|slow| {
            if !slow.causes.is_empty() || !which(slow) {
                return;
            }
            slow.causes.resize(columns, Nanos::ZERO);
            for (place, stay) in places.iter().zip(&slow.stays).filter(|(_, stay)| stay.came < stay.start) {
                place.add_between(stay.came, stay.start, &mut slow.causes);
            }
            slow.causes[slow.column] = slow.causes[slow.column] - Nanos(slow.same_flow);
        });
    }
}

impl<F: FnMut(&Ended)> Observer for Blame<F> {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, Flow::default());
        }
        let known = &mut self.flows[flow.index()];
        known.label = profile.label.into();
        known.has_appeared = true;
        known.is_selected = self.selection.covers_flow(profile.label, profile.class);
        self.columns.assign(flow, profile);
        let (columns, resources) = (self.columns.len(), self.places.len());
        self.rows.resize_with(columns, || Row::new(resources));
        for place in &mut self.places {
            place.widen(columns, 1 + columns, flow);
        }
    }

    #[inline]
    fn arrived(&mut self, packet: &Packet) {
        let Packet { handle: number, flow, arrival, .. } = *packet;
        self.reached = arrival;
        self.advance(arrival);
        let rows = rows(&self.columns, flow, self.is_selected(flow, number));
        let place = &mut self.places[0];
        place.wait(rows, arrival, 1);
        let served_before = place.served(flow, arrival);
        let known = &mut self.flows[flow.index()];
        known.waiting.push_back(Waiting { number, rank: known.arrived, arrival, served_before });
        known.arrived += 1;
    }

    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.advance(now);
        let flow = &mut self.flows[packet.flow.index()];
        // Buffer limits drop the latest or the longest-waiting packet.
        let at = flow.waiting.iter().rposition(|waited| waited.number == packet.handle);
        let Some(waited) = at.and_then(|at| flow.waiting.remove(at)) else { return };
        self.rows[self.columns.of(packet.flow)].dropped += 1;
        self.selected.dropped += u64::from(self.is_selected(packet.flow, waited.number));
        self.leaves(packet.flow, &waited, now);
    }

    #[inline]
    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        // What ended before this release is final, and nothing reported later begins before it.
        self.advance(passage.released());
        let Some(waited) = self.flows[packet.flow.index()].waiting.pop_front() else { return };
        debug_assert_eq!(waited.number, packet.handle, "flows keep their order");
        let is_selected = self.is_selected(packet.flow, waited.number);
        let slot = self.slots.take(packet, &waited, is_selected, passage);
        let column = self.columns.of(packet.flow) as u32;
        let (start, end, freed) = (passage.start(), passage.end(), passage.freed());
        for (j, place) in self.places.iter_mut().enumerate() {
            if j == 0 && passage.released() < start[0] {
                place.stalls(passage.released(), start[0]);
            } else if j > 0 && end[j - 1] < start[j] {
                place.enters(end[j - 1], slot);
            }
            place.serves(Turn { at: start[j], until: end[j], column, packet: Some((slot, packet.flow)) });
            if end[j] < freed[j] {
                place.stalls(end[j], freed[j]);
            }
        }
    }
}

/// The rows of a place that a packet counts in.
#[inline]
fn rows(columns: &Columns, flow: FlowId, is_selected: bool) -> [Option<usize>; 2] {
    [Some(1 + columns.of(flow)), is_selected.then_some(SELECTED)]
}
