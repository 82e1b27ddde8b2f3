//! Backlogged flows, grouped by the direction of their head-of-line packets.
//!
//! To the linear program a group is one column, however many flows are in it; [turns](super::turns) decide which of them is
//! favoured. A box with a few functions and a few packet sizes has a few groups. A direction is kept for a while after its last
//! flow has left, so that flows that come and go allocate nothing.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, VecDeque},
    vec,
    vec::Vec,
};

use super::{
    Direction, Ends, Grant, GroupId, Simplex,
    ends::{place_of, shares_at},
    turns::{Queue, Seat},
    units::work,
};
use crate::{Demand, FlowId, Nanos, flow::FlowMap};

/// The number of directions kept without flows, beyond as many as have flows: half a megabyte at most, for packets of every
/// size.
const SPARE_GROUPS: usize = 2048;

/// The size of the table in which recently used directions are found without a search.
const RECENT: usize = 16_384;

/// Above this, a group's tags are rebased.
const HIGHEST_TAG: u64 = 1 << 62;

/// The groups, and the allocator that distributes what is left over among them.
#[derive(Debug)]
pub(super) struct Groups {
    // Whether there are at most two resources.
    are_short: bool,
    ids: BTreeMap<Direction, GroupId>,
    recent: Vec<GroupId>,
    groups: Vec<Group>,
    // By group.
    directions: Vec<Direction>,
    // Groups that lost their last flow, oldest first; some may have flows again.
    idle: VecDeque<GroupId>,
    live: usize,
    group_of: FlowMap<Membership>,
    seats: FlowMap<Seat>,
    allocator: Allocator,
}

/// The part of a group's state that every packet needs, in one cache line.
#[derive(Debug)]
#[repr(align(64))]
struct Group {
    // The place of its direction; with at most two resources it determines the direction.
    place: u64,
    // The times, on at most two resources, of the packet with which a flow last joined, and its work at weight 1.
    last: [Nanos; 2],
    work: u64,
    flows: u32,
    turns: Queue,
    floor: u64,
    // Whether it is in the queue of idle groups, and whether it is known to the allocator.
    idle: bool,
    listed: bool,
}

/// A flow's group, or none.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Membership(GroupId);

impl Default for Membership {
    fn default() -> Self {
        Self(GroupId(u32::MAX))
    }
}

#[derive(Debug)]
enum Allocator {
    ClosedForm(Ends),
    Program(Box<Simplex>),
}

/// A few bits of the place of a direction over two resources.
#[inline]
fn digest_of(place: u64) -> u32 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u32
}

impl Groups {
    pub(super) fn new(resources: usize) -> Self {
        let allocator = if resources <= 2 {
            Allocator::ClosedForm(Ends::new())
        } else {
            Allocator::Program(Box::new(Simplex::new(resources)))
        };
        Self {
            are_short: resources <= 2,
            ids: BTreeMap::new(),
            recent: vec![GroupId(u32::MAX); RECENT],
            groups: Vec::new(),
            directions: Vec::new(),
            idle: VecDeque::new(),
            live: 0,
            group_of: FlowMap::new(),
            seats: FlowMap::new(),
            allocator,
        }
    }

    /// The direction of the flow's head-of-line packet, if it is in a group.
    #[inline]
    pub(super) fn direction(&self, flow: FlowId) -> Option<Direction> {
        let id = self.group_of.peek(flow)?.0.0 as usize;
        let group = self.groups.get(id)?;
        Some(if self.are_short { Direction::with_shares(shares_at(group.place)) } else { self.directions[id] })
    }

    /// Whether two directions are equal, comparing only the resources in use.
    #[inline]
    pub(super) fn are_equal(&self, one: &Direction, other: &Direction) -> bool {
        if self.are_short { one.equals_of_two(other) } else { one == other }
    }

    /// The packet's work at weight 1, if its times on at most two resources are those with which a flow last joined this flow's
    /// group. The direction need not be computed then.
    #[inline]
    pub(super) fn work_like_last(&self, flow: FlowId, times: [Nanos; 2]) -> Option<u64> {
        let group = self.group_with(flow)?;
        (group.last == times).then_some(group.work)
    }

    /// The flow's group.
    #[inline]
    fn group_with(&self, flow: FlowId) -> Option<&Group> {
        // The id of "no group" is out of range.
        self.groups.get(self.group_of.peek(flow)?.0.0 as usize)
    }

    /// Prefetches the flow's state.
    #[inline]
    pub(super) fn prefetch(&self, flow: FlowId) {
        self.group_of.prefetch(flow);
        self.seats.prefetch(flow);
    }

    /// Adds a flow, which must be in no group, whose head-of-line packet has this demand and direction. O(log n).
    pub(super) fn join(&mut self, flow: FlowId, demand: &Demand, direction: &Direction) {
        let id = self.find_or_make(direction);
        let group = &mut self.groups[id.0 as usize];
        if group.flows == 0 {
            self.live += 1;
            if !core::mem::replace(&mut group.listed, true) {
                match &mut self.allocator {
                    Allocator::ClosedForm(ends) => ends.insert(id, direction),
                    Allocator::Program(simplex) => simplex.insert(id, direction),
                }
            }
        }
        group.flows += 1;
        group.last = demand.first_two();
        group.work = work(demand.dominant(), 1.0);
        *self.group_of.at(flow) = Membership(id);
        let seat = self.seats.at(flow);
        seat.tag = group.floor.saturating_add(seat.tag);
        group.turns.insert(self.seats.as_mut_slice(), flow);
    }

    /// Removes the flow from its group. O(log n) amortised.
    pub(super) fn leave(&mut self, flow: FlowId) {
        let Membership(id) = core::mem::take(self.group_of.at(flow));
        let Some(group) = self.groups.get_mut(id.0 as usize) else { return };
        group.turns.remove(self.seats.as_mut_slice(), flow);
        let seat = self.seats.at(flow);
        seat.tag = seat.tag.saturating_sub(group.floor);
        group.flows -= 1;
        if group.flows > 0 {
            return;
        }
        group.floor = 0;
        self.live -= 1;
        if !group.idle {
            group.idle = true;
            self.idle.push_back(id);
        }
        // Unless it is at one of the ends, a group without flows does no harm.
        if let Allocator::Program(simplex) = &mut self.allocator {
            group.listed = false;
            simplex.remove(id);
        }
    }

    /// Begins a turn of the group's flow that has received least.
    #[inline]
    pub(super) fn begin_turn(&mut self, id: GroupId) -> Option<FlowId> {
        let group = &mut self.groups[id.0 as usize];
        let flow = group.turns.first(self.seats.as_mut_slice())?;
        group.floor = group.floor.max(self.seats.at(flow).tag);
        if group.floor > HIGHEST_TAG {
            self.set_back(id);
        }
        Some(flow)
    }

    /// Ends a turn of the flow, which has received this much per unit of weight. O(log n) amortised.
    #[inline]
    pub(super) fn end_turn(&mut self, flow: FlowId, received: u64) {
        let Some(&Membership(id)) = self.group_of.peek(flow).filter(|_| received > 0) else { return };
        let Some(Group { turns, .. }) = self.groups.get_mut(id.0 as usize) else { return };
        turns.remove(self.seats.as_mut_slice(), flow);
        let seat = self.seats.at(flow);
        seat.tag = seat.tag.saturating_add(received);
        turns.insert_again(self.seats.as_mut_slice(), flow);
    }

    /// Forgets the lead of a flow that is in no group.
    pub(super) fn forget(&mut self, flow: FlowId) {
        debug_assert!(self.group_with(flow).is_none());
        self.seats.reset(flow);
    }

    /// Distributes what is left of each resource.
    #[inline]
    pub(super) fn share_out(&mut self, spare: &[f64]) -> &[Grant] {
        match &mut self.allocator {
            Allocator::ClosedForm(ends) => {
                while let Some((low, high)) = ends.ends() {
                    let without_flows = |id: &GroupId| self.groups[id.0 as usize].flows == 0;
                    let Some(id) = [low, high].into_iter().find(without_flows) else { break };
                    self.groups[id.0 as usize].listed = false;
                    ends.remove(id);
                }
                ends.solve(spare)
            }
            Allocator::Program(simplex) => simplex.solve(spare),
        }
    }

    /// The last result of [`share_out`](Self::share_out).
    pub(super) fn grants(&self) -> &[Grant] {
        match &self.allocator {
            Allocator::ClosedForm(ends) => ends.grants(),
            Allocator::Program(simplex) => simplex.grants(),
        }
    }

    #[inline]
    fn find_or_make(&mut self, direction: &Direction) -> GroupId {
        let place = place_of(direction);
        let digest = if self.are_short { digest_of(place) } else { direction.digest() };
        let slot = digest as usize % RECENT;
        // Each digest has two slots, so two directions may share one.
        for slot in [slot, slot ^ 1] {
            let id = self.recent[slot];
            if self.groups.get(id.0 as usize).is_some_and(|group| group.place == place)
                && (self.are_short || self.directions[id.0 as usize] == *direction)
            {
                return id;
            }
        }
        let id = self.search_or_make(direction);
        self.recent[slot ^ 1] = core::mem::replace(&mut self.recent[slot], id);
        id
    }

    /// Sets the lead of a flow that is in no group.
    #[cfg(test)]
    pub(super) fn set_lead(&mut self, flow: FlowId, lead: u64) {
        self.seats.at(flow).tag = lead;
    }

    fn search_or_make(&mut self, direction: &Direction) -> GroupId {
        if let Some(&id) = self.ids.get(direction) {
            return id;
        }
        let group = Group {
            place: place_of(direction),
            last: [Nanos::ZERO; 2],
            work: 0,
            flows: 0,
            turns: Queue::EMPTY,
            floor: 0,
            idle: false,
            listed: false,
        };
        let id = match self.reusable() {
            Some(id) => {
                self.groups[id.0 as usize] = group;
                self.ids.remove(&core::mem::replace(&mut self.directions[id.0 as usize], *direction));
                if let Allocator::ClosedForm(ends) = &mut self.allocator {
                    ends.remove(id);
                }
                id
            }
            None => {
                self.groups.push(group);
                self.directions.push(*direction);
                GroupId((self.groups.len() - 1) as u32)
            }
        };
        self.ids.insert(*direction, id);
        id
    }

    /// The group that has been without flows for longest, once there are many.
    fn reusable(&mut self) -> Option<GroupId> {
        while self.groups.len() > 2 * self.live + SPARE_GROUPS {
            let id = self.idle.pop_front()?;
            let group = &mut self.groups[id.0 as usize];
            group.idle = false;
            if group.flows == 0 {
                return Some(id);
            }
        }
        None
    }

    /// Rebases the group's tags by its floor. O(flows), once in 2^62 grains of bonus.
    #[cold]
    fn set_back(&mut self, id: GroupId) {
        let floor = core::mem::take(&mut self.groups[id.0 as usize].floor);
        for (membership, seat) in self.group_of.as_slice().iter().zip(self.seats.as_mut_slice()) {
            if *membership == Membership(id) {
                seat.tag = seat.tag.saturating_sub(floor);
            }
        }
    }
}
