//! Anti-replay window: which sequence numbers have been seen, so that none is accepted twice (RFC 4303, 3.4.3).
//!
//! Packets may arrive out of order: for each of the [`SIZE`] numbers up to the highest seen, one bit records whether it has
//! arrived; anything older counts as a replay. The bits lie in a ring of words, one word longer than the window, so that it
//! moves by whole words, without shifting (RFC 6479, 2).

/// Size of the window: RFC 4303 (3.4.3) demands 32 and recommends 64; packets that took several paths or went through
/// several processors may be later than that.
pub const SIZE: u32 = 1024;

const WORDS: u32 = SIZE / u64::BITS + 1;

/// The numbers seen so far. Fixed size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    highest: u32,
    seen: [u64; WORDS as usize],
}

impl Default for Window {
    /// Nothing has been seen. There is no number 0 (RFC 4303, 3.3.3), so it can serve as the highest.
    fn default() -> Self {
        Self { highest: 0, seen: [0; WORDS as usize] }
    }
}

impl Window {
    /// Whether a number has not been seen yet; `false` if it is older than the window. Constant time.
    #[must_use]
    pub fn is_new(&self, number: u32) -> bool {
        let has_come = || self.seen[word(number)] & bit(number) != 0;
        number > self.highest || (number != 0 && self.highest - number < SIZE && !has_come())
    }

    /// Records a number that [is new](Self::is_new). Call it only once its packet is authenticated: a forged one must not
    /// move the window. Constant time.
    pub fn note(&mut self, number: u32) {
        if !self.is_new(number) {
            return;
        }
        if number > self.highest {
            let from = self.highest / u64::BITS;
            let entered = (number / u64::BITS - from).min(WORDS);
            for word in 1..=entered {
                // The sum does not overflow: `from` is at most a 64th of the largest number, and `word` at most 17.
                self.seen[((from + word) % WORDS) as usize] = 0;
            }
            self.highest = number;
        }
        self.seen[word(number)] |= bit(number);
    }
}

const fn word(number: u32) -> usize {
    (number / u64::BITS % WORDS) as usize
}

const fn bit(number: u32) -> u64 {
    1 << (number % u64::BITS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    /// The window as RFC 4303 describes it, recording every number ever seen.
    #[derive(Default)]
    struct Naive(BTreeSet<u32>);

    impl Naive {
        fn takes(&mut self, number: u32) -> bool {
            let oldest = self.0.last().map_or(0, |highest| highest.saturating_sub(SIZE - 1));
            number != 0 && number >= oldest && self.0.insert(number)
        }
    }

    proptest! {
        #[test]
        fn it_takes_what_a_set_takes(
            start in prop_oneof![Just(0u32), any::<u32>(), Just(u32::MAX - 3000)],
            steps in prop::collection::vec(
                prop_oneof![6 => -1100i64..20, 3 => 0i64..3, 1 => 0i64..5000, 1 => Just(64), 1 => Just(1024)],
                1..400,
            ),
        ) {
            let (mut window, mut naive) = (Window::default(), Naive::default());
            let mut highest = i64::from(start);
            for step in steps {
                let number = (highest + step).clamp(0, u32::MAX.into()) as u32;
                let is_new = naive.takes(number);
                prop_assert_eq!(window.is_new(number), is_new, "{} after {}", number, highest);
                let before = window;
                window.note(number);
                prop_assert!(is_new || window == before, "an old number changes nothing");
                prop_assert!(!window.is_new(number));
                if is_new {
                    highest = highest.max(number.into());
                }
            }
        }
    }

    #[test]
    fn its_ends() {
        let mut window = Window::default();
        assert!(!window.is_new(0));
        window.note(u32::MAX);
        let oldest = u32::MAX - (SIZE - 1);
        assert_eq!([u32::MAX, oldest - 1, oldest].map(|number| window.is_new(number)), [false, false, true]);
    }
}
