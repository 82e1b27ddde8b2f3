//! The two BPF programs of the switch.
//!
//! For each frame that arrives at a port they run one after the other on one processor: the kernel passes a frame to packet
//! sockets first, and then to tcx. The first decides which of box and bridge gets the frame and leaves its decision in the
//! processor's slot, and the second carries it out. There is no instant at which the two could disagree.

use std::os::fd::BorrowedFd;

use super::assembler::*;
use crate::live::sys::bpf::Instruction;

/// Return values of a socket filter: how much of the frame the socket gets.
const NOTHING: i32 = 0;
const WHOLE: i32 = -1;
/// Return values of a tcx program.
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

/// The first four bytes of the link-local groups, 01-80-C2-00-00-00 to -0F (IEEE 802.1Q, 8.6.3).
pub(super) const ON_LINK: i32 = 0x0180_c200;
/// Their last two bytes: the first that is left to the bridge, and how many are.
pub(super) const PAUSE: i32 = 0x0001;
pub(super) const LEFT: i32 = 15;

/// The filter of the box's packet sockets: takes the whole frame while the deadline is ahead, else nothing, and records in
/// the slot of its processor whether it took the frame. Frames to link-local groups are never taken.
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

/// The program at the ports: drops what the filter took, so that neither the bridge nor the machine sees it, and passes
/// everything else to them. A slot is cleared as it is read, so that a frame that no filter saw is left to the bridge.
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
