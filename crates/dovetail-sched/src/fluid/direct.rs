//! The trade-off's fluid at O(n) per event: the plain form, to test the other against (feature `oracle`, not stable).
//!
//! Wang et al., CoNEXT 2014, section 5.2. Every flow's remaining work is stored and reduced at every event, sums are
//! recomputed, and the two ends of the order by direction and the next departure are found by search.

use alloc::{collections::BTreeMap, vec::Vec};

use super::{
    Alpha, Direction, Ends, Fluid, Grant, GroupId, Simplex, Supply,
    tally::Tally,
    units::{Fine, Pace, work},
    virtual_time::MIN_SHARE,
};
use crate::{FlowId, MAX_RESOURCES, Nanos, flow::FlowMap};

/// The fluid, tracked directly.
#[derive(Debug)]
pub struct Direct {
    resources: usize,
    alpha: Alpha,
    clock: Fine,
    pace: Pace,
    served: Vec<Served>,
    // How far ahead of its group's floor a flow was, for flows in no group.
    leads: FlowMap<u64>,
    floors: BTreeMap<Direction, u64>,
    favoured: Vec<Favoured>,
    stale: bool,
    next: Option<(Fine, FlowId)>,
}

#[derive(Debug, Clone, Copy)]
struct Served {
    flow: FlowId,
    weight: f64,
    direction: Direction,
    left: i64,
    tag: u64,
}

#[derive(Debug, Clone, Copy)]
struct Favoured {
    direction: Direction,
    share: f64,
    flow: Option<FlowId>,
    bonus: Pace,
    received: u64,
}

impl Direct {
    fn at(&mut self, flow: FlowId) -> Option<&mut Served> {
        self.served.iter_mut().find(|served| served.flow == flow)
    }

    fn tally(&self) -> Tally {
        let mut tally = Tally::new(self.resources);
        self.served.iter().for_each(|served| tally.add(served.weight, &served.direction));
        tally
    }

    fn pass(&mut self, at: Fine) {
        let grains = at.since(self.clock);
        if grains == 0 {
            return;
        }
        self.settle();
        self.clock = at;
        let all = self.pace.pass(grains) as i64;
        self.served.iter_mut().for_each(|served| served.left = served.left.saturating_sub(all));
        for slot in &mut self.favoured {
            if let Some(served) = self.served.iter_mut().find(|served| slot.flow == Some(served.flow)) {
                let bonus = slot.bonus.pass(grains);
                served.left = served.left.saturating_sub(bonus as i64);
                slot.received += bonus;
            }
        }
    }

    /// The bonus of each direction.
    fn grants(&self, spare: &[f64]) -> Vec<(Direction, f64)> {
        let directions = self.served.iter().map(|served| served.direction);
        let mut candidates: Vec<Direction> = if self.resources <= 2 {
            // By the ratio of the two, compared by cross-multiplication.
            let below = |a: &Direction, b: &Direction| {
                let ([a1, a2, ..], [b1, b2, ..]) = (a.shares(), b.shares());
                (a1 * b2).total_cmp(&(b1 * a2))
            };
            directions.clone().min_by(below).into_iter().chain(directions.max_by(below)).collect()
        } else {
            directions.collect()
        };
        candidates.sort_unstable();
        candidates.dedup();
        let named = |grant: &Grant| (candidates[grant.group.0 as usize], grant.share);
        let ids = (0..).map(GroupId).zip(&candidates);
        if self.resources <= 2 {
            let mut ends = Ends::new();
            ids.for_each(|(id, direction)| ends.insert(id, direction));
            ends.solve(spare).iter().map(named).collect()
        } else {
            let mut program = Simplex::new(self.resources);
            ids.for_each(|(id, direction)| program.insert(id, direction));
            program.solve(spare).iter().map(named).collect()
        }
    }

    fn settle(&mut self) {
        if !core::mem::take(&mut self.stale) {
            return;
        }
        let mut spare = [0.0; MAX_RESOURCES];
        let rate = self.tally().guarantee(self.alpha, &mut spare);
        self.pace.rate = rate;
        let grants = self.grants(&spare[..self.resources]);
        for old in core::mem::take(&mut self.favoured) {
            match grants.iter().any(|&(direction, share)| direction == old.direction && share > MIN_SHARE) {
                true => self.favoured.push(old),
                false => self.reward(&old),
            }
        }
        let mut slots = Vec::new();
        for (direction, share) in grants.into_iter().filter(|&(_, share)| share > MIN_SHARE) {
            let old = self.favoured.iter().find(|slot| slot.direction == direction && slot.flow.is_some());
            let mut slot =
                old.copied().unwrap_or(Favoured { direction, share, flow: None, bonus: Pace::STILL, received: 0 });
            slot.share = share;
            let members = self.served.iter().filter(|served| served.direction == direction);
            if slot.flow.is_none()
                && let Some(next) = members.min_by_key(|served| (served.tag, served.flow))
            {
                slot.flow = Some(next.flow);
                let floor = self.floors.entry(direction).or_default();
                *floor = next.tag.max(*floor);
            }
            if let Some(served) = self.served.iter().find(|served| slot.flow == Some(served.flow)) {
                slot.bonus.rate = share / served.weight;
            }
            slots.push(slot);
        }
        self.favoured = slots;
    }

    /// Records what a turn has brought.
    fn reward(&mut self, slot: &Favoured) {
        if let Some(served) = slot.flow.and_then(|flow| self.at(flow)) {
            served.tag = served.tag.saturating_add(slot.received);
        }
    }

    fn end_turn(&mut self, flow: FlowId) {
        if let Some(slot) = self.favoured.iter_mut().find(|slot| slot.flow == Some(flow)) {
            let old = *slot;
            slot.flow = None;
            self.reward(&old);
        }
        self.stale = true;
    }

    fn join(&mut self, flow: FlowId, weight: f64, direction: Direction, left: i64) {
        let tag = self.floors.get(&direction).copied().unwrap_or(0).saturating_add(*self.leads.at(flow));
        self.served.push(Served { flow, weight, direction, left, tag });
        self.stale = true;
    }

    fn leave(&mut self, flow: FlowId) {
        let Some(at) = self.served.iter().position(|served| served.flow == flow) else { return };
        let Served { direction, tag, .. } = self.served.swap_remove(at);
        *self.leads.at(flow) = tag - self.floors.get(&direction).copied().unwrap_or(0);
        if !self.served.iter().any(|served| served.direction == direction) {
            self.floors.remove(&direction);
        }
        self.stale = true;
    }

    fn depart(&mut self, flow: FlowId, supply: &mut impl Supply) {
        self.end_turn(flow);
        let Some(&Served { weight, direction, left, .. }) = self.served.iter().find(|served| served.flow == flow)
        else {
            return;
        };
        let at = self.clock.floor();
        while let Some(packet) = supply.start_next(flow, at) {
            let demand = supply.demand(packet);
            let Some(new) = Direction::of(demand.times()) else { continue };
            let left = left + work(demand.dominant(), weight) as i64;
            if new == direction {
                self.served.iter_mut().filter(|served| served.flow == flow).for_each(|served| served.left = left);
            } else {
                self.leave(flow);
                self.join(flow, weight, new, left);
            }
            return;
        }
        self.leave(flow);
    }

    fn look_ahead(&mut self) {
        let key = |served: &Served| {
            let slot = self.favoured.iter().find(|slot| slot.flow == Some(served.flow));
            let time = match slot {
                Some(slot) => self.pace.until_with(&slot.bonus, served.left),
                None => self.pace.until(served.left),
            };
            (time, served.left, served.flow)
        };
        let least = self.served.iter().map(key).filter(|&(time, ..)| time < u64::MAX).min();
        self.next = least.map(|(time, _, flow)| (self.clock.plus(time), flow));
    }
}

impl Fluid for Direct {
    fn new(resources: usize, alpha: Alpha) -> Self {
        Self {
            resources,
            alpha,
            clock: Fine::default(),
            pace: Pace::STILL,
            served: Vec::new(),
            leads: FlowMap::new(),
            floors: BTreeMap::new(),
            favoured: Vec::new(),
            stale: false,
            next: None,
        }
    }

    fn restart(&mut self, now: Nanos) {
        self.clock = Fine::from_nanos(now);
        self.pace = Pace::STILL;
    }

    fn step(&mut self, until: Nanos, supply: &mut impl Supply) -> bool {
        self.settle();
        self.look_ahead();
        let Some((at, flow)) = self.next.filter(|&(at, _)| at <= Fine::from_nanos(until)) else { return false };
        self.pass(at);
        self.depart(flow, supply);
        true
    }

    fn arrive(&mut self, flow: FlowId, weight: f64, now: Nanos, supply: &mut impl Supply) {
        while let Some(packet) = supply.start_next(flow, now) {
            let demand = supply.demand(packet);
            let Some(direction) = Direction::of(demand.times()) else { continue };
            let work = work(demand.dominant(), weight);
            self.pass_to(now);
            self.join(flow, weight, direction, work as i64);
            return;
        }
    }

    fn cut_short(&mut self, flow: FlowId, supply: &mut impl Supply) {
        if let Some(served) = self.at(flow) {
            served.left = 0;
            self.depart(flow, supply);
        }
    }

    fn pass_to(&mut self, now: Nanos) {
        self.pass(Fine::from_nanos(now));
    }

    fn reweigh(&mut self, flow: FlowId, weight: f64) {
        self.end_turn(flow);
        if let Some(served) = self.at(flow) {
            served.left = (served.left as f64 * (served.weight / weight)).max(0.0) as i64;
            served.weight = weight;
        }
    }

    fn forget(&mut self, flow: FlowId) {
        self.end_turn(flow);
        self.leave(flow);
        self.leads.reset(flow);
    }

    fn set_alpha(&mut self, alpha: Alpha) {
        self.alpha = alpha;
        self.stale = true;
    }

    fn next_departure(&self) -> Option<Nanos> {
        self.next.map(|(at, _)| at.ceil())
    }

    fn serves(&self, flow: FlowId) -> bool {
        self.served.iter().any(|served| served.flow == flow)
    }

    fn share(&mut self, flow: FlowId) -> f64 {
        self.settle();
        let Some(weight) = self.at(flow).map(|served| served.weight) else { return 0.0 };
        let bonus = self.favoured.iter().find(|slot| slot.flow == Some(flow)).map_or(0.0, |slot| slot.share);
        self.pace.rate * weight + bonus
    }

    fn clock(&self) -> f64 {
        self.clock.as_f64()
    }

    fn flows(&self) -> usize {
        self.served.len()
    }

    fn alpha(&self) -> Alpha {
        self.alpha
    }

    fn totals(&self) -> [f64; MAX_RESOURCES] {
        self.tally().totals()
    }
}
