//! A far queue's functions.

use super::{
    handle::{free, make, with, without},
    pointer::place,
};
use crate::{
    failure::found,
    far::Far,
    structs::{dvt_status::DVT_OK, *},
};

/// Creates an estimator of the queue at the far end of a link, for dvt_requests_far_queue().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_far_new(far: *mut *mut dvt_far) -> dvt_status {
    // SAFETY: as at the module's head.
    without(|| unsafe {
        place(far, "far")?.write(make(Far::default()));
        Ok(DVT_OK)
    })
}

/// Frees an estimator. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_far_free(far: *mut dvt_far) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe { free::<Far>(far) }
}

/// Records that a probe is sent: a small packet that returns over the link. Writes its number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_far_probe(far: *mut dvt_far, now_ns: u64, probe: *mut u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(far, |far: &mut Far| {
            let to = place(probe, "probe")?;
            to.write(far.probe(now_ns));
            Ok(DVT_OK)
        })
    }
}

/// Records that a probe has returned. Numbers that are not in flight are ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_far_back(far: *mut dvt_far, probe: u64, now_ns: u64) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(far, |far: &mut Far| {
            far.back(probe, now_ns);
            Ok(DVT_OK)
        })
    }
}

/// Writes how long a packet waits in the queue now, and how long when the queue is full (DVT_UNKNOWN if that has not
/// been observed). DVT_NONE if nothing is known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_far_delay(
    far: *mut dvt_far,
    now_ns: u64,
    delay_ns: *mut u64,
    room_ns: *mut u64,
) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(far, |far: &mut Far| {
            let (delay, room) = (place(delay_ns, "delay_ns")?, place(room_ns, "room_ns")?);
            let seen = far.delay(now_ns).map(|seen| {
                delay.write(seen.delay.0);
                room.write(seen.room.map_or(DVT_UNKNOWN, |room| room.0));
            });
            found(seen.is_some())
        })
    }
}

/// Discards everything known, because probes take another path from now on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dvt_far_forget(far: *mut dvt_far) -> dvt_status {
    // SAFETY: as at the module's head.
    unsafe {
        with(far, |far: &mut Far| {
            far.forget();
            Ok(DVT_OK)
        })
    }
}
