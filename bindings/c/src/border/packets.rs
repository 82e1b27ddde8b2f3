//! A packet scheduler's functions.

use std::ffi::c_char;

use super::{
    handle::{free, make, with, without},
    pointer::{array, out, place, read, text},
};
use crate::{
    convert,
    failure::{Failure, found},
    packets::Packets,
    structs::{dvt_status::DVT_OK, *},
};

/// Makes a packet scheduler of a policy such as "drfq:dovetail=inf" (see dvt_policy_at(), and `dovetail policies`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_scheduler_new(
    policy: *const c_char,
    setup: *const dvt_setup,
    scheduler: *mut *mut dvt_scheduler,
) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let (to, policy, setup) = (place(scheduler, "scheduler")?, text(policy, "policy")?, read(setup, "setup")?);
        let programs = array(setup.programs, setup.program_count, "programs")?;
        let program = |given: &dvt_program| {
            let given = read(given, "a program")?;
            let cost = if given.cost.is_null() { None } else { Some(text(given.cost, "a program's cost")?) };
            convert::program(text(given.name, "a program's name")?, cost, given)
        };
        let programs = programs.iter().map(program).collect::<Result<_, Failure>>()?;
        to.write(make(Packets::new(policy, setup, programs)?));
        Ok(DVT_OK)
    })
}

/// Frees a scheduler with all that waits in it. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_scheduler_free(scheduler: *mut dvt_scheduler) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { free::<Packets>(scheduler) }
}

/// Offers a packet that arrived. DVT_OK says that the admission is written: examine both of its fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_enqueue(
    scheduler: *mut dvt_scheduler,
    packet: *const dvt_packet,
    now_ns: u64,
    admission: *mut dvt_admission,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let (packet, to) = (read(packet, "packet")?, out(admission, "admission")?);
            packets.enqueue(packet, now_ns, |admission| to.write(convert::admission_of(admission)))
        })
    }
}

/// The packet to start on the first resource now. DVT_NONE with packets queued means "not now": ask again at
/// dvt_poll_at(), or after the next arrival or event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_dequeue(
    scheduler: *mut dvt_scheduler,
    now_ns: u64,
    dispatch: *mut dvt_dispatch,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(dispatch, "dispatch")?;
            found(packets.dequeue(now_ns, |next| to.write_dispatch(next))?)
        })
    }
}

/// The packet that the next dvt_dequeue() gives, whatever arrives in between. It still counts as backlog, but its place in
/// the buffer is free and it cannot be evicted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_peek(scheduler: *mut dvt_scheduler, now_ns: u64, packet: *mut dvt_packet) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(packet, "packet")?;
            found(packets.peek(now_ns)?.map(|next| to.write_packet(next)).is_some())
        })
    }
}

/// When to call dvt_dequeue() again after it gave nothing, should nothing happen before. DVT_NONE: only an arrival or an
/// event can change the answer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_poll_at(scheduler: *mut dvt_scheduler, at_ns: *mut u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = place(at_ns, "at_ns")?;
            found(packets.poll_at().map(|at| to.write(at.0)).is_some())
        })
    }
}

/// A packet that lost its place to a later one. Call it until DVT_NONE after an admission with `evicted`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_poll_evicted(scheduler: *mut dvt_scheduler, packet: *mut dvt_packet) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(packet, "packet")?;
            found(packets.poll_evicted().map(|lost| to.write_packet(&lost)).is_some())
        })
    }
}

/// Tells of a packet that started, finished, was dropped or was aborted on a resource: what dvt_interest() names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_feedback(
    scheduler: *mut dvt_scheduler,
    event: *const dvt_event,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.feedback(read(event, "event")?, now_ns)) }
}

/// The events that the scheduler needs, for dvt_wants(): bit r is DVT_STARTED on resource r, bit 8 + r DVT_FINISHED there.
/// If there are any, it is also to be told of packets that are dropped or aborted. It never changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_interest(scheduler: *mut dvt_scheduler, interest: *mut u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            place(interest, "interest")?.write(packets.interest());
            Ok(DVT_OK)
        })
    }
}

/// Sets a flow's weight: 1e-6 to 1e6, 1 unless set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_set_weight(scheduler: *mut dvt_scheduler, flow: u32, weight: f64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.set_weight(flow, weight)) }
}

/// Sets a flow's weight on each resource, for policies that tell resources apart.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_set_resource_weights(
    scheduler: *mut dvt_scheduler,
    flow: u32,
    weights: *const f64,
    count: u32,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| packets.set_resource_weights(flow, array(weights, count, "weights")?))
    }
}

/// Changes the policy's knobs to those of a string of the same policy; no packet is lost or reordered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_retune(scheduler: *mut dvt_scheduler, policy: *const c_char, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.retune(text(policy, "policy")?, now_ns)) }
}

/// Forgets all that is known of a flow without packets, so that its id can name another. DVT_NONE while it has packets
/// queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_forget(scheduler: *mut dvt_scheduler, flow: u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| found(packets.forget(flow)?)) }
}

/// All that is queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_backlog_of(scheduler: *mut dvt_scheduler, backlog: *mut dvt_backlog) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            out(backlog, "backlog")?.write(convert::backlog_of(packets.backlog()));
            Ok(DVT_OK)
        })
    }
}

/// What is queued of one flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flow_backlog(
    scheduler: *mut dvt_scheduler,
    flow: u32,
    backlog: *mut dvt_backlog,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(backlog, "backlog")?;
            to.write(convert::backlog_of(packets.flow_backlog(flow)?));
            Ok(DVT_OK)
        })
    }
}

/// The policy's own figure of this number, as it was when number 0 was last asked for. DVT_NONE behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_figure_at(
    scheduler: *mut dvt_scheduler,
    number: u32,
    figure: *mut dvt_figure,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(scheduler, |packets: &mut Packets| {
            let to = out(figure, "figure")?;
            let asked = packets.figure(number);
            found(asked.map(|(name, value)| to.write(convert::figure_of(name, value))).is_some())
        })
    }
}
