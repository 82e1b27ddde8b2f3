//! Lines of waiting requests.
//!
//! A request may be cancelled wherever it is in a line, and a user may take all of theirs to another class. So lines are linked
//! through tables by request: joining and leaving is O(1) anywhere, and nothing allocates once the tables have grown to the
//! largest id.

use alloc::vec::Vec;

use super::{ClassId, RequestId, UserId, accounts::slot_mut};

const NO_REQUEST: u32 = u32::MAX;
const NOT_IN_LINE: u32 = u32::MAX - 1;

/// The ends of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    first: u32,
    last: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self { first: NO_REQUEST, last: NO_REQUEST }
    }
}

impl Line {
    #[inline]
    pub(super) fn first(self) -> Option<RequestId> {
        (self.first != NO_REQUEST).then_some(RequestId(self.first))
    }
}

#[derive(Debug, Clone, Copy)]
struct Neighbours {
    before: u32,
    after: u32,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { before: NOT_IN_LINE, after: NO_REQUEST }
    }
}

/// The links of any number of lines; a request is in at most one.
#[derive(Debug, Default)]
pub(super) struct Links {
    neighbours: Vec<Neighbours>,
}

impl Links {
    /// Whether the request is in a line.
    #[inline]
    pub(super) fn contains(&self, request: RequestId) -> bool {
        self.neighbours.get(request.0 as usize).is_some_and(|beside| beside.before != NOT_IN_LINE)
    }

    /// The request behind one that is in a line.
    #[inline]
    fn after(&self, request: RequestId) -> Option<RequestId> {
        let after = self.neighbours.get(request.0 as usize)?.after;
        (after != NO_REQUEST).then_some(RequestId(after))
    }

    /// Adds the request, which must be in no line, at the end of `line`.
    #[inline]
    pub(super) fn push(&mut self, line: &mut Line, request: RequestId) {
        let before = core::mem::replace(&mut line.last, request.0);
        *slot_mut(&mut self.neighbours, request.0) = Neighbours { before, after: NO_REQUEST };
        if before == NO_REQUEST {
            line.first = request.0;
        } else {
            self.neighbours[before as usize].after = request.0;
        }
    }

    /// Removes the request from `line`, which it must be in.
    #[inline]
    pub(super) fn remove(&mut self, line: &mut Line, request: RequestId) {
        let Neighbours { before, after } = core::mem::take(&mut self.neighbours[request.0 as usize]);
        match before {
            NO_REQUEST => line.first = after,
            _ => self.neighbours[before as usize].after = after,
        }
        match after {
            NO_REQUEST => line.last = before,
            _ => self.neighbours[after as usize].before = before,
        }
    }
}

/// A line for every class; users may change their class.
#[derive(Debug, Default)]
pub(super) struct ClassLines {
    classes: Vec<Line>,
    users: Vec<Line>,
    by_class: Links,
    by_user: Links,
    len: usize,
}

impl ClassLines {
    /// The number of requests in all lines.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether the request is in a line.
    #[inline]
    pub(super) fn contains(&self, request: RequestId) -> bool {
        self.by_class.contains(request)
    }

    /// The first request in the class's line.
    #[inline]
    pub(super) fn first(&self, class: ClassId) -> Option<RequestId> {
        self.classes.get(class.0 as usize)?.first()
    }

    /// Adds the user's request to the class's line, unless it is in one already.
    #[inline]
    pub(super) fn push(&mut self, request: RequestId, user: UserId, class: ClassId) {
        if !self.contains(request) {
            self.by_class.push(slot_mut(&mut self.classes, class.0), request);
            self.by_user.push(slot_mut(&mut self.users, user.0), request);
            self.len += 1;
        }
    }

    /// Removes the user's request from the class's line; returns false if it is in none.
    #[inline]
    pub(super) fn remove(&mut self, request: RequestId, user: UserId, class: ClassId) -> bool {
        if !self.contains(request) {
            return false;
        }
        self.by_class.remove(&mut self.classes[class.0 as usize], request);
        self.by_user.remove(&mut self.users[user.0 as usize], request);
        self.len -= 1;
        true
    }

    /// Moves all of the user's requests in line to the end of another class's, in the same order. O(their number).
    pub(super) fn move_user(&mut self, user: UserId, from: ClassId, to: ClassId) {
        let mut next = self.users.get(user.0 as usize).and_then(|line| line.first());
        while let Some(request) = next {
            self.by_class.remove(&mut self.classes[from.0 as usize], request);
            self.by_class.push(slot_mut(&mut self.classes, to.0), request);
            next = self.by_user.after(request);
        }
    }
}
