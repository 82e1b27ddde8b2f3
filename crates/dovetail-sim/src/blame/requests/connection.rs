//! A connection from the gateway to a server, as seen at the watched link.

use crate::blame::segment::Segment;

/// A connection as seen by the link.
#[derive(Debug)]
pub(super) struct Connection {
    /// The user whose request it carries or carried last.
    pub(super) user: usize,
    /// The request that it carries.
    pub(super) request: Option<usize>,
    /// Whether anything of that request's response has reached the link.
    pub(super) has_answered: bool,
    /// Number of its packets that wait for the link.
    pub(super) waiting: u32,
    pub(super) is_on_link: bool,
    /// Starts of segments that were dropped and have neither arrived again nor been read.
    pub(super) lost: Vec<u32>,
    // Number of the first segment, a SYN without data: the stream begins after it.
    synchronised: Option<u32>,
    // Bytes of the stream read so far, and how many when this request was released.
    read: u64,
    begins: u64,
}

impl Connection {
    pub(super) fn new(user: usize) -> Self {
        Self {
            user,
            request: None,
            has_answered: false,
            waiting: 0,
            is_on_link: false,
            lost: Vec::new(),
            synchronised: None,
            read: 0,
            begins: 0,
        }
    }

    /// From here on it carries this request; `before` bytes precede the response.
    pub(super) fn carries(&mut self, request: usize, user: usize, before: u64) {
        self.user = user;
        self.request = Some(request);
        self.has_answered = false;
        self.lost.clear();
        self.begins = self.read + before;
    }

    /// A packet arrived at the link.
    pub(super) fn waits(&mut self, segment: Option<Segment>) {
        self.waiting += 1;
        if let Some(segment) = segment {
            self.comes(segment);
            self.lost.retain(|&from| !segment.covers(from));
        }
    }

    /// A packet was dropped; `waited` tells whether it had been queued.
    pub(super) fn dropped(&mut self, segment: Option<Segment>, waited: bool) {
        self.waiting -= u32::from(waited);
        let Some(segment) = segment else { return };
        self.comes(segment);
        // A pure acknowledgement is not retransmitted.
        let is_sent_again = segment.bytes > 0 || self.synchronised == Some(segment.from);
        if is_sent_again && !self.lost.contains(&segment.from) && !self.is_read(segment.from) {
            self.lost.push(segment.from);
        }
    }

    /// The link starts to send a packet.
    pub(super) fn taken(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        self.is_on_link = true;
    }

    /// The link has sent the packet.
    pub(super) fn left(&mut self) {
        self.is_on_link = false;
    }

    /// The gateway read more bytes.
    pub(super) fn read(&mut self, bytes: u64) {
        self.read += bytes;
        let mut lost = std::mem::take(&mut self.lost);
        lost.retain(|&from| !self.is_read(from));
        self.lost = lost;
    }

    fn comes(&mut self, Segment { from, bytes }: Segment) {
        self.synchronised.get_or_insert(from);
        let ends = self.place(from.wrapping_add(bytes));
        self.has_answered |= bytes > 0 && ahead(ends, self.begins as u32) > 0;
    }

    /// Whether the byte with this number has been read.
    fn is_read(&self, number: u32) -> bool {
        self.read > 0 && ahead(self.read as u32, self.place(number)) > 0
    }

    /// Offset in the stream of the byte with this number.
    fn place(&self, number: u32) -> u32 {
        number.wrapping_sub(self.synchronised.unwrap_or(number)).wrapping_sub(1)
    }
}

/// By how much the first of two offsets is ahead of the other; both wrap.
fn ahead(of: u32, other: u32) -> i32 {
    of.wrapping_sub(other) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(from: u32, bytes: u32) -> Option<Segment> {
        Some(Segment { from, bytes })
    }

    #[test]
    fn a_response_begins_with_a_byte_of_its_own() {
        let mut connection = Connection::new(0);
        connection.carries(0, 0, 0);
        // The stream's first byte has the number u32::MAX: numbers wrap.
        connection.waits(segment(u32::MAX - 1, 0));
        connection.waits(segment(u32::MAX, 0));
        assert!(!connection.has_answered);
        connection.waits(segment(u32::MAX, 10));
        assert!(connection.has_answered);
        connection.read(10);
        connection.carries(1, 0, 0);
        // What is repeated from the previous response does not count for this one.
        connection.waits(segment(u32::MAX, 10));
        assert!(!connection.has_answered);
        connection.waits(segment(9, 1));
        assert!(connection.has_answered);
    }

    #[test]
    fn what_is_dropped_is_lost_until_it_comes_again_or_is_read() {
        let mut connection = Connection::new(0);
        connection.carries(0, 0, 0);
        connection.dropped(segment(7, 0), false);
        assert_eq!(connection.lost, [7]);
        connection.waits(segment(7, 0));
        assert!(connection.lost.is_empty());
        // A pure acknowledgement is not retransmitted.
        connection.dropped(segment(8, 0), false);
        assert!(connection.lost.is_empty());
        connection.dropped(segment(8, 10), false);
        connection.dropped(segment(18, 10), false);
        connection.waits(segment(8, 5));
        assert_eq!(connection.lost, [18]);
        // It had arrived before: the dropped segment was a repetition.
        connection.read(15);
        assert!(connection.lost.is_empty());
        connection.dropped(segment(8, 10), false);
        assert!(connection.lost.is_empty());
    }
}
