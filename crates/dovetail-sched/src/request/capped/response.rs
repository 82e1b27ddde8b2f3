//! What one response was let have.

#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) total: Option<u64>,
    /// Whether the policy knows of it.
    pub(super) is_told: bool,
    pub(super) is_released: bool,
    /// Whether the environment waits for the policy's turn.
    pub(super) is_asked: bool,
    /// Whether its connection offered a window before the policy knew of it.
    pub(super) is_offered: bool,
    /// Units that the policy permits and the environment was not handed yet.
    pub(super) leave: u64,
    pub(super) handed: u64,
    pub(super) received: u64,
    /// Units that may be on their way beyond those; [`u64::MAX`] if the policy gives no windows.
    pub(super) window: u64,
    /// What it may have brought by now, and what of that was taken from its class's bucket.
    pub(super) charged: u64,
    pub(super) taken: u64,
    /// What was taken for a turn that the policy is to give.
    pub(super) reserved: u64,
}

impl Response {
    /// What it may have brought over the link.
    pub(super) fn target(&self) -> u64 {
        let window = if self.window == u64::MAX { 0 } else { self.window };
        let target = self.handed.saturating_add(window);
        self.total.map_or(target, |total| target.min(total)).max(self.received)
    }

    /// What a release may bring.
    pub(super) fn reserve(&self, quantum: u64, window: u64) -> u64 {
        let brings = quantum.saturating_add(window.max(self.window));
        self.total.map_or(brings, |total| brings.min(total))
    }

    /// Hands it up to `quantum` of its leave, or to the end all that its window lets it send anyway.
    pub(super) fn hand(&mut self, quantum: u64) -> u64 {
        let window = if self.window == u64::MAX { 0 } else { self.window };
        let rest = self.total.map(|total| total.saturating_sub(self.handed));
        let is_last = rest.is_some_and(|rest| rest <= quantum.saturating_add(window));
        let units = if is_last { self.leave } else { self.leave.min(quantum) };
        if self.leave != u64::MAX || units == u64::MAX {
            self.leave -= units;
        }
        self.handed = self.handed.saturating_add(units);
        units
    }
}
