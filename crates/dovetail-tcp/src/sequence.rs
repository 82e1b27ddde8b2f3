//! Sequence numbers.
//!
//! On the wire they have 32 bits and wrap (RFC 9293, section 3.4). In this crate a *place* in a stream is a `u64` that never
//! wraps: the SYN is at place 0, the first byte at 1, and the FIN one after the last byte. A number on the wire is mapped to
//! the place nearest to a known one.

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    initial: u32,
}

impl Sequence {
    pub(crate) const fn new(initial: u32) -> Self {
        Self { initial }
    }

    /// The number of a place on the wire.
    pub(crate) const fn number(self, place: u64) -> u32 {
        self.initial.wrapping_add(place as u32)
    }

    /// The place of a number, within 2 GiB of `near`; `None` if that is before the SYN.
    pub(crate) fn place(self, number: u32, near: u64) -> Option<u64> {
        let apart = number.wrapping_sub(self.number(near)) as i32;
        near.checked_add_signed(apart.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_and_places_do_not() {
        let stream = Sequence::new(u32::MAX - 1);
        assert_eq!([stream.number(0), stream.number(1), stream.number(2)], [u32::MAX - 1, u32::MAX, 0]);
        let far = 5 * (1 << 32) + 7;
        assert_eq!(stream.place(stream.number(far), far - 1000), Some(far));
        assert_eq!(stream.place(stream.number(far - 1000), far), Some(far - 1000));
        assert_eq!(stream.place(u32::MAX - 2, 0), None, "before the SYN");
    }
}
