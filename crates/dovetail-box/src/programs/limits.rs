//! What a program may take.

use super::answer::LONGEST;

/// The longest module.
pub const MODULE_BYTES: u64 = 4 << 20;

/// The most programs of a folder.
pub const MOST_PROGRAMS: usize = 256;

/// The longest name.
pub(super) const NAME_LENGTH: usize = 64;

/// What a program may take of the box, and what happens to one that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Fuel for one packet: about one unit for each instruction, and for each byte of those that copy or fill. Making
    /// an instance and asking for its buffer have as much. A prototype stopped an endless loop on the default, a
    /// million, within 0.6 ms; handling 1,500 bytes at 20 instructions each takes 30,000.
    pub fuel_per_packet: u64,
    /// Bytes of its memory at most, 1 MiB by default.
    pub memory_bytes: usize,
    /// The longest frame that it is given; longer ones are dropped as too long. By default what an IP packet can be,
    /// with an Ethernet header and two VLAN tags.
    pub frame_bytes: usize,
    /// By how many bytes it may make a frame longer: 256 by default, enough for a tunnel's headers.
    pub growth_bytes: usize,
    /// Traps and other failures after which it is in quarantine, 8 by default. A prototype made an instance anew in
    /// 8 µs, which is what a failure costs beside its fuel.
    pub traps: u32,
    /// Packets that it has to handle for one failure to be forgotten; 0: none ever is. By default 10,000, so that a
    /// program that fails on a rare packet is not in quarantine after a month.
    pub packets_to_forget_a_trap: u32,
    /// What happens to the packets of one in quarantine.
    pub quarantined: Quarantined,
}

/// What happens to the packets of a program in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quarantined {
    /// They are dropped. The default: making a filter trap must not be a way past it.
    #[default]
    Drop,
    /// They are forwarded as they came.
    Forward,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            fuel_per_packet: 1_000_000,
            memory_bytes: 1 << 20,
            frame_bytes: 14 + 2 * 4 + 65_535,
            growth_bytes: 256,
            traps: 8,
            packets_to_forget_a_trap: 10_000,
            quarantined: Quarantined::Drop,
        }
    }
}

impl ProgramLimits {
    /// The bytes that a program's buffer has to have.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.longest_answer(self.frame_bytes)
    }

    /// How long the answer to a frame of `length` bytes may be.
    pub(super) fn longest_answer(&self, length: usize) -> usize {
        length.saturating_add(self.growth_bytes).min(LONGEST)
    }
}
