//! A request scheduler's functions.

use std::ffi::c_char;

use super::{
    handle::{free, make, with, without},
    pointer::{out, place, read, text},
};
use crate::{
    convert,
    failure::found,
    requests::{Became, Requests, Units},
    structs::{dvt_status::DVT_OK, *},
};

/// Creates a request scheduler with a policy such as "grants:delay=30ms".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_new(
    policy: *const c_char,
    setup: *const dvt_request_setup,
    requests: *mut *mut dvt_requests,
) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let (to, policy, setup) = (place(requests, "requests")?, text(policy, "policy")?, read(setup, "setup")?);
        to.write(make(Requests::new(policy, setup)?));
        Ok(DVT_OK)
    })
}

/// Frees a request scheduler. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_free(requests: *mut dvt_requests) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { free::<Requests>(requests) }
}

/// Adds a class, or changes its weight: 1e-6 to 1e6. Classes and users must be added before other calls name them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_set_class(
    requests: *mut dvt_requests,
    class: u32,
    weight: f64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.set_class(class, weight, now_ns)) }
}

/// Adds a user, or moves them to another class together with all their requests. Ignored if there is no such class
/// (DVT_ERROR_UNKNOWN with DVT_CHECKED).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_set_user(
    requests: *mut dvt_requests,
    user: u32,
    class: u32,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.set_user(user, class, now_ns)) }
}

/// Removes a user, so that the id can be reused. Ignored while a request of theirs is waiting or outstanding (DVT_NONE
/// with DVT_CHECKED), and if there is no such user (DVT_ERROR_UNKNOWN with DVT_CHECKED).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_forget_user(requests: *mut dvt_requests, user: u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| found(requests.forget_user(user)?)) }
}

/// Sets the link's rate in units per second: 0.001 to 1e15.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_set_rate(requests: *mut dvt_requests, rate: f64, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.set_rate(rate, now_ns)) }
}

/// Sets the maximum rate of a class in units per second: 0.001 to 1e15, or 0 for none. Responses in flight keep the
/// allowance they already have. With DVT_CHECKED, DVT_ERROR_UNKNOWN if there is no such class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_set_cap(
    requests: *mut dvt_requests,
    class: u32,
    rate: f64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.set_cap(class, rate, now_ns)) }
}

/// Adds a request that has arrived. Ignored if its user does not exist (DVT_ERROR_UNKNOWN with DVT_CHECKED) or its id
/// is in use (DVT_ERROR_DUPLICATE with DVT_CHECKED).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_enqueue(
    requests: *mut dvt_requests,
    request: *const dvt_request,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.enqueue(read(request, "request")?, now_ns)) }
}

/// Reports the response's length in units, as its sender states it. This and the other reports about a request are
/// ignored if there is no such request (DVT_ERROR_UNKNOWN with DVT_CHECKED).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_length(
    requests: *mut dvt_requests,
    request: u32,
    units: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.units(Units::Length, request, units, now_ns)) }
}

/// Reports that `units` more units of the response have been read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_received(
    requests: *mut dvt_requests,
    request: u32,
    units: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.units(Units::Received, request, units, now_ns)) }
}

/// Reports that `units` of the response, in all, have arrived and have not been read, whether they may be or not. Optional,
/// for transports that see more than they read: what a sender sends is then accounted for when it arrives.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_unread(
    requests: *mut dvt_requests,
    request: u32,
    units: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.units(Units::Unread, request, units, now_ns)) }
}

/// Reports the window that the response's connection already offers its sender, because of earlier responses on it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_offers(
    requests: *mut dvt_requests,
    request: u32,
    window: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.units(Units::Offers, request, window, now_ns)) }
}

/// Reports the round-trip time of the response's connection, as measured by its transport. Optional. Without it the
/// scheduler may underestimate the round trip when responses are pipelined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_round_trip(
    requests: *mut dvt_requests,
    request: u32,
    takes_ns: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.units(Units::RoundTrip, request, takes_ns, now_ns)) }
}

/// Reports how long after the response's next turn the first units that it lets in reach the link, as far as known: a round trip
/// to the server, and more while a connection to it has to be opened. Optional, and may be repeated. Without it they are taken to
/// be there at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_distance(
    requests: *mut dvt_requests,
    request: u32,
    takes_ns: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.units(Units::Distance, request, takes_ns, now_ns)) }
}

/// Reports that units of the response have arrived which may not be read yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_ready(requests: *mut dvt_requests, request: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.became(Became::Ready, request, now_ns)) }
}

/// Reports that the response is over: complete, or broken off by its sender. The id can be reused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_ended(requests: *mut dvt_requests, request: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.became(Became::Ended, request, now_ns)) }
}

/// Cancels a request that is waiting or outstanding. The id can be reused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_cancel(requests: *mut dvt_requests, request: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.became(Became::Cancelled, request, now_ns)) }
}

/// Reports whether so much unpaced traffic is sent up the link that probes may queue there: 1 if so, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_uplink(requests: *mut dvt_requests, is_busy: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.uplink(is_busy != 0, now_ns)) }
}

/// Reports units that came down the link without a request, for this class or for DVT_NO_CLASS. With DVT_CHECKED,
/// DVT_ERROR_UNKNOWN if there is no such class.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_stray(
    requests: *mut dvt_requests,
    class: u32,
    units: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.stray(class, units, now_ns)) }
}

/// Reports the delay of the link's far queue, now and when it is full, as written by dvt_far_delay(). Either may be
/// DVT_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_far_queue(
    requests: *mut dvt_requests,
    delay_ns: u64,
    room_ns: u64,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.far_queue(delay_ns, room_ns, now_ns)) }
}

/// Changes the policy's knobs to those of another string of the same policy. No request is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_retune(
    requests: *mut dvt_requests,
    policy: *const c_char,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.retune(text(policy, "policy")?, now_ns)) }
}

/// Writes what to do next. Call it after each event, and at dvt_requests_poll_at(), until DVT_NONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_dequeue(
    requests: *mut dvt_requests,
    now_ns: u64,
    turn: *mut dvt_turn,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(requests, |requests: &mut Requests| {
            let to = out(turn, "turn")?;
            found(requests.dequeue(now_ns)?.map(|turn| to.write(convert::turn_of(turn))).is_some())
        })
    }
}

/// Writes when to call dvt_requests_dequeue() again, if nothing happens before. DVT_NONE: only an event can change the
/// result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_poll_at(requests: *mut dvt_requests, at_ns: *mut u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(requests, |requests: &mut Requests| {
            let to = place(at_ns, "at_ns")?;
            found(requests.poll_at().map(|at| to.write(at.0)).is_some())
        })
    }
}

/// Writes the initial window of a response in units. DVT_NONE if the policy does not limit senders by windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_first_window(requests: *mut dvt_requests, window: *mut u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(requests, |requests: &mut Requests| {
            let to = place(window, "window")?;
            found(requests.first_window().map(|window| to.write(window)).is_some())
        })
    }
}

/// Writes the policy's figure with this number, starting at 0, as of the last call with number 0. DVT_NONE past the
/// end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_figure_at(
    requests: *mut dvt_requests,
    number: u32,
    figure: *mut dvt_figure,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(requests, |requests: &mut Requests| {
            let to = out(figure, "figure")?;
            let asked = requests.figure(number);
            found(asked.map(|(name, value)| to.write(convert::figure_of(name, value))).is_some())
        })
    }
}
