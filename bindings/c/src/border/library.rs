//! Functions of the library without a handle.

use std::ffi::c_char;

use dovetail_sched::{
    registry::{REGISTRY, REQUESTS},
    request::RequestSetup,
};

use super::{handle::without, pointer::out};
use crate::{
    convert::{self, size, text},
    failure::{self, Failure, found},
    structs::*,
};

/// The version of the library's binary interface. A program that was compiled with another DVT_ABI_VERSION should not go on.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_abi_version() -> u32 {
    DVT_ABI_VERSION
}

/// The library's version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn dvt_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// What was wrong with this thread's last call that ended in an error, as a sentence; empty before the first. It is
/// overwritten by the thread's next error, and gone with the thread.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_last_error() -> *const c_char {
    failure::last()
}

/// Writes the policy of this number, from 0, of those that order such work (a dvt_orders). DVT_NONE behind the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_policy_at(orders: u32, number: u32, policy: *mut dvt_policy) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let to = out(policy, "policy")?;
        let at = number as usize;
        let line = if orders == dvt_orders::DVT_PACKETS as u32 {
            REGISTRY.get(at).map(|entry| (entry.name, entry.cost, entry.summary))
        } else if orders == dvt_orders::DVT_REQUESTS as u32 {
            REQUESTS.get(at).map(|entry| (entry.name, entry.cost, entry.summary))
        } else {
            return Err(Failure::range(format!("{orders} is not a dvt_orders")));
        };
        let policy = line.map(|(name, cost, summary)| {
            let size = size::<dvt_policy>();
            dvt_policy { size, orders, name: text(name), cost: text(cost), summary: text(summary) }
        });
        found(policy.map(|policy| to.write(policy)).is_some())
    })
}

/// Whether a scheduler with this interest (see dvt_interest()) wants to be told of a stage (a dvt_stage) on a resource: 1 if
/// so, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_wants(interest: u32, stage: u32, resource: u32) -> u32 {
    let wanted = convert::stage_of(stage).filter(|_| resource < DVT_MAX_RESOURCES as u32);
    let interest = dovetail_sched::Interest::from_bits(interest as u16);
    wanted.is_some_and(|stage| interest.has(stage, resource as usize)).into()
}

/// Fills in a setup, whose size is set, for HTTP over TCP: units are bytes, `rate` is the link's goodput in bytes a second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_request_setup_for_bytes(rate: f64, setup: *mut dvt_request_setup) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let to = out(setup, "setup")?;
        to.write(convert::request_setup_of(&RequestSetup::for_bytes(convert::rate(rate)?))?);
        Ok(dvt_status::DVT_OK)
    })
}

/// Fills in a setup, whose size is set, for what a gateway itself sends up a link of `rate` bytes of payload a second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_request_setup_for_uplink(rate: f64, setup: *mut dvt_request_setup) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let to = out(setup, "setup")?;
        to.write(convert::request_setup_of(&RequestSetup::for_uplink(convert::rate(rate)?))?);
        Ok(dvt_status::DVT_OK)
    })
}
