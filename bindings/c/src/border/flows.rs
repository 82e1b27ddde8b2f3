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

/// Makes a flow table, which gives out dense flow ids for 5-tuples.
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

/// The flow of a packet with this 5-tuple, made if it is new. Ids of silent flows are used again when the scheduler agrees
/// to forget them (dvt_forget()); with null for a scheduler, at once. DVT_NONE: the table is full, and no flow can go.
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

/// Retires at most so many flows that have been silent for the timeout; writes how many went. The scheduler is asked as in
/// dvt_flows_lookup().
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

/// The 5-tuple of a flow. DVT_NONE if there is no such flow.
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

/// How many flows are known, and how many had to make way.
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
