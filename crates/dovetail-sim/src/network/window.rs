//! A receive window that closes when its owner does not read.
//!
//! A gateway that schedules responses holds the sender back by the window that it tells, and may tell a longer one later.
//! smoltcp's window is the room in a buffer of fixed size. So its buffer here is as long as the window may ever be, and the
//! segments that leave are narrowed to the edge that the application set, as a kernel narrows them to `SO_RCVBUF`. Where
//! the edge moved and nothing leaves that could say so, the last acknowledgement is sent again with the new window.

use smoltcp::wire::{Ipv4Packet, TcpPacket};

use super::{headers::ip_header_bytes, wire::Wire};

#[derive(Debug)]
pub(super) struct Window {
    /// The first byte of the stream that may not be sent.
    edge: u64,
    // What the other end was told last, and how far the buffer would let that go.
    told: u64,
    reachable: u64,
    shift: u8,
    // The sequence number of the stream's first byte, and an acknowledgement to say news with.
    first: Option<u32>,
    last: Vec<u8>,
}

impl Window {
    /// `receive_bytes`: the length of the socket's buffer.
    pub(super) fn new(receive_bytes: usize) -> Self {
        let bits = usize::BITS - receive_bytes.leading_zeros();
        // As smoltcp scales it (RFC 7323, section 2.3).
        let shift = bits.saturating_sub(16) as u8;
        Self { edge: 0, told: 0, reachable: 0, shift, first: None, last: Vec::new() }
    }

    /// The first byte of the stream that may not be sent.
    pub(super) const fn edge(&self) -> u64 {
        self.edge
    }

    pub(super) fn reach(&mut self, edge: u64) {
        self.edge = self.edge.max(edge);
    }

    /// Narrows the segments that leave, and adds one if the edge is news that none of them tells.
    pub(super) fn narrow(&mut self, wire: &mut Wire) {
        let mut says = false;
        for packet in wire.leaving() {
            self.keep(packet);
            says |= self.tell(packet);
        }
        if !says && self.told < self.edge.min(self.reachable) {
            let mut packet = wire.buffer();
            packet.clear();
            packet.extend_from_slice(&self.last);
            self.tell(&mut packet);
            wire.leaves(packet);
        }
    }

    /// Sets the window of a segment; false if it has none that counts.
    fn tell(&mut self, packet: &mut [u8]) -> bool {
        let header = ip_header_bytes(packet);
        let ip = Ipv4Packet::new_unchecked(&packet[..]);
        let (from, to) = (ip.src_addr(), ip.dst_addr());
        let mut segment = TcpPacket::new_unchecked(&mut packet[header..]);
        if !counts(&segment) {
            return false;
        }
        let acknowledged = segment.ack_number().0 as u32;
        let first = *self.first.get_or_insert(acknowledged);
        // The stream may be longer than sequence numbers: what is acknowledged is near what was told.
        let told_at = first.wrapping_add(self.told as u32);
        let behind = told_at.wrapping_sub(acknowledged) as i32;
        let at = self.told.saturating_add_signed(-i64::from(behind));
        let room = u64::from(segment.window_len()) << self.shift;
        self.reachable = at + room;
        let window = self.edge.saturating_sub(at).div_ceil(1 << self.shift).min(room >> self.shift);
        segment.set_window_len(window as u16);
        segment.fill_checksum(&from.into(), &to.into());
        self.told = self.told.max(at + (window << self.shift));
        true
    }

    /// Keeps an acknowledgement as wide as it was, without data: what was sent is not sent again.
    fn keep(&mut self, packet: &[u8]) {
        let header = ip_header_bytes(packet);
        let segment = TcpPacket::new_unchecked(&packet[header..]);
        if !counts(&segment) {
            return;
        }
        let (length, data, from) = (usize::from(segment.header_len()), segment.payload().len(), segment.seq_number());
        self.last.clear();
        self.last.extend_from_slice(&packet[..header + length]);
        let mut ip = Ipv4Packet::new_unchecked(&mut self.last[..]);
        ip.set_total_len((header + length) as u16);
        ip.fill_checksum();
        let mut bare = TcpPacket::new_unchecked(&mut self.last[header..]);
        bare.set_seq_number(from + data);
        bare.set_psh(false);
    }
}

/// Whether a segment's window is scaled and binding.
fn counts<T: AsRef<[u8]>>(segment: &TcpPacket<T>) -> bool {
    !segment.syn() && !segment.rst() && segment.ack()
}
