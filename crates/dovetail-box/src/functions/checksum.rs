//! The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit words.

/// Adds bytes to an Internet checksum (RFC 1071), as a running sum. Every part but the last must have an even number of
/// bytes. Linear in the bytes, eight per step.
#[must_use]
pub fn sum(bytes: &[u8], before: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let halves = |word: [u8; 8]| {
        let word = u64::from_ne_bytes(word);
        (word >> 32) + (word & 0xffff_ffff)
    };
    let wide = words.iter().fold(halves(last), |sum, &word| sum + halves(word));
    // Byte order does not matter until the end: a carry out of one half of a word goes into the other (RFC 1071, 2 B).
    before + u64::from(u16::from_be(fold(wide)))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Folds a sum into the checksum that goes into a header.
#[must_use]
pub fn finish(sum: u64) -> u16 {
    !fold(sum)
}

/// Folds a sum into UDP's checksum: zero means that there is none, so a sum of zero is sent in its other form (RFC 768).
pub(crate) fn finish_udp(sum: u64) -> u16 {
    match finish(sum) {
        0 => u16::MAX,
        checksum => checksum,
    }
}

/// The checksum after one 16-bit word has changed (RFC 1624, equation 3): HC' = ~(~HC + ~m + m').
#[must_use]
pub fn adjusted(checksum: u16, old: u16, new: u16) -> u16 {
    finish(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the definition: two-byte words, one at a time.
        #[test]
        fn a_sum_of_wide_words_is_that_of_narrow_ones(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            even in any::<prop::sample::Index>(),
        ) {
            let narrow = bytes.chunks(2).fold(0u32, |sum, pair| {
                let sum = sum + u32::from(pair[0]) * 256 + pair.get(1).map_or(0, |&low| u32::from(low));
                if sum > 0xffff { sum - 0xffff } else { sum }
            });
            prop_assert_eq!(u32::from(!finish(sum(&bytes, 0))), narrow);
            let (first, second) = bytes.split_at(even.index(bytes.len() / 2 + 1) * 2);
            prop_assert_eq!(u32::from(!finish(sum(second, sum(first, 0)))), narrow, "in two parts");
        }

        #[test]
        fn a_changed_word_changes_the_checksum_as_summing_again_would(
            mut words in prop::collection::vec(any::<u16>(), 1..20),
            at in any::<prop::sample::Index>(),
            new in any::<u16>(),
        ) {
            let bytes = |words: &[u16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
            // A header is never all zeros: its version is not zero.
            words.push(0x4500);
            let before = finish(sum(&bytes(&words), 0));
            let at = at.index(words.len() - 1);
            let old = std::mem::replace(&mut words[at], new);
            prop_assert_eq!(adjusted(before, old, new), finish(sum(&bytes(&words), 0)));
        }
    }
}
