//! Subjects that are measured step by step.

/// Number of packet sizes; a prime, so that every flow gets all of them.
pub const SIZES: usize = 61;

/// A subject that can be stepped.
pub trait Subject {
    /// One step: the operation that is measured, such as one dequeue and one enqueue.
    ///
    /// # Errors
    /// What went wrong, if the subject failed.
    fn step(&mut self) -> Result<(), String>;

    /// Whether every flow still has the number of packets given by [`packets_of`]; in a full buffer, whether all have together.
    fn is_as_filled(&self, flows: u32) -> bool;
}

/// Number of packets of the flow queued between steps.
pub fn packets_of(flow: u32) -> u32 {
    2 + flow % 2
}

/// Pseudo-random sizes, the same every time (SplitMix64).
pub fn sizes() -> [u32; SIZES] {
    let mut state = 0u64;
    std::array::from_fn(|_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        64 + ((z ^ (z >> 31)) % (1500 - 64 + 1)) as u32
    })
}
