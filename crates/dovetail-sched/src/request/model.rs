//! What a gateway's scheduler speaks of: classes, users, requests and turns.

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
    /// What the environment calls it.
    pub id: RequestId,
    /// Whose it is.
    pub user: UserId,
    /// How many units the response will have, where that is known before it is released.
    pub length: Option<u64>,
}

/// What the environment is to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The request.
    pub request: RequestId,
    /// Whether it is released by this turn; else it was before.
    pub releases: bool,
    /// So many more units of the response may be taken in; [`u64::MAX`] for all there will be.
    pub units: u64,
    /// This many units beyond those that may be taken in may be on their way: the receive window.
    pub window: u64,
}
