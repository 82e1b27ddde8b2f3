//! The BPF program at the ports of a box that receives by AF_XDP.
//!
//! An interface's driver runs it on each frame that arrives, before the kernel has processed it: frames that it redirects
//! to the box's socket are invisible to the bridge and the machine, and frames that it passes are left to them. So it alone
//! decides which of box and bridge gets a frame.
//!
//! A tag that the driver has stripped would be lost on the way to the socket: the program asks the driver for it, and
//! reinserts it.

use std::os::fd::BorrowedFd;

use super::{
    assembler::*,
    programs::{LEFT, ON_LINK, PAUSE},
};
use crate::live::sys::bpf::Instruction;

/// The kernel function that returns a frame's tag from its driver. Since Linux 6.8.
pub const TAG_OF_FRAME: &str = "bpf_xdp_metadata_rx_vlan_tag";

/// `bpf_xdp_adjust_head(r1: frame, r2: bytes)`: moves the start of the frame by this many bytes, and returns 0.
const BEGIN_LATER: i32 = 44;
/// `bpf_redirect_map(r1: map, r2: index, r3: return value without an entry)`.
const TO_SOCKET: i32 = 51;

/// Return values of an XDP program.
const DROP: i32 = 1;
const PASS: i32 = 2;

/// Offsets in `struct xdp_md`.
const BEGIN: i16 = 0;
const END: i16 = 4;
const QUEUE: i16 = 16;

/// Offsets on the stack where the driver puts the tag's two halves.
const TAG_TYPE: i16 = -8;
const TAG_CONTROL: i16 = -6;

const ADDRESSES: i16 = 12;
const TAG: i32 = 4;

/// Redirects frames to the socket in the map while the deadline is ahead. `tag_of_frame` is the number of [`TAG_OF_FRAME`].
/// Without a socket, frames pass, except for those whose tag is reinserted already.
pub fn steering(deadline: BorrowedFd<'_>, sockets: BorrowedFd<'_>, tag_of_frame: u32) -> [Instruction; 58] {
    let [deadline, deadline_too] = first_value(R1, deadline);
    let [sockets, sockets_too] = array(R1, sockets);
    [
        copy(R6, R1),                            // r6 = what there is of the frame
        read_word(R7, R6, BEGIN),                // r7 = its first byte's address
        read_word(R8, R6, END),                  // r8 = its end
        copy(R1, R7),                            //
        add(R1, 14),                             //
        skip_if_above(R1, R8, 48),               // too short: passes
        read_word(R1, R7, 0),                    //
        to_big_endian(R1, 32),                   //
        skip_if_not(R1, ON_LINK, 4),             // the address is of no group that stays on a link
        read_half(R1, R7, 4),                    //
        to_big_endian(R1, 16),                   //
        add(R1, -PAUSE),                         //
        skip_if_below(R1, LEFT, 41),             // it is: passes
        call(NOW),                               // r0 = now
        deadline,                                //
        deadline_too,                            //
        read(R1, R1),                            // r1 = the deadline
        skip_if_not_below(R0, R1, 36),           // it has passed: passes
        clear_at(STACK, TAG_TYPE),               //
        copy(R1, R6),                            //
        copy(R2, STACK),                         //
        add(R2, i32::from(TAG_TYPE)),            //
        copy(R3, STACK),                         //
        add(R3, i32::from(TAG_CONTROL)),         //
        call_kernel(tag_of_frame),               // r0 = 0 if there is a tag beside the frame
        set(R9, PASS),                           //
        skip_if_not(R0, 0, 21),                  // there is none
        copy(R1, R6),                            //
        set(R2, -TAG),                           //
        call(BEGIN_LATER),                       // makes room
        set(R9, DROP),                           //
        skip_if_not(R0, 0, 24),                  // there is none: dropped
        read_word(R7, R6, BEGIN),                //
        read_word(R8, R6, END),                  //
        copy(R1, R7),                            //
        add(R1, i32::from(ADDRESSES) + TAG + 2), //
        skip_if_above(R1, R8, 19),               // cannot be
        read_word(R1, R7, 4),                    // moves the addresses to the front
        write_word(R7, 0, R1),                   //
        read_word(R1, R7, 8),                    //
        write_word(R7, 4, R1),                   //
        read_word(R1, R7, 12),                   //
        write_word(R7, 8, R1),                   //
        read_half(R1, STACK, TAG_TYPE),          // which is as on the wire
        write_half(R7, ADDRESSES, R1),           //
        read_half(R1, STACK, TAG_CONTROL),       // which is a number
        to_big_endian(R1, 16),                   //
        write_half(R7, ADDRESSES + 2, R1),       //
        sockets,                                 //
        sockets_too,                             //
        read_word(R2, R6, QUEUE),                //
        copy(R3, R9),                            //
        call(TO_SOCKET),                         //
        exit(),                                  //
        set(R0, PASS),                           //
        exit(),                                  //
        set(R0, DROP),                           //
        exit(),                                  //
    ]
}
