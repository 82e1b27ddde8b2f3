//! The BPF instructions that the switch's kernel programs use.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::live::sys::bpf::Instruction;

/// A register: r0 holds return values, r1 to r5 are arguments and clobbered by calls, r6 to r9 are preserved.
#[derive(Clone, Copy)]
pub(super) struct Register(u8);

pub(super) const R0: Register = Register(0);
pub(super) const R1: Register = Register(1);
pub(super) const R2: Register = Register(2);
#[cfg(feature = "af-xdp")]
pub(super) const R3: Register = Register(3);
pub(super) const R6: Register = Register(6);
pub(super) const R7: Register = Register(7);
pub(super) const R8: Register = Register(8);
#[cfg(feature = "af-xdp")]
pub(super) const R9: Register = Register(9);
/// The end of the stack, which grows down.
pub(super) const STACK: Register = Register(10);

/// Offset of an array's only index for [`LOOK_UP`]: the lowest word of the stack.
pub(super) const KEY: i16 = -4;

/// `bpf_map_lookup_elem(r1: map, r2: address of the index)`: the address of the value, for this processor, or 0.
pub(super) const LOOK_UP: i32 = 1;
/// `bpf_ktime_get_ns()`: `CLOCK_MONOTONIC`.
pub(super) const NOW: i32 = 5;

pub(super) const NO: Register = Register(0);

pub(super) const fn instruction(code: u8, to: Register, from: Register, offset: i16, immediate: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") { from.0 << 4 | to.0 } else { to.0 << 4 | from.0 };
    Instruction { code, registers, offset, immediate }
}

/// to = value
pub(super) const fn set(to: Register, value: i32) -> Instruction {
    instruction(0xb7, to, NO, 0, value)
}

/// to = from
pub(super) const fn copy(to: Register, from: Register) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

/// to += value
pub(super) const fn add(to: Register, value: i32) -> Instruction {
    instruction(0x07, to, NO, 0, value)
}

/// to = the eight bytes at `address`
pub(super) const fn read(to: Register, address: Register) -> Instruction {
    instruction(0x79, to, address, 0, 0)
}

/// the eight bytes at `address` = from
pub(super) const fn write(address: Register, from: Register) -> Instruction {
    instruction(0x7b, address, from, 0, 0)
}

/// the eight bytes at `address` = 0
pub(super) const fn clear(address: Register) -> Instruction {
    instruction(0x7a, address, NO, 0, 0)
}

/// the four bytes at `address + offset` = 0
pub(super) const fn clear_word(address: Register, offset: i16) -> Instruction {
    instruction(0x62, address, NO, offset, 0)
}

/// r0 = the four bytes at this offset of the frame, which r6 refers to; r1 to r5 are clobbered
pub(super) const fn frame_word(at: i32) -> Instruction {
    instruction(0x20, NO, NO, 0, at)
}

/// r0 = the two bytes at this offset of the frame, which r6 refers to; r1 to r5 are clobbered
pub(super) const fn frame_half(at: i32) -> Instruction {
    instruction(0x28, NO, NO, 0, at)
}

/// skips this many instructions if the register is not `value`
pub(super) const fn skip_if_not(register: Register, value: i32, skipped: i16) -> Instruction {
    instruction(0x55, register, NO, skipped, value)
}

/// skips this many instructions if the register < value, unsigned
pub(super) const fn skip_if_below(register: Register, value: i32, skipped: i16) -> Instruction {
    instruction(0xa5, register, NO, skipped, value)
}

/// r0 = function(r1, …)
pub(super) const fn call(function: i32) -> Instruction {
    instruction(0x85, NO, NO, 0, function)
}

/// skips this many instructions if the register is 0
pub(super) const fn skip_if_zero(register: Register, skipped: i16) -> Instruction {
    instruction(0x15, register, NO, skipped, 0)
}

/// skips this many instructions if one ≥ other, unsigned
pub(super) const fn skip_if_not_below(one: Register, other: Register, skipped: i16) -> Instruction {
    instruction(0x3d, one, other, skipped, 0)
}

/// the program returns r0
pub(super) const fn exit() -> Instruction {
    instruction(0x95, NO, NO, 0, 0)
}

/// to = the array itself, as functions take it: two instructions
pub(super) fn array(to: Register, array: BorrowedFd<'_>) -> [Instruction; 2] {
    const MAP: Register = Register(1);
    [instruction(0x18, to, MAP, 0, array.as_raw_fd()), instruction(0, NO, NO, 0, 0)]
}

/// to = the address of the first value of a shared array: two instructions
pub(super) fn first_value(to: Register, array: BorrowedFd<'_>) -> [Instruction; 2] {
    const VALUE_OF_MAP: Register = Register(2);
    [instruction(0x18, to, VALUE_OF_MAP, 0, array.as_raw_fd()), instruction(0, NO, NO, 0, 0)]
}

/// Instructions that only the AF_XDP program uses.
#[cfg(feature = "af-xdp")]
mod more {
    use super::{Instruction, NO, Register, instruction};

    /// to = the four bytes at `address + offset`
    pub(in super::super) const fn read_word(to: Register, address: Register, offset: i16) -> Instruction {
        instruction(0x61, to, address, offset, 0)
    }

    /// to = the two bytes at `address + offset`
    pub(in super::super) const fn read_half(to: Register, address: Register, offset: i16) -> Instruction {
        instruction(0x69, to, address, offset, 0)
    }

    /// the four bytes at `address + offset` = from
    pub(in super::super) const fn write_word(address: Register, offset: i16, from: Register) -> Instruction {
        instruction(0x63, address, from, offset, 0)
    }

    /// the two bytes at `address + offset` = from
    pub(in super::super) const fn write_half(address: Register, offset: i16, from: Register) -> Instruction {
        instruction(0x6b, address, from, offset, 0)
    }

    /// the eight bytes at `address + offset` = 0
    pub(in super::super) const fn clear_at(address: Register, offset: i16) -> Instruction {
        instruction(0x7a, address, NO, offset, 0)
    }

    /// register = its low bits, converted to big-endian
    pub(in super::super) const fn to_big_endian(register: Register, bits: i32) -> Instruction {
        instruction(0xdc, register, NO, 0, bits)
    }

    /// skips this many instructions if one > other, unsigned
    pub(in super::super) const fn skip_if_above(one: Register, other: Register, skipped: i16) -> Instruction {
        instruction(0x2d, one, other, skipped, 0)
    }

    /// r0 = the kernel function of this number(r1, …)
    pub(in super::super) const fn call_kernel(function: u32) -> Instruction {
        const KERNEL: Register = Register(2);
        instruction(0x85, NO, KERNEL, 0, function as i32)
    }
}
#[cfg(feature = "af-xdp")]
pub(super) use more::*;
