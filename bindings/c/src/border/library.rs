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

/// Returns the version of the library's binary interface. A program compiled with another DVT_ABI_VERSION should not
/// continue.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_abi_version() -> u32 {
    DVT_ABI_VERSION
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn dvt_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Returns a description of this thread's last error, or an empty string if there was none. It is valid until the
/// thread's next error or its end.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_last_error() -> *const c_char {
    failure::last()
}

/// Writes the policy with this number, starting at 0, among those for `orders` (a dvt_orders). DVT_NONE past the end.
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

/// Returns 1 if a scheduler with this interest (see dvt_interest()) wants events of a stage (a dvt_stage) on a
/// resource, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn dvt_wants(interest: u32, stage: u32, resource: u32) -> u32 {
    let wanted = convert::stage_of(stage).filter(|_| resource < DVT_MAX_RESOURCES as u32);
    let interest = dovetail_sched::Interest::from_bits(interest as u16);
    wanted.is_some_and(|stage| interest.has(stage, resource as usize)).into()
}

/// Fills in a setup for HTTP over TCP, where units are bytes and `rate` is the link's goodput in bytes per second:
/// 0.001 to 1e15. Its `size` must be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_request_setup_for_bytes(rate: f64, setup: *mut dvt_request_setup) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let to = out(setup, "setup")?;
        to.write(convert::request_setup_of(&RequestSetup::for_bytes(convert::rate(rate)?))?);
        Ok(dvt_status::DVT_OK)
    })
}

/// Fills in a setup for the traffic that a gateway itself sends up a link of `rate` bytes of payload per second, 0.0011
/// to 1e15, a twentieth of which is left to unscheduled traffic. Its `size` must be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_request_setup_for_uplink(rate: f64, setup: *mut dvt_request_setup) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let to = out(setup, "setup")?;
        to.write(convert::request_setup_of(&RequestSetup::for_uplink(convert::rate(rate)?))?);
        Ok(dvt_status::DVT_OK)
    })
}
