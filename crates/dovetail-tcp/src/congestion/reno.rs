//! Reno: one segment a round trip, and half after a loss (RFC 5681, sections 3.1 and 3.2).

use super::window::Window;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Reno;

impl Reno {
    pub(super) const fn segments_per_growth(self, window: &Window) -> u32 {
        window.segments
    }

    pub(super) const fn threshold(self, window: &Window) -> u32 {
        window.segments / 2
    }
}
