//! Requests and responses held back by their class's rate, and which of each class is served next.

use alloc::vec::Vec;

use crate::{
    IndexedHeap,
    request::{
        ClassId, RequestId, UserId,
        accounts::slot_mut,
        lines::{Line, Links},
    },
};

/// A user's new requests go before their responses while fewer responses than this are in flight.
const FEW: u32 = 4;

/// Held requests, and responses with units waiting.
#[derive(Debug, Default)]
pub(super) struct Held {
    shares: Vec<Share>,
    links: Links,
    // By class: users with something held, by their service.
    users: Vec<IndexedHeap<UserId, u64>>,
    count: usize,
}

/// A user's state.
#[derive(Debug, Default)]
struct Share {
    // Units charged in classes with a rate.
    service: u64,
    in_flight: u32,
    requests: Line,
    responses: Line,
}

impl Share {
    /// The request that goes on first.
    fn first(&self) -> Option<RequestId> {
        let (request, response) = (self.requests.first(), self.responses.first());
        if self.in_flight < FEW { request.or(response) } else { response.or(request) }
    }

    fn line(&mut self, has_begun: bool) -> &mut Line {
        if has_begun { &mut self.responses } else { &mut self.requests }
    }
}

/// The next request of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) request: RequestId,
    pub(super) user: UserId,
    /// The user's service.
    pub(super) service: u64,
}

impl Held {
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn contains(&self, request: RequestId) -> bool {
        self.links.contains(request)
    }

    /// One more than the largest id of a class of which anything was ever held.
    pub(super) const fn classes(&self) -> usize {
        self.users.len()
    }

    /// The next request of the class's user with the least service. O(1).
    pub(super) fn next(&self, class: ClassId) -> Option<Next> {
        let (user, service) = self.users.get(class.0 as usize)?.peek()?;
        let request = self.shares.get(user.0 as usize)?.first()?;
        Some(Next { request, user, service })
    }

    /// Holds a request, or a response that has begun. A user of whom nothing else is held starts with no less service than the
    /// least of the others in the class, or than `served` if there are none. O(log users), as are the following.
    pub(super) fn add(&mut self, request: RequestId, user: UserId, class: ClassId, has_begun: bool, served: u64) {
        if self.contains(request) {
            return;
        }
        self.links.push(slot_mut(&mut self.shares, user.0).line(has_begun), request);
        self.count += 1;
        if !slot_mut(&mut self.users, class.0).contains(user) {
            self.join(user, class, served);
        }
    }

    /// A user who joins has no claim to earlier service.
    fn join(&mut self, user: UserId, class: ClassId, served: u64) {
        let (share, users) = (slot_mut(&mut self.shares, user.0), slot_mut(&mut self.users, class.0));
        share.service = share.service.max(users.peek().map_or(served, |(_, least)| least));
        users.set(user, share.service);
    }

    /// Removes what was held, because it goes on or is over.
    pub(super) fn remove(&mut self, request: RequestId, user: UserId, class: ClassId, has_begun: bool) {
        if !self.contains(request) {
            return;
        }
        let share = slot_mut(&mut self.shares, user.0);
        self.links.remove(share.line(has_begun), request);
        self.count -= 1;
        if share.first().is_none() {
            slot_mut(&mut self.users, class.0).remove(user);
        }
    }

    /// Changes the user's service in this class.
    pub(super) fn charge(&mut self, user: UserId, class: ClassId, becomes: impl FnOnce(u64) -> u64) {
        let share = slot_mut(&mut self.shares, user.0);
        share.service = becomes(share.service);
        let users = slot_mut(&mut self.users, class.0);
        if users.contains(user) {
            users.set(user, share.service);
        }
    }

    /// A response of the user was released.
    pub(super) fn begun(&mut self, user: UserId) {
        slot_mut(&mut self.shares, user.0).in_flight += 1;
    }

    /// A released response of the user is over.
    pub(super) fn over(&mut self, user: UserId) {
        slot_mut(&mut self.shares, user.0).in_flight -= 1;
    }

    /// Moves the user, with everything held, to another class.
    pub(super) fn moves(&mut self, user: UserId, before: ClassId, class: ClassId) {
        if let Some(users) = self.users.get_mut(before.0 as usize).filter(|users| users.contains(user)) {
            users.remove(user);
            self.join(user, class, 0);
        }
    }

    pub(super) fn forget(&mut self, user: UserId) {
        if let Some(share) = self.shares.get_mut(user.0 as usize) {
            share.service = 0;
        }
    }
}
