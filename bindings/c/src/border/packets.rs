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

/// Creates a packet scheduler with a policy such as "drfq:dovetail=inf". dvt_policy_at() and `dovetail policies` list
/// the policies.
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

/// Frees a scheduler and all packets queued in it. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_scheduler_free(scheduler: *mut dvt_scheduler) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { free::<Packets>(scheduler) }
}

/// Offers a packet that has arrived. After DVT_OK, check both fields of the admission: the packet may have been
/// refused.
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

/// Writes the packet to start on the first resource now. DVT_NONE while packets are queued means "not now": call again
/// at dvt_poll_at(), or after the next arrival or event.
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

/// Writes the packet that the next dvt_dequeue() will return, whatever arrives in between. It still counts as backlog,
/// but no longer occupies the buffer and cannot be evicted.
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

/// Writes when to call dvt_dequeue() again after it returned DVT_NONE, if nothing happens before. DVT_NONE: only an
/// arrival or an event can change the result.
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

/// Writes a packet that was evicted or discarded. After an admission with `evicted`, and after dvt_discard(), call it
/// until DVT_NONE.
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

/// Discards all packets of a flow that are queued before the first resource, for example when its port goes down. Collect
/// them, oldest first, with dvt_poll_evicted(). The flow is not charged for them and keeps its weight; a packet that
/// dvt_peek() wrote stays the next one. DVT_NONE if there were none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_discard(scheduler: *mut dvt_scheduler, flow: u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| found(packets.discard(flow)?)) }
}

/// Reports that a packet started, finished, was dropped or was aborted on a resource. dvt_interest() says which events
/// the scheduler needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_feedback(
    scheduler: *mut dvt_scheduler,
    event: *const dvt_event,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.feedback(read(event, "event")?, now_ns)) }
}

/// Writes the events that the scheduler needs, for dvt_wants(): bit r is DVT_STARTED on resource r, and bit 8 + r is
/// DVT_FINISHED there. If it needs any, packets that are dropped or aborted must be reported too. The interest never
/// changes.
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

/// Sets the weight of a flow: 1e-6 to 1e6. The default is 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_set_weight(scheduler: *mut dvt_scheduler, flow: u32, weight: f64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.set_weight(flow, weight)) }
}

/// Sets the weight of a flow on each resource, for policies that distinguish resources. `count` is the setup's number
/// of resources.
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

/// Changes the policy's knobs to those of another string of the same policy. No packet is lost or reordered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_retune(scheduler: *mut dvt_scheduler, policy: *const c_char, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| packets.retune(text(policy, "policy")?, now_ns)) }
}

/// Discards the state of a flow without packets, so that its id can be reused. DVT_NONE while it has packets queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_forget(scheduler: *mut dvt_scheduler, flow: u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(scheduler, |packets: &mut Packets| found(packets.forget(flow)?)) }
}

/// Writes what is queued of all flows.
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

/// Writes what is queued of one flow.
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

/// Writes the policy's figure with this number, starting at 0, as of the last call with number 0. DVT_NONE past the
/// end.
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
