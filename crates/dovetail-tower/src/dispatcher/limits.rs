//! Limits on queued requests, which bound memory under overload.

use thiserror::Error;

/// Maximum numbers of requests queued for release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitLimits {
    /// Limit for one user.
    pub user: u32,
    /// Limit for all users together.
    pub all: u32,
}

impl WaitLimits {
    /// No limit.
    pub const UNLIMITED: Self = Self { user: u32::MAX, all: u32::MAX };

    /// Whether one more request may be queued on top of these.
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
    /// The request's user has too many.
    #[error("too many requests of this user are queued")]
    User,
    /// All users together have too many.
    #[error("too many requests are queued")]
    All,
}
