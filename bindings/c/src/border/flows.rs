//! A flow table's functions.

use super::{
    handle::{free, make, with, without},
    pointer::{out, place, read},
};
use crate::{
    convert::size,
    failure::{Failure, answered, found},
    flows::Flows,
    packets::Packets,
    structs::{dvt_status::DVT_OK, *},
};
use dovetail_sched::FlowId;

/// Creates a flow table, which assigns dense flow ids to 5-tuples.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flows_new(setup: *const dvt_flows_setup, flows: *mut *mut dvt_flows) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let (to, setup) = (place(flows, "flows")?, read(setup, "setup")?);
        to.write(make(Flows::new(setup)?));
        Ok(DVT_OK)
    })
}

/// Frees a flow table. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flows_free(flows: *mut dvt_flows) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { free::<Flows>(flows) }
}

/// Finds the flow of a packet with this 5-tuple, adding it if it is new. The id of a flow that has been silent for the
/// timeout, or of the flow that has been silent the longest if the table is full, is reused once the scheduler has
/// forgotten the flow, as with dvt_forget(); `scheduler` may be null, and then ids are reused at once. DVT_NONE: the
/// table is full and none of the 64 flows silent the longest could be retired; call again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flows_lookup(
    flows: *mut dvt_flows,
    scheduler: *mut dvt_scheduler,
    tuple: *const dvt_five_tuple,
    now_ns: u64,
    lookup: *mut dvt_lookup,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(flows, |flows: &mut Flows| {
            let (tuple, to) = (read(tuple, "tuple")?, out(lookup, "lookup")?);
            can_be_asked(scheduler)?;
            let found_flow = flows.lookup(tuple, now_ns, &mut |flow| may_go(scheduler, flow))?;
            let lookup = found_flow.map(|found| dvt_lookup {
                size: size::<dvt_lookup>(),
                flow: found.flow.0,
                is_new: found.new.into(),
                reserved: 0,
            });
            found(lookup.map(|lookup| to.write(lookup)).is_some())
        })
    }
}

/// Retires at most `most` flows that have been silent for the timeout, and writes how many to `gone`. The scheduler
/// forgets them, as in dvt_flows_lookup(); flows that it cannot forget, because they have packets queued, are skipped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flows_expire(
    flows: *mut dvt_flows,
    scheduler: *mut dvt_scheduler,
    now_ns: u64,
    most: u32,
    gone: *mut u32,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(flows, |flows: &mut Flows| {
            let to = place(gone, "gone")?;
            can_be_asked(scheduler)?;
            to.write(flows.expire(now_ns, most, &mut |flow| may_go(scheduler, flow))?);
            Ok(DVT_OK)
        })
    }
}

/// Writes the 5-tuple of a flow. DVT_NONE if there is no such flow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flows_tuple(flows: *mut dvt_flows, flow: u32, tuple: *mut dvt_five_tuple) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(flows, |flows: &mut Flows| {
            let to = out(tuple, "tuple")?;
            found(flows.key(flow).map(|tuple| to.write(tuple)).is_some())
        })
    }
}

/// Writes the number of flows, and how many were evicted before their timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_flows_counts(flows: *mut dvt_flows, counts: *mut dvt_flow_counts) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(flows, |flows: &mut Flows| {
            out(counts, "counts")?.write(flows.counts());
            Ok(DVT_OK)
        })
    }
}

/// Whether the scheduler forgets the flow.
///
/// # Safety
/// As at the module's head.
unsafe fn may_go(scheduler: *mut dvt_scheduler, flow: FlowId) -> Result<bool, Failure> {
    if scheduler.is_null() {
        return Ok(true);
    }
    // SAFETY: as promised.
    let status = unsafe { with(scheduler, |packets: &mut Packets| found(packets.retire(flow))) };
    answered(status).map(|status| status == DVT_OK)
}

/// Whether there is a scheduler to ask, checked before anything in a table changes.
///
/// # Safety
/// As at the module's head.
unsafe fn can_be_asked(scheduler: *mut dvt_scheduler) -> Result<(), Failure> {
    if scheduler.is_null() {
        return Ok(());
    }
    // SAFETY: as promised.
    answered(unsafe { with(scheduler, |_: &mut Packets| Ok(DVT_OK)) }).map(|_| ())
}
