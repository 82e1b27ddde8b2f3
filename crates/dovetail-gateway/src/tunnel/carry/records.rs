//! Finds where TLS records end in what a server sends (RFC 8446, section 5.1).
//!
//! A client can use no part of a record before all of it has arrived, so passing on its parts one by one only costs CPU time.

/// Type, version and length.
const HEADER_BYTES: usize = 5;
/// ChangeCipherSpec to Heartbeat (RFC 6520).
const TYPES: std::ops::RangeInclusive<u8> = 20..=24;
/// SSL 3.0 and all of TLS.
const MAJOR_VERSION: u8 = 3;
/// RFC 5246, section 6.2.3: before TLS 1.3 they could be longer.
const MAX_RECORD_BYTES: u16 = (1 << 14) + 2_048;

/// What was read last.
#[derive(Debug, Clone, Copy)]
pub(super) enum Records {
    /// This many bytes of the next header.
    Header([u8; HEADER_BYTES], usize),
    /// A record, except for this many bytes of its end.
    Part(usize),
    /// No TLS.
    None,
}

impl Records {
    /// Nothing has been read yet.
    pub(super) const START: Self = Self::Header([0; HEADER_BYTES], 0);

    /// Reads on. O(1) for each record.
    pub(super) fn read(self, mut bytes: &[u8]) -> Self {
        let mut this = self;
        while !bytes.is_empty() {
            let taken;
            (this, taken) = match this {
                Self::Header(header, there) => Self::head(header, there, bytes),
                Self::Part(rest) if rest > bytes.len() => (Self::Part(rest - bytes.len()), bytes.len()),
                Self::Part(rest) => (Self::START, rest),
                Self::None => return this,
            };
            bytes = &bytes[taken..];
        }
        this
    }

    /// Reads on in a header; returns how many bytes it takes as well.
    fn head(mut header: [u8; HEADER_BYTES], there: usize, bytes: &[u8]) -> (Self, usize) {
        let taken = bytes.len().min(HEADER_BYTES - there);
        header[there..there + taken].copy_from_slice(&bytes[..taken]);
        if there + taken < HEADER_BYTES {
            return (Self::Header(header, there + taken), taken);
        }
        let [kind, major, _, length @ ..] = header;
        let length = u16::from_be_bytes(length);
        let is_record = TYPES.contains(&kind) && major == MAJOR_VERSION && length <= MAX_RECORD_BYTES;
        let this = match usize::from(length) {
            _ if !is_record => Self::None,
            0 => Self::START,
            rest => Self::Part(rest),
        };
        (this, taken)
    }

    /// How many bytes of a record are missing of which others have been read.
    pub(super) const fn missing(self) -> u64 {
        match self {
            Self::Part(rest) => rest as u64,
            Self::Header(..) | Self::None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(kind: u8, length: u16) -> Vec<u8> {
        let mut record = vec![kind, 3, 3];
        record.extend(length.to_be_bytes());
        record.resize(HEADER_BYTES + usize::from(length), 0xff);
        record
    }

    proptest! {
        #[test]
        fn a_record_ends_where_it_says_however_it_arrives(
            lengths in prop::collection::vec(0..=MAX_RECORD_BYTES, 1..5),
            pieces in prop::collection::vec(1..5_000_usize, 1..20),
        ) {
            let sent: Vec<_> = lengths.iter().flat_map(|&length| record(23, length)).collect();
            // For every number of bytes that have arrived, how many are missing.
            let of = |length: u16| {
                let header = std::iter::repeat_n(0, HEADER_BYTES - 1);
                header.chain((1..=u64::from(length)).rev()).chain([0])
            };
            let missing: Vec<_> = [0].into_iter().chain(lengths.iter().flat_map(|&length| of(length))).collect();
            let (mut records, mut at) = (Records::START, 0);
            for piece in pieces.iter().cycle() {
                let to = (at + piece).min(sent.len());
                records = records.read(&sent[at..to]);
                at = to;
                prop_assert_eq!(records.missing(), missing[at]);
                if at == sent.len() {
                    break;
                }
            }
        }
    }

    #[test]
    fn what_is_no_record_ends_the_search() {
        let too_long = record(23, MAX_RECORD_BYTES + 1);
        for begin in
            [&b"HTTP/1.1 200 OK\r\n"[..], b"SSH-2.0-OpenSSH_9.9\r\n", &[19, 3, 3, 0, 9], &[22, 2, 0, 0, 9], &too_long]
        {
            let records = Records::START.read(begin).read(&record(23, 100)[..50]);
            assert!(matches!(records, Records::None) && records.missing() == 0, "{begin:?}");
        }
    }
}
