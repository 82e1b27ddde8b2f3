//! The BPF program of a flood: rewrites a frame for the next flow, and sends it on an interface.

use std::os::fd::BorrowedFd;

use super::assembler::*;
use crate::live::sys::bpf::Instruction;

/// `bpf_redirect(r1: interface, r2: 0)`.
const TO_INTERFACE: i32 = 23;
/// Return value of an XDP program.
const DROP: i32 = 1;
/// Offsets in `struct xdp_md`.
const BEGIN: i16 = 0;
const END: i16 = 4;

/// Sends a frame with the number at `port_at` replaced by `first_port` and up to `flows - 1` more, in turn; `turn` is a
/// shared array.
pub(in crate::live) fn flood(
    turn: BorrowedFd<'_>,
    interface: u32,
    port_at: i16,
    first_port: u16,
    flows: u16,
) -> [Instruction; 22] {
    let [turn, turn_too] = first_value(R1, turn);
    [
        copy(R6, R1),                           // r6 = what there is of the frame
        read_word(R7, R6, BEGIN),               // r7 = its first byte's address
        read_word(R8, R6, END),                 // r8 = its end
        copy(R1, R7),                           //
        add(R1, i32::from(port_at) + 2),        //
        skip_if_above(R1, R8, 14),              // too short
        turn,                                   //
        turn_too,                               // r1 = whose turn it is
        read(R2, R1),                           //
        add(R2, 1),                             //
        skip_if_below(R2, i32::from(flows), 1), //
        set(R2, 0),                             // the first one's again
        write(R1, R2),                          //
        add(R2, i32::from(first_port)),         //
        to_big_endian(R2, 16),                  //
        write_half(R7, port_at, R2),            //
        set(R1, interface as i32),              //
        set(R2, 0),                             //
        call(TO_INTERFACE),                     //
        exit(),                                 //
        set(R0, DROP),                          //
        exit(),                                 //
    ]
}
