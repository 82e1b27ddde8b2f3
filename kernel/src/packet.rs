//! What is read in a packet, and the mark that a queue puts on it.

use std::fmt;

use etherparse::{IpEcn, Ipv4Header, Ipv4Slice, TcpOptionElement, TcpSlice};

/// The receivers' port: packets to it are on the way through the bottleneck.
pub const SERVICE: u16 = 8080;

/// The headers of a packet.
#[derive(Debug, Clone)]
pub struct Headers {
    /// The sender's port, which says whose it is.
    pub port: u16,
    /// From the sender to the receiver.
    pub is_forward: bool,
    /// Its first sequence number, and that of what is expected.
    pub sequence: u32,
    pub acknowledgement: u32,
    pub is_syn: bool,
    pub is_fin: bool,
    pub has_ack: bool,
    pub is_reset: bool,
    pub window: u16,
    /// The shift that a SYN states.
    pub shift: Option<u8>,
    pub payload_bytes: u32,
    /// Blocks of a selective acknowledgement.
    pub blocks: Vec<(u32, u32)>,
}

impl Headers {
    /// `None` for what is no segment of ours.
    pub fn of(packet: &[u8]) -> Option<Self> {
        let ip = Ipv4Slice::from_slice(packet).ok()?;
        let tcp = TcpSlice::from_slice(ip.payload().payload).ok()?;
        let is_forward = tcp.destination_port() == SERVICE;
        if ip.payload().ip_number.0 != 6 || (!is_forward && tcp.source_port() != SERVICE) {
            return None;
        }
        let (mut shift, mut blocks) = (None, Vec::new());
        for option in tcp.options_iterator().flatten() {
            match option {
                TcpOptionElement::WindowScale(by) => shift = Some(by),
                TcpOptionElement::SelectiveAcknowledgement(first, others) => {
                    blocks.push(first);
                    blocks.extend(others.into_iter().flatten());
                }
                _ => {}
            }
        }
        Some(Self {
            port: if is_forward { tcp.source_port() } else { tcp.destination_port() },
            is_forward,
            sequence: tcp.sequence_number(),
            acknowledgement: tcp.acknowledgment_number(),
            is_syn: tcp.syn(),
            is_fin: tcp.fin(),
            has_ack: tcp.ack(),
            is_reset: tcp.rst(),
            window: tcp.window_size(),
            shift,
            payload_bytes: tcp.payload().len() as u32,
            blocks,
        })
    }
}

/// A line of a trace, numbers relative to the two ends' first.
pub struct Traced<'a>(pub &'a Headers, pub u32, pub u32);

impl fmt::Display for Traced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(headers, ours, theirs) = self;
        let flag = |is_set, name| if is_set { name } else { "" };
        let flags = [
            flag(headers.is_syn, "S"),
            flag(headers.is_fin, "F"),
            flag(headers.is_reset, "R"),
            flag(headers.has_ack, "."),
        ]
        .concat();
        let way = if headers.is_forward { '>' } else { '<' };
        let (sequence, acknowledgement) =
            (headers.sequence.wrapping_sub(*ours), headers.acknowledgement.wrapping_sub(*theirs));
        write!(f, "{way} {flags} {sequence}+{} ack {acknowledgement} win {}", headers.payload_bytes, headers.window)?;
        for (from, to) in &headers.blocks {
            write!(f, " [{},{})", from.wrapping_sub(*theirs), to.wrapping_sub(*theirs))?;
        }
        Ok(())
    }
}

/// Marks a packet whose sender knows what that means (RFC 3168, section 5).
pub fn mark(packet: &mut [u8]) {
    let Ok((mut header, _)) = Ipv4Header::from_slice(packet) else { return };
    if header.ecn.value() == 0 {
        return;
    }
    header.ecn = IpEcn::THREE;
    header.header_checksum = header.calc_header_checksum();
    let bytes = header.to_bytes();
    if let Some(place) = packet.get_mut(..bytes.len()) {
        place.copy_from_slice(&bytes);
    }
}
