//! An offer's functions.

use dovetail_sched::{Nanos, request::Offer};

use super::{
    handle::{free, make, with, without},
    pointer::place,
};
use crate::{
    failure::{Answer, Failure, found},
    structs::{dvt_status::DVT_OK, *},
};

/// Creates the receive window of a connection to a server. It begins with `begins_bytes`, under a policy whose windows
/// are `first_bytes` to `longest_bytes` long: `window` and `longest_window` of a dvt_request_setup. If `begins_bytes` is
/// UINT64_MAX, as in turns of policies that limit no sender, the window is left to the system, and the others are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_new(
    first_bytes: u64,
    longest_bytes: u64,
    begins_bytes: u64,
    offer: *mut *mut dvt_offer,
) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        let is_free = begins_bytes == u64::MAX;
        if !is_free && first_bytes > longest_bytes {
            let text = format!("the first window, {first_bytes}, is over the longest, {longest_bytes}");
            return Err(Failure::range(text));
        }
        let value = if is_free { Offer::UNLIMITED } else { Offer::new(first_bytes, longest_bytes, begins_bytes) };
        place(offer, "offer")?.write(make(value));
        Ok(DVT_OK)
    })
}

/// Frees an offer. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_free(offer: *mut dvt_offer) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { free::<Offer>(offer) }
}

/// Writes the window in bytes, for dvt_requests_offers(); UINT64_MAX if it is left to the system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_bytes(offer: *mut dvt_offer, bytes: *mut u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(offer, |offer: &mut Offer| write(Some(offer.bytes()), bytes, "bytes")) }
}

/// The connection is established, by a handshake of this round trip (DVT_UNKNOWN if it is not known). Writes the window
/// to offer from now on, and then to report with dvt_offer_offers(). DVT_NONE if it is the one that is offered already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_establish(
    offer: *mut dvt_offer,
    round_trip_ns: u64,
    window_bytes: *mut u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(offer, |offer: &mut Offer| {
            let place = place(window_bytes, "window_bytes")?;
            let trip = (round_trip_ns != DVT_UNKNOWN).then_some(Nanos(round_trip_ns));
            let wider = offer.establish(trip);
            found(wider.map(|window| place.write(window)).is_some())
        })
    }
}

/// Writes the round trip to a server that is so far away that its windows have to grow fast, for
/// dvt_requests_round_trip(). DVT_NONE for nearer servers, and where windows are left to the system.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_farthest(offer: *mut dvt_offer, round_trip_ns: *mut u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(offer, |offer: &mut Offer| write(offer.farthest().map(|trip| trip.0), round_trip_ns, "round_trip_ns"))
    }
}

/// Reports the minimum round trip of the connection so far: a server nearby passes for a far one if its handshake waited
/// in a queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_draws_near(offer: *mut dvt_offer, least_round_trip_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(offer, |offer: &mut Offer| {
            offer.draws_near(Nanos(least_round_trip_ns));
            Ok(DVT_OK)
        })
    }
}

/// Writes the window to offer if a turn asks for this one. DVT_NONE if it is offered already: a window is never withdrawn.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_wider(
    offer: *mut dvt_offer,
    window_bytes: u64,
    wider_bytes: *mut u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(offer, |offer: &mut Offer| write(offer.wider(window_bytes), wider_bytes, "wider_bytes")) }
}

/// Reports that the connection offers this window from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_offers(offer: *mut dvt_offer, window_bytes: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(offer, |offer: &mut Offer| {
            offer.offers(window_bytes);
            Ok(DVT_OK)
        })
    }
}

/// DVT_OK if the window has grown so wide that the connection should not be used for another response, otherwise
/// DVT_NONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_offer_is_grown(offer: *mut dvt_offer) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { with(offer, |offer: &mut Offer| found(offer.is_grown())) }
}

/// Writes what there is.
///
/// # Safety
/// As at the module's head.
unsafe fn write(value: Option<u64>, to: *mut u64, name: &'static str) -> Answer {
    // SAFETY: as promised.
    let place = unsafe { place(to, name) }?;
    found(value.map(|value| place.write(value)).is_some())
}
