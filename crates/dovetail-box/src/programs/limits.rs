//! Resource limits of programs.

use super::answer::MAX_FRAME_BYTES;

/// Maximum length of a module.
pub const MODULE_BYTES: u64 = 4 << 20;

/// Maximum number of programs in a folder.
pub const MAX_PROGRAMS: usize = 256;

/// Maximum length of a name.
pub(super) const NAME_LENGTH: usize = 64;

/// Resource limits of a program, and the treatment of one that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramLimits {
    /// Fuel per packet: about one unit per instruction, and per byte of those that copy or fill. Creating an instance and
    /// requesting its buffer get the same amount. A prototype stopped an endless loop on the default, a million, within 0.6
    /// ms; handling 1,500 bytes at 20 instructions each takes 30,000.
    pub fuel_per_packet: u64,
    /// Maximum memory in bytes, 1 MiB by default.
    pub memory_bytes: usize,
    /// Maximum length of a frame that it is given; longer ones are dropped as too long. By default the maximum IP packet
    /// with an Ethernet header and two VLAN tags.
    pub frame_bytes: usize,
    /// Maximum growth of a frame in bytes: 256 by default, enough for a tunnel's headers.
    pub growth_bytes: usize,
    /// Number of traps and other failures after which it is quarantined, 8 by default. A prototype recreated an instance in
    /// 8 µs, which is the cost of a failure in addition to its fuel.
    pub traps: u32,
    /// Number of packets that it must handle for one failure to be forgotten; 0: never. By default 10,000, so that a
    /// program that fails on a rare packet is not quarantined after a month.
    pub packets_to_forget_a_trap: u32,
    /// What happens to the packets of a quarantined program.
    pub quarantined: Quarantined,
}

/// What happens to the packets of a quarantined program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quarantined {
    /// They are dropped. The default: making a filter trap must not be a way around it.
    #[default]
    Drop,
    /// They are forwarded unchanged.
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
    /// Required size of a program's buffer.
    pub(super) fn buffer_bytes(&self) -> usize {
        self.longest_answer(self.frame_bytes)
    }

    /// Maximum length of the answer to a frame of `length` bytes.
    pub(super) fn longest_answer(&self, length: usize) -> usize {
        length.saturating_add(self.growth_bytes).min(MAX_FRAME_BYTES)
    }
}
