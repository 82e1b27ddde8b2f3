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

/// Makes a request scheduler of a policy such as "grants:delay=30ms".
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

/// Adds a class, or changes its weight. Classes and users are set before anything names them.
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

/// Adds a user, or moves them to another class with all their requests.
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

/// The user's id is free. Ignored while a request of theirs is waiting or outstanding.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_forget_user(requests: *mut dvt_requests, user: u32) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| found(requests.forget_user(user)?)) }
}

/// Sets the link's rate in units a second: 0.001 to 1e15.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_set_rate(requests: *mut dvt_requests, rate: f64, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.set_rate(rate, now_ns)) }
}

/// The rate in units a second that a class may not exceed, 0.001 to 1e15, or 0 for none. What is in flight goes on with what it was
/// let have.
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

/// A request arrived. One of an unknown user, or with an id that is taken, is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_enqueue(
    requests: *mut dvt_requests,
    request: *const dvt_request,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.enqueue(read(request, "request")?, now_ns)) }
}

/// The response's length in units, as its sender states it.
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

/// So many more units of the response were read.
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

/// The connection that the response comes on offers its sender this window, because of earlier responses on it.
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

/// A round trip on the connection that the response comes on takes so many nanoseconds, as its transport measures it. Need not
/// be told; where responses follow each other before the ones before are over, the scheduler would take less for one.
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

/// Units of the response are there that may not be read yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_ready(requests: *mut dvt_requests, request: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.became(Became::Ready, request, now_ns)) }
}

/// The response is over, whole or broken off by its sender. The id is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_ended(requests: *mut dvt_requests, request: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.became(Became::Ended, request, now_ns)) }
}

/// The request is cancelled, waiting or outstanding. The id is free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_cancel(requests: *mut dvt_requests, request: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.became(Became::Cancelled, request, now_ns)) }
}

/// Whether so much is sent up the link unpaced that probes may wait there: 1 if so, else 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_uplink(requests: *mut dvt_requests, is_busy: u32, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.uplink(is_busy != 0, now_ns)) }
}

/// Units came down the link that no request asked for, of this class or of DVT_NO_CLASS.
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

/// The delay of the link's far queue now and when it is full, from dvt_far_delay(); either may be DVT_UNKNOWN.
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

/// Changes the policy's knobs to those of a string of the same policy; no request is lost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_requests_retune(
    requests: *mut dvt_requests,
    policy: *const c_char,
    now_ns: u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(requests, |requests: &mut Requests| requests.retune(text(policy, "policy")?, now_ns)) }
}

/// What to do next. Call it after each event, and at dvt_requests_poll_at(), until DVT_NONE.
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

/// When to call dvt_requests_dequeue() again, should nothing happen before.
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

/// The first window of a response in units. DVT_NONE where the policy does not limit senders by windows.
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

/// The policy's own figure of this number, as it was when number 0 was last asked for. DVT_NONE behind the last.
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
