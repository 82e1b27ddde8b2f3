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
    /// As many as come.
    pub const UNLIMITED: Self = Self { user: u32::MAX, all: u32::MAX };

    /// Whether one more may wait where so many do.
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

/// Who has too many requests are queueding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Overloaded {
    /// The user who asked.
    #[error("too many requests of this user are queued")]
    User,
    /// All users together.
    #[error("too many requests are queued")]
    All,
}
