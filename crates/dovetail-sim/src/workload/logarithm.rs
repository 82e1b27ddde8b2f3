//! The logarithm of what is drawn by chance.
//!
//! `libm`'s, which is FreeBSD's `e_log.c`, for numbers from 2^-53 to 1 only:
//!
//! > Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun Microsystems, Inc. business.
//! > Permission to use, copy, modify, and distribute this software is freely granted, provided that this notice is preserved.

/// The logarithm of a number from 2^-53 to 1: `libm`'s, to the last bit, without its looks for numbers that are none, are
/// not positive or not normal. Its constants, and its steps in their order. A packet of a run takes 22 instructions less.
#[inline]
pub(super) fn ln(x: f64) -> f64 {
    const LN2_HI: f64 = 6.931_471_803_691_238e-1;
    const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;
    const LG1: f64 = 6.666_666_666_666_735e-1;
    const LG2: f64 = 3.999_999_999_940_942e-1;
    const LG3: f64 = 2.857_142_874_366_239e-1;
    const LG4: f64 = 2.222_219_843_214_978_4e-1;
    const LG5: f64 = 1.818_357_216_161_805e-1;
    const LG6: f64 = 1.531_383_769_920_937_3e-1;
    const LG7: f64 = 1.479_819_860_511_658_6e-1;
    // The upper half of the square root of 1/2, and of 1.
    const ROOT: u64 = 0x3fe6_a09e << 32;
    const ONE: u64 = 0x3ff0_0000 << 32;

    debug_assert!((f64::EPSILON / 2.0..=1.0).contains(&x));
    // x = 2^k (1 + f), with 1 + f between the roots of 1/2 and of 2.
    let bits = x.to_bits() + (ONE - ROOT);
    let k = (bits >> 52) as i32 - 0x3ff;
    let f = f64::from_bits((bits & ((1 << 52) - 1)) + ROOT) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (LG2 + w * (LG4 + w * LG6));
    let odd = z * (LG1 + w * (LG3 + w * (LG5 + w * LG7)));
    let rest = odd + even;
    let k = f64::from(k);
    s * (half_square + rest) + k * LN2_LO - half_square + f + k * LN2_HI
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::random::Random;

    #[test]
    fn the_logarithm_is_libm_s_to_the_last_bit() {
        let mut random = Random::new(5, 0);
        let drawn = (0..2_000_000).map(|_| 1.0 - random.unit());
        let powers = (0..=53).map(|exponent| 1.0 / (1u64 << exponent) as f64);
        // Around every power of 2, and around the roots where what is left of them changes sides.
        let edges = (0..53).flat_map(|exponent| {
            [1.0f64, core::f64::consts::FRAC_1_SQRT_2].into_iter().flat_map(move |edge| {
                let bits = (edge / (1u64 << exponent) as f64).to_bits();
                (bits - 1000..bits + 1000).map(f64::from_bits)
            })
        });
        let upper = (0..53).flat_map(|exponent| {
            let word = 0x3fe6_a09e - (exponent << 20);
            [word - 1, word, word + 1].map(|word: u64| f64::from_bits(word << 32))
        });
        let in_range = |x: &f64| (f64::EPSILON / 2.0..=1.0).contains(x);
        for x in drawn.chain(powers).chain(edges).chain(upper).filter(in_range) {
            assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "{x:e}");
        }
    }
}
