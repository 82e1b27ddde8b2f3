//! How many requests may wait, so that a crowd cannot fill the memory.

use thiserror::Error;

/// How many requests may wait for their release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// Of one user.
    pub user: u32,
    /// Of all users together.
    pub all: u32,
}

impl WaitLimits {
    /// No limit.
    pub const UNLIMITED: Self = Self { user: u32::MAX, all: u32::MAX };

    /// Whether one more request may be queued beside these.
    pub(super) fn check(&self, of_user: u32, of_all: u32) -> Result<(), Overloaded> {
        if of_user >= self.user {
            return Err(Overloaded::User);
        }
        if of_all >= self.all {
            return Err(Overloaded::All);
        }
        Ok(())
    }
}

/// Too many requests are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Overloaded {
    /// Of the request's user.
    #[error("too many requests of this user are queued")]
    User,
    /// Of all users together.
    #[error("too many requests are queued")]
    All,
}
