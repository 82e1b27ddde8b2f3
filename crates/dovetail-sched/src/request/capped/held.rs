//! What is held of classes that have had what they may have, and who of each class is served next.

use alloc::vec::Vec;

use crate::{
    IndexedHeap,
    request::{
        ClassId, RequestId, UserId,
        accounts::slot_mut,
        lines::{Line, Links},
    },
};

/// So many responses of a user are begun before those that have begun go first.
const FEW: u32 = 4;

/// Requests, and responses of which units wait.
#[derive(Debug, Default)]
pub(super) struct Held {
    shares: Vec<Share>,
    links: Links,
    // Users of each class of whom something is held, by their service.
    users: Vec<IndexedHeap<UserId, u64>>,
    count: usize,
}

/// What a user has.
#[derive(Debug, Default)]
struct Share {
    // Units that were charged in a class with a rate.
    service: u64,
    in_flight: u32,
    requests: Line,
    responses: Line,
}

impl Share {
    /// What is to go on first.
    fn first(&self) -> Option<RequestId> {
        let (request, response) = (self.requests.first(), self.responses.first());
        if self.in_flight < FEW { request.or(response) } else { response.or(request) }
    }

    fn line(&mut self, has_begun: bool) -> &mut Line {
        if has_begun { &mut self.responses } else { &mut self.requests }
    }
}

/// The next that a class may have go on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    pub(super) request: RequestId,
    pub(super) user: UserId,
    /// The user's.
    pub(super) service: u64,
}

impl Held {
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn contains(&self, request: RequestId) -> bool {
        self.links.contains(request)
    }

    /// One more than the last class of which anything was ever held.
    pub(super) const fn classes(&self) -> usize {
        self.users.len()
    }

    /// The class's user with the least service is next. O(1).
    pub(super) fn next(&self, class: ClassId) -> Option<Next> {
        let (user, service) = self.users.get(class.0 as usize)?.peek()?;
        let request = self.shares.get(user.0 as usize)?.first()?;
        Some(Next { request, user, service })
    }

    /// Holds a request, or a response that has begun, of a user who begins with no less service than others, or than `served`
    /// if nothing else of the class is held. O(log users), as the following.
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

    /// A user who begins has no claim to what was before.
    fn join(&mut self, user: UserId, class: ClassId, served: u64) {
        let (share, users) = (slot_mut(&mut self.shares, user.0), slot_mut(&mut self.users, class.0));
        share.service = share.service.max(users.peek().map_or(served, |(_, least)| least));
        users.set(user, share.service);
    }

    /// What was held goes on, or is over.
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

    /// The user's service in this class becomes more, or less.
    pub(super) fn charge(&mut self, user: UserId, class: ClassId, becomes: impl FnOnce(u64) -> u64) {
        let share = slot_mut(&mut self.shares, user.0);
        share.service = becomes(share.service);
        let users = slot_mut(&mut self.users, class.0);
        if users.contains(user) {
            users.set(user, share.service);
        }
    }

    /// A response of the user has begun.
    pub(super) fn begun(&mut self, user: UserId) {
        slot_mut(&mut self.shares, user.0).in_flight += 1;
    }

    /// A response of the user that had begun is over.
    pub(super) fn over(&mut self, user: UserId) {
        slot_mut(&mut self.shares, user.0).in_flight -= 1;
    }

    /// The user changes classes, with what is held.
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
