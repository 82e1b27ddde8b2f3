//! The trade-off's fluid at O(log n) per event.
//!
//! Wang et al., CoNEXT 2014, section 5.3. Let `V` be the service per unit of weight that an unfavoured flow has received,
//! `dV/dt = alpha d`. A flow whose head-of-line packet has `R` to go, per unit of weight, gets the tag `F = V + R` (eqs. 28,
//! 30), and if it is never favoured its packet is done when `V` reaches `F`. A favoured flow's bonus is subtracted from its tag
//! as it is received, so that `R = F - V` (eq. 31) holds for every flow, and becoming or ceasing to be favoured only changes a
//! flow's rate.
//!
//! Tags are in a heap. A favoured flow's entry stays where it was and lags behind its tag. If it reaches the front, no
//! unfavoured flow can be done sooner, since all have more to go and a lower rate. The next departure is therefore that of the
//! first in the heap or of a favoured flow.
//!
//! An event costs O(log n) for the tags and for [turns](super::turns) (amortised), plus the allocator's cost: O(1) or O(log n)
//! for up to two resources, see [`Simplex`](super::Simplex) for more. A packet of an unfavoured flow in the same direction as
//! the last costs one heap operation and no new allocation.

use core::hint::select_unpredictable;

use super::{
    Alpha, Direction, Fluid, Grant, GroupId, Supply,
    groups::Groups,
    tally::Tally,
    units::{Fine, Pace, are_apart, rounded_up, work},
};
use crate::{
    Demand, FlowId, IndexedHeap, MAX_RESOURCES, Nanos,
    flow::{FlowMap, per_weight},
    heap::AHEAD,
};

/// The initial virtual time: a tag may lie a few grains before it.
const BEGINNING: u64 = 1 << 32;

/// Past this, virtual time and all tags are rebased to the beginning: O(n), once in 2^62 grains.
const END: u64 = 1 << 62;

/// A bonus below this is rounding.
pub(super) const MIN_SHARE: f64 = 1e-12;

/// The fluid in virtual time.
#[derive(Debug)]
pub struct VirtualTime {
    resources: usize,
    alpha: Alpha,
    clock: Fine,
    virtual_time: u64,
    pace: Pace,
    flows: FlowMap<Flow>,
    order: IndexedHeap<FlowId, u64>,
    tally: Tally,
    groups: Groups,
    favoured: [Favoured; MAX_RESOURCES],
    favours: usize,
    // The previous favours, while grants change.
    old: [Favoured; MAX_RESOURCES],
    // What is out of date since the last change: the shares, the turns, the next departure.
    shares_stale: bool,
    turns_stale: bool,
    next_stale: bool,
    next: Option<Next>,
}

/// The next departure: when it is, how long after the last event, and whose.
#[derive(Debug, Clone, Copy)]
struct Next {
    at: Fine,
    grains: u64,
    flow: FlowId,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    finish: u64,
    weight: f64,
}

/// A favoured group, and the flow that has its turn.
#[derive(Debug, Clone, Copy)]
struct Favoured {
    grant: Grant,
    // `NO_FLOW` between two turns.
    flow: FlowId,
    weight: f64,
    bonus: Pace,
    // The sum of the guaranteed rate and the bonus rate, per unit of weight.
    rate: f64,
    received: u64,
}

/// No flow has this id.
const NO_FLOW: FlowId = FlowId(u32::MAX);

const NO_GROUP: Favoured = Favoured {
    grant: Grant { group: GroupId(u32::MAX), share: 0.0 },
    flow: NO_FLOW,
    weight: 1.0,
    bonus: Pace::STILL,
    rate: 0.0,
    received: 0,
};

impl VirtualTime {
    fn favoured(&self) -> &[Favoured] {
        &self.favoured[..self.favours]
    }

    #[inline]
    fn left(&self, flow: FlowId) -> i64 {
        self.flows.peek(flow).map_or(0, |state| state.finish.wrapping_sub(self.virtual_time) as i64)
    }

    /// Serves every flow until `at`, which is `grains` later. Everything must be up to date.
    #[inline(always)]
    fn pass(&mut self, at: Fine, grains: u64) {
        self.clock = at;
        self.virtual_time += self.pace.pass(grains);
        for slot in &mut self.favoured[..self.favours] {
            // Between turns the flow is `NO_FLOW`, which has no state.
            if let Some(state) = self.flows.as_mut_slice().get_mut(slot.flow.index()) {
                let bonus = slot.bonus.pass(grains);
                slot.received += bonus;
                state.finish = state.finish.wrapping_sub(bonus);
            }
        }
        if self.virtual_time > END {
            self.set_back();
        }
    }

    #[cold]
    fn set_back(&mut self) {
        let by = self.virtual_time - BEGINNING;
        self.virtual_time = BEGINNING;
        for (flow, _) in self.order.iter() {
            let state = self.flows.at(flow);
            state.finish = state.finish.wrapping_sub(by);
        }
        self.order.lower(by);
    }

    /// Brings shares and turns up to date.
    #[inline]
    fn settle(&mut self) {
        if self.shares_stale {
            self.share_out();
        } else if self.turns_stale {
            self.begin_turns(false);
        }
        self.shares_stale = false;
        self.turns_stale = false;
    }

    fn share_out(&mut self) {
        let mut spare = [0.0; MAX_RESOURCES];
        self.pace.rate = self.tally.guarantee(self.alpha, &mut spare);
        let grants = self.groups.share_out(&spare[..self.resources]);
        let slots = &mut self.favoured[..self.favours];
        let same = grants.len() == slots.len()
            && grants
                .iter()
                .zip(&*slots)
                .all(|(grant, slot)| grant.group == slot.grant.group && grant.share > MIN_SHARE);
        if same {
            slots.iter_mut().zip(grants).for_each(|(slot, &grant)| slot.grant = grant);
        } else {
            self.change_favours();
        }
        self.begin_turns(true);
    }

    /// Replaces the old grants by the allocator's. Groups that stay favoured keep their turns.
    fn change_favours(&mut self) {
        // Only a few of the slots are in use.
        let old = &mut self.old[..self.favours];
        old.copy_from_slice(&self.favoured[..self.favours]);
        self.favours = 0;
        for &grant in self.groups.grants().iter().filter(|grant| grant.share > MIN_SHARE) {
            let slot = old.iter().find(|slot| slot.grant.group == grant.group).unwrap_or(&NO_GROUP);
            self.favoured[self.favours] = Favoured { grant, ..*slot };
            self.favours += 1;
        }
        let favoured = &self.favoured[..self.favours];
        for slot in &*old {
            if slot.flow != NO_FLOW && !favoured.iter().any(|kept| kept.grant.group == slot.grant.group) {
                self.groups.end_turn(slot.flow, slot.received);
                self.order.set(slot.flow, self.flows.at(slot.flow).finish);
            }
        }
    }

    /// Starts a turn in every favoured group without one and sets its rates; if shares have `changed`, sets those of all others
    /// as well.
    #[inline(always)]
    fn begin_turns(&mut self, changed: bool) {
        for slot in &mut self.favoured[..self.favours] {
            if !changed && slot.flow != NO_FLOW {
                continue;
            }
            if slot.flow == NO_FLOW {
                slot.flow = self.groups.begin_turn(slot.grant.group).unwrap_or(NO_FLOW);
                slot.bonus = Pace::STILL;
                slot.received = 0;
                slot.weight = self.flows.peek(slot.flow).map_or(1.0, |state| state.weight);
            }
            slot.bonus.rate = per_weight(slot.grant.share, slot.weight);
            slot.rate = self.pace.rate + slot.bonus.rate;
        }
    }

    /// Ends the flow's turn, if it has one.
    #[inline]
    fn end_turn_of(&mut self, flow: FlowId) {
        let slot = self.favoured[..self.favours].iter_mut().find(|slot| slot.flow == flow);
        if let Some(slot) = slot {
            slot.flow = NO_FLOW;
            let received = slot.received;
            self.turns_stale = true;
            self.groups.end_turn(flow, received);
        }
    }

    /// Serves until the next departure, and lets that packet depart.
    #[inline(always)]
    fn go_on(&mut self, next: &Next, supply: &mut impl Supply) {
        if next.grains > 0 {
            self.pass(next.at, next.grains);
        }
        self.depart(next.flow, supply);
        self.next_stale = true;
        self.look_around(supply);
    }

    /// If a packet is done by `until`, lets it depart; returns whether one was.
    #[inline(always)]
    fn go_on_until(&mut self, until: Nanos, supply: &mut impl Supply) -> bool {
        if self.next_stale {
            self.look_ahead();
        }
        match self.next {
            Some(next) if next.at.is_past(until) => self.go_on(&next, supply),
            _ => return false,
        }
        true
    }

    /// Finds the next departure after a change.
    #[inline(always)]
    fn look_ahead(&mut self) {
        self.next_stale = false;
        self.settle();
        let Some((mut flow, _)) = self.order.peek() else {
            self.next = None;
            return;
        };
        let first = flow;
        let mut time = self.pace.nearly_until(self.left(flow));
        let mut apart = true;
        for slot in self.favoured() {
            // If this flow is also the first in the heap, its time without the bonus is the later one.
            let Some(state) = self.flows.peek(slot.flow) else { continue };
            let left = state.finish.wrapping_sub(self.virtual_time) as i64;
            let sooner = self.pace.nearly_until_with(&slot.bonus, slot.rate, left);
            apart &= are_apart(sooner, time);
            // Which is sooner is unpredictable.
            (time, flow) = select_unpredictable(sooner < time, (sooner, slot.flow), (time, flow));
        }
        match rounded_up(time) {
            Some(grains) if apart => self.next = Some(Next { at: self.clock.plus(grains), grains, flow }),
            _ => self.look_closely(first),
        }
    }

    /// Same as [`look_ahead`](Self::look_ahead) if times lie close together or far away. `flow` is the first in order.
    #[cold]
    #[inline(never)]
    fn look_closely(&mut self, mut flow: FlowId) {
        let mut left = self.left(flow);
        let mut grains = self.pace.until(left);
        for slot in self.favoured().iter().filter(|slot| slot.flow != NO_FLOW) {
            let others = self.left(slot.flow);
            let sooner = self.pace.until_with(&slot.bonus, others);
            if sooner < grains || (sooner == grains && (others, slot.flow) < (left, flow)) {
                (flow, left, grains) = (slot.flow, others, sooner);
            }
        }
        self.next = (grains < u64::MAX).then(|| Next { at: self.clock.plus(grains), grains, flow });
    }

    /// The flow's packet is done: starts the next one that needs anything.
    #[inline(always)]
    fn depart(&mut self, flow: FlowId, supply: &mut impl Supply) {
        self.end_turn_of(flow);
        let at = self.clock.floor();
        while let Some(packet) = supply.start_next(flow, at) {
            let two = supply.first_two(packet);
            let like_last = if self.resources <= 2 { self.groups.work_like_last(flow, two) } else { None };
            if let Some(one) = like_last {
                self.start(flow, |weight| if weight == 1.0 { one } else { work(two[0].max(two[1]), weight) });
                return;
            }
            let dominant = if self.resources <= 2 { two[0].max(two[1]) } else { supply.demand(packet).dominant() };
            if dominant == Nanos::ZERO {
                continue;
            }
            self.start(flow, |weight| work(dominant, weight));
            self.redirect(flow, &supply.demand(packet));
            return;
        }
        self.leave(flow);
    }

    /// Adds the work of the flow's next packet, computed for its weight.
    #[inline(always)]
    fn start(&mut self, flow: FlowId, work: impl FnOnce(f64) -> u64) {
        let state = self.flows.at(flow);
        state.finish = state.finish.wrapping_add(work(state.weight));
        let finish = state.finish;
        self.order.set(flow, finish);
    }

    /// Moves the flow to another group if its packet has another direction.
    fn redirect(&mut self, flow: FlowId, demand: &Demand) {
        if let Some(direction) = Direction::of_demand(demand)
            && let Some(old) = self.groups.direction(flow).filter(|old| !self.groups.are_equal(old, &direction))
        {
            self.tally.replace(self.flows.at(flow).weight, &old, &direction);
            self.groups.leave(flow);
            self.groups.join(flow, demand, &direction);
            self.shares_stale = true;
        }
    }

    /// Prefetches what the next departures will read.
    #[inline(always)]
    fn look_around(&self, supply: &impl Supply) {
        if let Some(soon) = self.order.upcoming(AHEAD) {
            self.ask_for(soon, supply);
        }
    }

    #[inline(never)]
    fn ask_for(&self, soon: FlowId, supply: &impl Supply) {
        self.order.prefetch(soon);
        self.flows.prefetch(soon);
        self.groups.prefetch(soon);
        supply.expect(soon, false);
        if let Some(sooner) = self.order.upcoming(AHEAD * 2 / 3) {
            supply.expect(sooner, true);
        }
    }

    fn leave(&mut self, flow: FlowId) {
        if let Some(old) = self.groups.direction(flow) {
            self.tally.remove(self.flows.at(flow).weight, &old);
            self.groups.leave(flow);
            self.order.remove(flow);
            self.shares_stale = true;
        }
    }
}

impl Fluid for VirtualTime {
    fn new(resources: usize, alpha: Alpha) -> Self {
        Self {
            resources,
            alpha,
            clock: Fine::default(),
            virtual_time: BEGINNING,
            pace: Pace::default(),
            flows: FlowMap::new(),
            order: IndexedHeap::new(),
            tally: Tally::new(resources),
            groups: Groups::new(resources),
            favoured: [NO_GROUP; MAX_RESOURCES],
            favours: 0,
            old: [NO_GROUP; MAX_RESOURCES],
            shares_stale: false,
            turns_stale: false,
            next_stale: false,
            next: None,
        }
    }

    fn restart(&mut self, now: Nanos) {
        debug_assert!(self.order.is_empty());
        self.clock = Fine::from_nanos(now);
        self.virtual_time = BEGINNING;
        self.pace = Pace::default();
    }

    #[inline(never)]
    fn step(&mut self, until: Nanos, supply: &mut impl Supply) -> bool {
        self.go_on_until(until, supply)
    }

    #[inline(never)]
    fn serve(&mut self, until: Nanos, supply: &mut impl Supply) {
        while self.go_on_until(until, supply) {}
    }

    fn arrive(&mut self, flow: FlowId, weight: f64, now: Nanos, supply: &mut impl Supply) {
        debug_assert!(!self.serves(flow));
        while let Some(packet) = supply.start_next(flow, now) {
            let demand = &supply.demand(packet);
            let Some(direction) = Direction::of_demand(demand) else { continue };
            let work = work(demand.dominant(), weight);
            self.pass_to(now);
            *self.flows.at(flow) = Flow { finish: self.virtual_time + work, weight };
            self.order.set(flow, self.virtual_time + work);
            self.tally.add(weight, &direction);
            self.groups.join(flow, demand, &direction);
            self.shares_stale = true;
            self.next_stale = true;
            return;
        }
    }

    fn cut_short(&mut self, flow: FlowId, supply: &mut impl Supply) {
        if self.serves(flow) {
            self.flows.at(flow).finish = self.virtual_time;
            self.depart(flow, supply);
            self.next_stale = true;
        }
    }

    #[inline]
    fn pass_to(&mut self, now: Nanos) {
        let at = Fine::from_nanos(now);
        let grains = at.since(self.clock);
        if grains > 0 {
            self.settle();
            self.pass(at, grains);
            self.next_stale = true;
        }
    }

    fn reweigh(&mut self, flow: FlowId, weight: f64) {
        let Some(direction) = self.groups.direction(flow) else { return };
        self.end_turn_of(flow);
        let left = self.left(flow) as f64;
        let state = self.flows.at(flow);
        let old = core::mem::replace(&mut state.weight, weight);
        let left = (left * (old / weight)).clamp(0.0, END as f64 / 2.0) as u64;
        state.finish = self.virtual_time + left;
        self.order.set(flow, state.finish);
        self.tally.remove(old, &direction);
        self.tally.add(weight, &direction);
        self.shares_stale = true;
        self.next_stale = true;
    }

    fn forget(&mut self, flow: FlowId) {
        if self.serves(flow) {
            self.end_turn_of(flow);
            self.leave(flow);
            self.next_stale = true;
        }
        self.groups.forget(flow);
        self.flows.reset(flow);
    }

    fn set_alpha(&mut self, alpha: Alpha) {
        self.alpha = alpha;
        self.shares_stale = true;
        self.next_stale = true;
    }

    fn next_departure(&self) -> Option<Nanos> {
        self.next.map(|next| next.at.ceil())
    }

    #[inline]
    fn serves(&self, flow: FlowId) -> bool {
        self.order.contains(flow)
    }

    fn share(&mut self, flow: FlowId) -> f64 {
        self.settle();
        if !self.serves(flow) {
            return 0.0;
        }
        let bonus = self.favoured().iter().find(|slot| slot.flow == flow).map_or(0.0, |slot| slot.grant.share);
        self.pace.rate * self.flows.at(flow).weight + bonus
    }

    fn clock(&self) -> f64 {
        self.clock.as_f64()
    }

    #[inline]
    fn flows(&self) -> usize {
        self.order.len()
    }

    fn alpha(&self) -> Alpha {
        self.alpha
    }

    fn totals(&self) -> [f64; MAX_RESOURCES] {
        self.tally.totals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weight;
    use std::vec::Vec;

    /// Flows that always have another packet: those of even flows need resource 1 most, those of odd ones resource 2.
    struct Endless {
        starts: Vec<(FlowId, Nanos)>,
    }

    impl Supply for Endless {
        type Packet = Demand;

        fn demand(&self, packet: Demand) -> Demand {
            packet
        }

        fn start_next(&mut self, flow: FlowId, at: Nanos) -> Option<Demand> {
            let size = 100 + self.starts.len() as u64 % 7;
            self.starts.push((flow, at));
            let times =
                if flow.0.is_multiple_of(2) { [Nanos(9 * size), Nanos(size)] } else { [Nanos(size), Nanos(2 * size)] };
            Demand::new(&times).ok()
        }
    }

    /// The order of 2,000 starts, after `prepare` was applied to an idle fluid.
    fn starts(prepare: impl Fn(&mut VirtualTime)) -> Vec<(FlowId, Nanos)> {
        let mut fluid = VirtualTime::new(2, Alpha::new(0.8).expect("in range"));
        fluid.restart(Nanos(1000));
        prepare(&mut fluid);
        let mut endless = Endless { starts: Vec::new() };
        for flow in (0..10).map(FlowId) {
            fluid.arrive(flow, Weight::ONE.as_f64(), Nanos(1000), &mut endless);
        }
        while endless.starts.len() < 2000 {
            assert!(fluid.step(Nanos::MAX, &mut endless));
        }
        assert!(fluid.virtual_time < END);
        endless.starts
    }

    #[test]
    fn setting_virtual_time_back_changes_nothing() {
        assert_eq!(starts(|_| {}), starts(|fluid| fluid.virtual_time = END - 1_000_000));
    }

    #[test]
    fn setting_tags_back_changes_nothing() {
        let tagged = |tag: u64| starts(move |fluid| (0..10).for_each(|flow| fluid.groups.set_lead(FlowId(flow), tag)));
        assert_eq!(tagged(0), tagged((1 << 62) - 10_000));
        assert_eq!(tagged(0), tagged(1 << 63));
    }
}
