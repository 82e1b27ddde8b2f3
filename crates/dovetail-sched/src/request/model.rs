//! The terms of request scheduling: classes, users, requests and turns.

use crate::DenseId;

macro_rules! dense_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl DenseId for $name {
            #[inline]
            fn from_index(index: u32) -> Self {
                Self(index)
            }
            #[inline]
            fn to_index(self) -> u32 {
                self.0
            }
        }
    };
}

dense_id! {
    /// A request and its response, while they last.
    RequestId
}
dense_id! {
    /// A source of requests: an address, or an authenticated name.
    UserId
}
dense_id! {
    /// Users with a common weight.
    ClassId
}

/// A request that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its id, chosen by the environment.
    pub id: RequestId,
    /// Its user.
    pub user: UserId,
    /// The response's length in units, if it is known before the release.
    pub length: Option<u64>,
}

/// What the environment should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The request.
    pub request: RequestId,
    /// Whether this turn releases the request; otherwise it was released before.
    pub releases: bool,
    /// The number of further units of the response that may be taken in; [`u64::MAX`] for all of them.
    pub units: u64,
    /// The number of units that may be in flight beyond those that may be taken in: the receive window.
    pub window: u64,
}
