//! Reorders packets: they leave in another order than they arrived, and files list them in order of arrival.

use std::collections::VecDeque;

/// The packets from the oldest one without an outcome on.
#[derive(Debug)]
pub(super) struct Window<T> {
    packets: VecDeque<(T, bool)>,
    /// The number of the first packet.
    first: u64,
}

/// Maximum number of packets that wait for the oldest one's outcome: some seconds of a fast link. Beyond it, that packet is
/// returned without an outcome.
const MAX_PACKETS: usize = 1 << 20;

impl<T> Default for Window<T> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), first: 0 }
    }
}

impl<T> Window<T> {
    /// Adds the next packet.
    pub(super) fn push(&mut self, packet: T) {
        self.packets.push_back((packet, false));
    }

    /// Records a packet's outcome.
    pub(super) fn settle(&mut self, number: u64, settle: impl FnOnce(&mut T)) {
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some((packet, is_settled)) = at.and_then(|at| self.packets.get_mut(at)) {
            settle(packet);
            *is_settled = true;
        }
    }

    /// The oldest packet, if its outcome is known.
    pub(super) fn pop(&mut self) -> Option<T> {
        let (_, is_settled) = self.packets.front()?;
        (*is_settled || self.packets.len() > MAX_PACKETS).then(|| self.pop_any()).flatten()
    }

    /// The oldest packet, whether or not its outcome is known.
    pub(super) fn pop_any(&mut self) -> Option<T> {
        let (packet, _) = self.packets.pop_front()?;
        self.first += 1;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_out_in_their_order_once_they_are_settled() {
        let mut window = Window::default();
        for packet in ['a', 'b', 'c'] {
            window.push(packet);
        }
        window.settle(1, |packet| *packet = 'B');
        assert_eq!(window.pop(), None);
        window.settle(0, |_| ());
        assert_eq!([window.pop(), window.pop(), window.pop()], [Some('a'), Some('B'), None]);
        // A packet that has left the window, and one that never entered it.
        window.settle(0, |packet| *packet = 'x');
        window.settle(9, |packet| *packet = 'x');
        assert_eq!([window.pop_any(), window.pop_any()], [Some('c'), None]);
    }
}
