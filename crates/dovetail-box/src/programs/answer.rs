//! The number that a program returns for a packet.

use std::ops::Range;

use crate::functions::frame::ETHERNET;

/// Version of the interface between programs and box, as `dv_abi` must return it.
pub const ABI: i32 = 1;

/// Minimum length of a frame that a program may return: an Ethernet header.
pub const MIN_FRAME_BYTES: usize = ETHERNET;

/// Bits of the length, the lowest ones.
const LENGTH_BITS: u32 = 24;
/// Bits of the address, above it.
const ADDRESS_BITS: u32 = 32;

/// Maximum length that an answer can hold.
pub(super) const MAX_FRAME_BYTES: usize = (1 << LENGTH_BITS) - 1;

/// What a program decided for its packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// Send the packet on unchanged.
    Untouched,
    /// Send these bytes of the memory.
    Forward(Range<usize>),
    /// Drop the packet.
    Drop,
}

impl Answer {
    /// Decodes the answer of a program with this memory, whose frame may be `most` bytes long; `None` if it is invalid.
    pub(super) fn read(answer: i64, memory_bytes: usize, most: usize) -> Option<Self> {
        let answer = answer.cast_unsigned();
        let part = |from: u32, bits: u32| usize::try_from(answer >> from & ((1 << bits) - 1)).ok();
        match answer >> (LENGTH_BITS + ADDRESS_BITS) {
            0 => Some(Self::Untouched),
            1 => {
                let (address, length) = (part(LENGTH_BITS, ADDRESS_BITS)?, part(0, LENGTH_BITS)?);
                let end = address.checked_add(length).filter(|&end| end <= memory_bytes)?;
                (MIN_FRAME_BYTES..=most).contains(&length).then_some(Self::Forward(address..end))
            }
            2 => Some(Self::Drop),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_part_is_where_the_table_has_it() {
        let read = |answer| Answer::read(answer, 1 << 20, 1600);
        assert_eq!(read(0), Some(Answer::Untouched));
        // The example of the book.
        assert_eq!(read(0x0100_0010_0400_003c), Some(Answer::Forward(4100..4160)));
        assert_eq!(read(0x0100_0010_0000_05dc), Some(Answer::Forward(0x1000..0x1000 + 1500)));
        assert_eq!(read(0x0200_0000_0000_0000), Some(Answer::Drop));
        // Address and length are ignored with any verdict but 1.
        assert_eq!(read(0x00ff_ffff_ffff_ffff), Some(Answer::Untouched));
        assert_eq!(read(0x02ff_ffff_ffff_ffff), Some(Answer::Drop));
    }

    #[test]
    fn the_bounds_are_those_of_the_memory_and_of_the_length() {
        let forward = |address: i64, length: i64| Answer::read(1 << 56 | address << 24 | length, 4096, 100);
        assert_eq!(forward(0, 14), Some(Answer::Forward(0..14)));
        assert_eq!(forward(0, 13), None);
        assert_eq!(forward(0, 100), Some(Answer::Forward(0..100)));
        assert_eq!(forward(0, 101), None);
        assert_eq!(forward(3996, 100), Some(Answer::Forward(3996..4096)));
        assert_eq!(forward(3997, 100), None);
        assert_eq!(forward(0xffff_ffff, 14), None);
    }

    proptest! {
        #[test]
        fn no_number_leads_out_of_the_memory(
            verdict in prop_oneof![Just(1i64), 0..256i64],
            rest in any::<i64>(),
            memory in 0usize..1 << 21,
            most in 0usize..1 << 25,
        ) {
            let answer = verdict << 56 | (rest & ((1 << 56) - 1));
            match Answer::read(answer, memory, most) {
                Some(Answer::Forward(frame)) => {
                    prop_assert_eq!(verdict, 1);
                    prop_assert!(frame.end <= memory && frame.len() <= most && frame.len() >= MIN_FRAME_BYTES);
                }
                Some(Answer::Untouched) => prop_assert_eq!(verdict, 0),
                Some(Answer::Drop) => prop_assert_eq!(verdict, 2),
                None => prop_assert!(verdict != 0 && verdict != 2),
            }
        }
    }
}
