//! What is measured step by step.

/// How many sizes of packets there are; a prime, so that they meet all flows.
pub const SIZES: usize = 61;

/// Something that can be stepped.
pub trait Subject {
    /// What is measured: here one dequeue and one enqueue.
    ///
    /// # Errors
    /// What went wrong, if the subject would not.
    fn step(&mut self) -> Result<(), String>;

    /// Whether every flow still has the packets that [`packets_of`] says; in a full buffer, whether all have together.
    fn is_as_filled(&self, flows: u32) -> bool;
}

/// How many packets of the flow wait between steps.
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
