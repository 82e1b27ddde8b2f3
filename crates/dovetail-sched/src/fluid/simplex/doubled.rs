//! Sums of products in doubled precision, by error-free transformations (Ogita, Rump and Oishi, *Accurate sum and dot product*,
//! SIAM J. Sci. Comput. 26(6), 2005): the rounding error of a sum or a product is itself a number, and can be computed.

/// `from` less the sum of the products, rounded about once.
pub(super) fn residual(from: f64, products: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut lost) = (from, 0.0);
    for (a, b) in products {
        let (product, of_product) = multiply(-a, b);
        let (total, of_sum) = add(sum, product);
        sum = total;
        lost += of_product + of_sum;
    }
    sum + lost
}

/// The sum and its rounding error (Knuth).
fn add(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The product and its rounding error (Dekker). Exact unless something over- or underflows.
fn multiply(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    (product, a_low * b_low - (product - a_high * b_high - a_low * b_high - a_high * b_low))
}

/// Splits a number into the sum of two with half of the digits each (Veltkamp).
fn halves(a: f64) -> (f64, f64) {
    let shifted = a * ((1_u64 << 27) + 1) as f64;
    let high = shifted - (shifted - a);
    (high, a - high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_plain_sums_lose() {
        let tiny = 1.0 / (1_u64 << 40) as f64;
        let (a, b) = (1.0 + tiny, 1.0 - tiny);
        assert_eq!(1.0 - a * b, 0.0);
        assert_eq!(residual(1.0, [(a, b)].into_iter()), tiny * tiny);
        assert_eq!(residual(1e16, [(1.0, 1e16), (-3.0, 1.0 / 3.0)].into_iter()), 3.0 * (1.0 / 3.0));
        let third = 1.0 / 3.0;
        // 1 - 3 * (1/3) is exactly 2^-54.
        assert_eq!(residual(1.0, [(3.0, third)].into_iter()), 1.0 / (1_u64 << 54) as f64);
    }
}
