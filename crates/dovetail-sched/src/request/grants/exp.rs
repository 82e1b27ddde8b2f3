//! The exponential function, which is not in `core`.

/// e^x to 12 digits; `x` is clamped to -9 to 9, the widest range that is needed.
pub(super) fn exp(x: f64) -> f64 {
    let x = x.clamp(-9.0, 9.0) / 1024.0;
    let mut power = 1.0 + x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * (1.0 + x / 4.0 * (1.0 + x / 5.0))));
    for _ in 0..10 {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_the_exponential() {
        for x in [-9.0, -8.3, -1.0, -1e-9, 0.0, 1e-5, 0.35, 4.2, 9.0] {
            let error = exp(x) / f64::exp(x) - 1.0;
            assert!(error.abs() < 1e-12, "{x}: {error}");
        }
        assert!(exp(f64::MAX) > 4096.0 && exp(f64::MIN) < 1.0 / 4096.0);
    }
}
