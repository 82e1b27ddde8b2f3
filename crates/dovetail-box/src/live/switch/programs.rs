//! The two programs, as the kernel takes them.
//!
//! They run one after the other on one processor for each frame that arrives at a port: the kernel gives a frame to packet
//! sockets first, and then to tcx. So the first decides whose the frame is and leaves its decision in the processor's slot,
//! and the second carries it out. There is no instant at which the two could disagree.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::live::sys::bpf::Instruction;

/// A register: r0 is what functions and programs answer, r1 to r5 are arguments and lost in a call, r6 to r9 are kept.
#[derive(Clone, Copy)]
struct Register(u8);

const R0: Register = Register(0);
const R1: Register = Register(1);
const R2: Register = Register(2);
const R6: Register = Register(6);
const R7: Register = Register(7);
const R8: Register = Register(8);
/// The end of the stack, which grows down.
const STACK: Register = Register(10);

/// Where an array's only index is put for [`LOOK_UP`]: the lowest word of the stack.
const KEY: i16 = -4;

/// `bpf_map_lookup_elem(r1: map, r2: address of the index)`: the address of the value, of this processor, or 0.
const LOOK_UP: i32 = 1;
/// `bpf_ktime_get_ns()`: `CLOCK_MONOTONIC`.
const NOW: i32 = 5;

/// What a socket filter answers: how much of the frame the socket gets.
const NOTHING: i32 = 0;
const WHOLE: i32 = -1;
/// What a tcx program answers.
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

const NO: Register = Register(0);

/// The first four bytes of the groups that stay on a link, 01-80-C2-00-00-00 to -0F (IEEE 802.1Q, 8.6.3).
const ON_LINK: i32 = 0x0180_c200;
/// Their last two bytes: the first that is left to the bridge, and how many are.
const PAUSE: i32 = 0x0001;
const LEFT: i32 = 15;

const fn instruction(code: u8, to: Register, from: Register, offset: i16, immediate: i32) -> Instruction {
    let registers = if cfg!(target_endian = "little") { from.0 << 4 | to.0 } else { to.0 << 4 | from.0 };
    Instruction { code, registers, offset, immediate }
}

/// to = value
const fn set(to: Register, value: i32) -> Instruction {
    instruction(0xb7, to, NO, 0, value)
}

/// to = from
const fn copy(to: Register, from: Register) -> Instruction {
    instruction(0xbf, to, from, 0, 0)
}

/// to += value
const fn add(to: Register, value: i32) -> Instruction {
    instruction(0x07, to, NO, 0, value)
}

/// to = the eight bytes at `address`
const fn read(to: Register, address: Register) -> Instruction {
    instruction(0x79, to, address, 0, 0)
}

/// the eight bytes at `address` = from
const fn write(address: Register, from: Register) -> Instruction {
    instruction(0x7b, address, from, 0, 0)
}

/// the eight bytes at `address` = 0
const fn clear(address: Register) -> Instruction {
    instruction(0x7a, address, NO, 0, 0)
}

/// the four bytes at `address + offset` = 0
const fn clear_word(address: Register, offset: i16) -> Instruction {
    instruction(0x62, address, NO, offset, 0)
}

/// r0 = the four bytes at a place of the frame, which r6 refers to; r1 to r5 are lost
const fn frame_word(at: i32) -> Instruction {
    instruction(0x20, NO, NO, 0, at)
}

/// r0 = the two bytes at a place of the frame, which r6 refers to; r1 to r5 are lost
const fn frame_half(at: i32) -> Instruction {
    instruction(0x28, NO, NO, 0, at)
}

/// goes on so many instructions further if the register is not `value`
const fn skip_if_not(register: Register, value: i32, skipped: i16) -> Instruction {
    instruction(0x55, register, NO, skipped, value)
}

/// goes on so many instructions further if the register < value, both without a sign
const fn skip_if_below(register: Register, value: i32, skipped: i16) -> Instruction {
    instruction(0xa5, register, NO, skipped, value)
}

/// r0 = function(r1, …)
const fn call(function: i32) -> Instruction {
    instruction(0x85, NO, NO, 0, function)
}

/// goes on so many instructions further if the register is 0
const fn skip_if_zero(register: Register, skipped: i16) -> Instruction {
    instruction(0x15, register, NO, skipped, 0)
}

/// goes on so many instructions further if one ≥ other, both without a sign
const fn skip_if_not_below(one: Register, other: Register, skipped: i16) -> Instruction {
    instruction(0x3d, one, other, skipped, 0)
}

/// the program answers r0
const fn exit() -> Instruction {
    instruction(0x95, NO, NO, 0, 0)
}

/// to = the array itself, as functions take it: two places
fn array(to: Register, array: BorrowedFd<'_>) -> [Instruction; 2] {
    const MAP: Register = Register(1);
    [instruction(0x18, to, MAP, 0, array.as_raw_fd()), instruction(0, NO, NO, 0, 0)]
}

/// to = the address of the first value of a shared array: two places
fn first_value(to: Register, array: BorrowedFd<'_>) -> [Instruction; 2] {
    const VALUE_OF_MAP: Register = Register(2);
    [instruction(0x18, to, VALUE_OF_MAP, 0, array.as_raw_fd()), instruction(0, NO, NO, 0, 0)]
}

/// The filter of the box's packet sockets: takes the whole frame while the deadline is ahead, else nothing, and leaves in
/// the slot of its processor whether it took it. Frames to groups that stay on a link are never taken.
pub fn filter(deadline: BorrowedFd<'_>, slots: BorrowedFd<'_>) -> [Instruction; 24] {
    let [slots, slots_too] = array(R1, slots);
    let [deadline, deadline_too] = first_value(R1, deadline);
    [
        copy(R6, R1),                 // r6 = the frame
        clear_word(STACK, KEY),       // the index 0
        copy(R2, STACK),              //
        add(R2, i32::from(KEY)),      // r2 = its address
        slots,                        //
        slots_too,                    // r1 = the slots
        call(LOOK_UP),                // r0 = this processor's slot
        skip_if_zero(R0, 15),         // there always is one
        copy(R7, R0),                 // r7 = the slot
        set(R8, NOTHING),             // r8 = the answer
        frame_word(0),                //
        skip_if_not(R0, ON_LINK, 3),  // the address is of no such group
        frame_half(4),                //
        add(R0, -PAUSE),              // the first of them, below zero, is far above the others
        skip_if_below(R0, LEFT, 6),   // it is: nothing
        call(NOW),                    // r0 = now
        deadline,                     //
        deadline_too,                 //
        read(R1, R1),                 // r1 = the deadline
        skip_if_not_below(R0, R1, 1), // it has passed: nothing
        set(R8, WHOLE),               //
        write(R7, R8),                // leaves the decision
        copy(R0, R8),                 //
        exit(),                       // answers it
    ]
}

/// The program at the ports: drops what the filter took, so that neither the bridge nor the machine sees it, and leaves the
/// rest to them. A slot is emptied as it is read, so that a frame that no filter saw is the bridge's.
pub fn ingress(slots: BorrowedFd<'_>) -> [Instruction; 14] {
    let [slots, slots_too] = array(R1, slots);
    [
        clear_word(STACK, KEY),  // the index 0
        copy(R2, STACK),         //
        add(R2, i32::from(KEY)), // r2 = its address
        slots,                   //
        slots_too,               // r1 = the slots
        call(LOOK_UP),           // r0 = this processor's slot
        copy(R1, R0),            // r1 = the slot
        set(R0, TCX_NEXT),       //
        skip_if_zero(R1, 4),     // there always is one
        read(R2, R1),            // r2 = the decision
        skip_if_zero(R2, 2),     // not taken: the bridge's
        clear(R1),               //
        set(R0, TCX_DROP),       // taken: the box's
        exit(),                  //
    ]
}
