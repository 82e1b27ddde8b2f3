//! Parts that only some packet schedulers have: learnt costs, and queues before later resources.

use super::{
    handle::with,
    pointer::{out, place, read},
};
use crate::{
    convert,
    failure::found,
    packets::Packets,
    structs::{dvt_status::DVT_OK, *},
};

/// Assigns a flow's packets to one of the setup's programs, numbered from 0, from now on. Only for schedulers that
/// learn costs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_set_program(scheduler: *mut dvt_scheduler, flow: u32, program: u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.set_program(flow, program)) }
}

/// Writes what has been learnt about the program with this number, as of the last call with number 0. DVT_NONE past the
/// end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_learnt_at(
    scheduler: *mut dvt_scheduler,
    number: u32,
    learnt: *mut dvt_learnt,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(learnt, "learnt")?;
            found(packets.learnt(number)?.map(|program| to.write(convert::learnt_of(program))).is_some())
        })
    }
}

/// Queues a packet that has left the resource before `resource` (1 or more), if the policy orders packets there too;
/// otherwise DVT_ERROR_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_enqueue_before(
    scheduler: *mut dvt_scheduler,
    resource: u32,
    packet: *const dvt_packet,
    now_ns: u64,
    admission: *mut dvt_admission,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let (packet, to) = (read(packet, "packet")?, out(admission, "admission")?);
            to.write(convert::admission_of(packets.enqueue_before(resource, packet, now_ns)?));
            Ok(DVT_OK)
        })
    }
}

/// Writes the packet to start on `resource` now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_dequeue_before(
    scheduler: *mut dvt_scheduler,
    resource: u32,
    now_ns: u64,
    packet: *mut dvt_packet,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(packet, "packet")?;
            let next = packets.dequeue_before(resource, now_ns)?;
            found(next.map(|next| to.write_packet(&next)).is_some())
        })
    }
}

/// Writes when to call dvt_dequeue_before() again after it returned DVT_NONE, if no packet is queued before then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_poll_at_before(
    scheduler: *mut dvt_scheduler,
    resource: u32,
    at_ns: *mut u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = place(at_ns, "at_ns")?;
            found(packets.poll_at_before(resource)?.map(|at| to.write(at.0)).is_some())
        })
    }
}

/// Writes what is queued before `resource`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_backlog_before(
    scheduler: *mut dvt_scheduler,
    resource: u32,
    backlog: *mut dvt_backlog,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(backlog, "backlog")?;
            to.write(convert::backlog_of(packets.backlog_before(resource)?));
            Ok(DVT_OK)
        })
    }
}
