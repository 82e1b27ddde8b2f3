//! Handles: C's references to values that live here.
//!
//! A handle is the address of a *slot*. Slots are never returned to the system, so reading through a handle is defined for as
//! long as the program runs, even after the handle was freed; a freed slot is reused only after [`WAITING`] others have been
//! freed after it. This detects:
//!
//! | mistake | result |
//! |---|---|
//! | null, or not aligned | `DVT_ERROR_POINTER` |
//! | a handle of another kind | `DVT_ERROR_HANDLE`: each kind's slots begin with letters of their own |
//! | used after it was freed, freed twice | `DVT_ERROR_FREED`, until its slot is reused |
//! | used in a signal handler that interrupted a call with it | `DVT_ERROR_BUSY` |
//! | used by two threads at once | `DVT_ERROR_BUSY`: always with `DVT_CHECKED`, else mostly |
//! | an address that was never a handle | `DVT_ERROR_HANDLE` if it can be read, else the system ends the program |
//!
//! A slot's first cache line contains what every call reads: a *mark*, which combines the kind's letters and the state in one
//! number, so that one comparison checks both, and the first fields of the value.
//!
//! A call that panics poisons its handle, because the value may be half changed. The panic's message goes to standard error, as
//! Rust's panics do, and to the thread's last error.

use std::{
    any::Any,
    cell::UnsafeCell,
    collections::VecDeque,
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use dovetail_sched::request::Offer;

use super::pointer::{not_aligned, null};
use crate::{
    failure::{Answer, Failure, report},
    far::Far,
    flows::Flows,
    packets::Packets,
    requests::Requests,
    structs::{dvt_far, dvt_flows, dvt_offer, dvt_requests, dvt_scheduler, dvt_status},
};

/// The number of freed slots that wait before the first of them is reused.
const WAITING: usize = 1024;

const FREED: u64 = 0;
const POISONED: u64 = 1;
const IDLE: u64 = 2;
/// Same as [`IDLE`], for a handle on which simultaneous calls of two threads are always detected.
const IDLE_CHECKED: u64 = 3;
/// A bit that is set in addition to either during a call.
const BUSY: u64 = 4;
/// The bits of a mark that hold the state.
const STATE: u64 = 0xff;

/// The type of a handle's value.
pub(super) trait Kind: Sized + Send + 'static {
    /// The type that C points to.
    type Opaque;
    /// The letters in the marks of this kind's slots, leaving room for the state.
    const LETTERS: u64;
    /// C's name for the type.
    const NAME: &'static str;
    /// The name of the functions' parameter.
    const PARAMETER: &'static str;

    fn freed() -> &'static Freed<Self>;
    /// Whether simultaneous calls of two threads are always detected.
    fn is_checked(&self) -> bool;
}

/// Freed slots, the oldest first.
pub(super) type Freed<K> = Mutex<VecDeque<&'static Slot<K>>>;

/// The storage of a value.
#[repr(C, align(64))]
pub(super) struct Slot<K> {
    mark: AtomicU64,
    /// Initialised unless the slot is freed.
    value: UnsafeCell<MaybeUninit<K>>,
}

// SAFETY: only the thread that set the state to BUSY, or from another state to FREED, reaches the value, and the value may move
// to that thread. Without a check, the caller promises that no two threads do so at once.
unsafe impl<K: Send> Sync for Slot<K> {}

macro_rules! kinds {
    ($($kind:ident, $opaque:ident, $parameter:literal, $letters:literal, $is_checked:expr;)+) => {
        $(impl Kind for $kind {
            type Opaque = $opaque;
            const LETTERS: u64 = u64::from_be_bytes(*$letters);
            const NAME: &'static str = stringify!($opaque);
            const PARAMETER: &'static str = $parameter;

            fn freed() -> &'static Freed<Self> {
                static FREED: Freed<$kind> = Mutex::new(VecDeque::new());
                &FREED
            }

            fn is_checked(&self) -> bool {
                $is_checked(self)
            }
        })+
    };
}

kinds! {
    Packets, dvt_scheduler, "scheduler", b"dvt\xd5pkt\0", Packets::is_checked;
    Requests, dvt_requests, "requests", b"dvt\xd5req\0", Requests::is_checked;
    Flows, dvt_flows, "flows", b"dvt\xd5flw\0", Flows::is_checked;
    Far, dvt_far, "far", b"dvt\xd5far\0", |_: &Far| false;
    Offer, dvt_offer, "offer", b"dvt\xd5ofr\0", |_: &Offer| false;
}

/// Creates a handle for `value`.
pub(super) fn make<K: Kind>(value: K) -> *mut K::Opaque {
    let mut freed = K::freed().lock().unwrap_or_else(PoisonError::into_inner);
    let again = if freed.len() > WAITING { freed.pop_front() } else { None };
    drop(freed);
    let slot = again.unwrap_or_else(|| {
        Box::leak(Box::new(Slot {
            mark: AtomicU64::new(K::LETTERS | FREED),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }))
    });
    let idle = K::LETTERS | if value.is_checked() { IDLE_CHECKED } else { IDLE };
    // SAFETY: no other thread reaches a freed value, and only this thread has taken the slot from the list.
    unsafe { (*slot.value.get()).write(value) };
    slot.mark.store(idle, Ordering::Release);
    ptr::from_ref(slot).cast_mut().cast()
}

/// The mark at the start of a handle's slot, whatever its kind.
///
/// # Safety
/// The handle is null, or came from [`make`] of some kind.
#[inline(always)]
unsafe fn mark<K: Kind>(handle: *mut K::Opaque) -> Result<&'static AtomicU64, Failure> {
    // One condition after the other: combined they take three times as many instructions.
    if handle.is_null() {
        return Err(null(K::PARAMETER));
    }
    if !handle.cast::<AtomicU64>().is_aligned() {
        return Err(not_aligned(K::PARAMETER));
    }
    // SAFETY: every slot begins with such a number and is never deallocated.
    Ok(unsafe { &*handle.cast::<AtomicU64>() })
}

/// Calls `run` with a handle's value. Returns the status for C: `DVT_OK` if `run` has none of its own.
///
/// # Safety
/// Same as for [`mark`]; and only one thread at a time does this with a handle, unless its value is checked.
#[inline]
pub(super) unsafe fn with<K: Kind, A: Into<dvt_status>>(
    handle: *mut K::Opaque,
    run: impl FnOnce(&mut K) -> Result<A, Failure>,
) -> dvt_status {
    // SAFETY: as promised.
    let mark = match unsafe { mark::<K>(handle) }.and_then(claim::<K>) {
        Ok(mark) => mark,
        Err(failure) => return report(Err(failure)),
    };
    // SAFETY: a slot of this kind. It was idle and is busy now, so there is a value, and no other thread reaches it.
    let value = unsafe { (*(*handle.cast::<Slot<K>>()).value.get()).assume_init_mut() };
    // Only a status is returned from `catch_unwind`, because its result goes through memory.
    match catch_unwind(AssertUnwindSafe(|| report(run(value).map(Into::into)))) {
        Ok(status) => {
            mark.store(mark.load(Ordering::Relaxed) & !BUSY, Ordering::Release);
            status
        }
        Err(panic) => poisoned::<K>(mark, panic),
    }
}

/// Marks an idle handle as busy.
#[inline(always)]
fn claim<K: Kind>(mark: &AtomicU64) -> Result<&AtomicU64, Failure> {
    // Not an atomic exchange, which would cost as much as many a policy does.
    if mark.load(Ordering::Acquire) == K::LETTERS | IDLE {
        mark.store(K::LETTERS | IDLE | BUSY, Ordering::Relaxed);
    } else {
        claim_checked::<K>(mark)?;
    }
    Ok(mark)
}

/// Atomically; an error if it is not idle.
#[cold]
#[inline(never)]
fn claim_checked<K: Kind>(mark: &AtomicU64) -> Result<(), Failure> {
    let (idle, busy) = (K::LETTERS | IDLE_CHECKED, K::LETTERS | IDLE_CHECKED | BUSY);
    mark.compare_exchange(idle, busy, Ordering::Acquire, Ordering::Acquire).map(|_| ()).map_err(unfit::<K>)
}

/// Keeps a handle from further calls after a panic.
#[cold]
#[inline(never)]
fn poisoned<K: Kind>(mark: &AtomicU64, panic: Box<dyn Any + Send>) -> dvt_status {
    mark.store(K::LETTERS | POISONED, Ordering::Release);
    report(Err(internal(panic)))
}

/// Calls `run`, for functions that have no handle yet.
pub(super) fn without(run: impl FnOnce() -> Answer) -> dvt_status {
    report(catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(internal(panic))))
}

/// Frees a handle's value. Null is not a handle, and nothing happens.
///
/// # Safety
/// Same as for [`mark`].
pub(super) unsafe fn free<K: Kind>(handle: *mut K::Opaque) -> dvt_status {
    if handle.is_null() {
        return dvt_status::DVT_OK;
    }
    without(|| {
        // SAFETY: as promised.
        let mark = unsafe { mark::<K>(handle)? };
        for state in [IDLE, IDLE_CHECKED, POISONED] {
            let (was, freed) = (K::LETTERS | state, K::LETTERS | FREED);
            if mark.compare_exchange(was, freed, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                // SAFETY: it is of this kind. It was not busy, and is FREED now, so there is a value, and no other thread
                // reaches it.
                let (slot, value) = unsafe {
                    let slot: &'static Slot<K> = &*handle.cast::<Slot<K>>();
                    (slot, (*slot.value.get()).assume_init_read())
                };
                K::freed().lock().unwrap_or_else(PoisonError::into_inner).push_back(slot);
                drop(value);
                return Ok(dvt_status::DVT_OK);
            }
        }
        Err(unfit::<K>(mark.load(Ordering::Relaxed)))
    })
}

/// Why a slot with this mark is refused.
#[cold]
#[inline(never)]
fn unfit<K: Kind>(mark: u64) -> Failure {
    if mark & !STATE != K::LETTERS {
        return Failure::new(dvt_status::DVT_ERROR_HANDLE, format!("this is not a {}", K::NAME));
    }
    let (status, what) = match mark & STATE {
        IDLE.. => (dvt_status::DVT_ERROR_BUSY, "is in use by another call"),
        POISONED => (dvt_status::DVT_ERROR_POISONED, "failed in an earlier call, and can only be freed"),
        _ => (dvt_status::DVT_ERROR_FREED, "was freed"),
    };
    Failure::new(status, format!("the {} {what}", K::NAME))
}

#[cold]
#[inline(never)]
fn internal(panic: Box<dyn Any + Send>) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Failure::new(dvt_status::DVT_ERROR_INTERNAL, format!("internal error, a bug in the library: {text}"))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ffi::CStr};

    use dovetail_sched::{Admission, Dispatch, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, forward_scheduler};

    use super::*;
    use crate::{border::*, checks::Checks, convert::size, structs::*};

    /// Panics when asked for a packet, as no policy should; and when dropped, if told to.
    #[derive(Debug)]
    struct Breaks {
        inner: Box<dyn Scheduler>,
        also_when_dropped: bool,
    }

    impl Scheduler for Breaks {
        fn dequeue(&mut self, _: Nanos) -> Option<Dispatch> {
            panic!("a wheel came off")
        }

        fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
            self.inner.enqueue(packet, now)
        }

        forward_scheduler!(inner: poll_at, feedback, interest, poll_evicted, discard, set_weight,
            set_resource_weights, forget, backlog, flow_backlog, retune, figures, learning, later_stages);
    }

    impl Drop for Breaks {
        fn drop(&mut self) {
            assert!(!self.also_when_dropped, "and another wheel");
        }
    }

    fn breaks(also_when_dropped: bool) -> *mut dvt_scheduler {
        let inner = "drr".parse::<PolicySpec>().unwrap().build(&Setup::new(1, Limits::UNLIMITED)).unwrap();
        let broken = Box::new(Breaks { inner, also_when_dropped });
        make(Packets::around(broken, 1, Limits::UNLIMITED, Checks::default()))
    }

    fn last_error() -> String {
        // SAFETY: a text of this thread.
        unsafe { CStr::from_ptr(dvt_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_an_error_and_poisons_its_handle() {
        let (scheduler, mut at) = (breaks(false), 0);
        let size = size::<dvt_dispatch>();
        let demand_ns = [0; DVT_MAX_RESOURCES];
        let mut dispatch =
            dvt_dispatch { size, flow: 0, bytes: 0, resources: 0, arrival_ns: 0, handle: 0, ticket: 0, demand_ns };
        // SAFETY: a handle, and places for answers.
        unsafe {
            assert_eq!(dvt_poll_at(scheduler, &raw mut at), dvt_status::DVT_NONE);
            assert_eq!(dvt_dequeue(scheduler, 0, &raw mut dispatch), dvt_status::DVT_ERROR_INTERNAL);
            assert!(last_error().ends_with("a bug in the library: a wheel came off"), "{}", last_error());
            for _ in 0..2 {
                assert_eq!(dvt_poll_at(scheduler, &raw mut at), dvt_status::DVT_ERROR_POISONED);
                assert!(last_error().contains("can only be freed"), "{}", last_error());
            }
            assert_eq!(dvt_scheduler_free(scheduler), dvt_status::DVT_OK);
            assert_eq!(dvt_poll_at(scheduler, &raw mut at), dvt_status::DVT_ERROR_FREED);
        }
    }

    #[test]
    fn a_panic_while_it_is_freed_does_not_leave_the_library() {
        let scheduler = breaks(true);
        // SAFETY: a handle.
        unsafe {
            assert_eq!(dvt_scheduler_free(scheduler), dvt_status::DVT_ERROR_INTERNAL);
            assert!(last_error().contains("another wheel"), "{}", last_error());
            assert_eq!(dvt_scheduler_free(scheduler), dvt_status::DVT_ERROR_FREED);
        }
    }

    #[test]
    fn a_call_within_a_call_is_told_so() {
        let scheduler = breaks(false);
        // SAFETY: a handle, which is checked for this or not.
        unsafe {
            let inner = |_: &mut Packets| {
                let status = with(scheduler, |_: &mut Packets| Ok(dvt_status::DVT_OK));
                assert_eq!(status, dvt_status::DVT_ERROR_BUSY);
                assert_eq!(dvt_scheduler_free(scheduler), dvt_status::DVT_ERROR_BUSY);
                Ok(dvt_status::DVT_OK)
            };
            assert_eq!(with(scheduler, inner), dvt_status::DVT_OK);
            assert_eq!(dvt_scheduler_free(scheduler), dvt_status::DVT_OK);
        }
    }

    /// A slot is reused after many others; memory does not grow with the number of handles ever created.
    #[test]
    fn a_freed_handle_is_known_until_its_slot_serves_again() {
        let (mut handles, mut delay, mut room) = (Vec::new(), 0, 0);
        for _ in 0..3 * WAITING {
            let far = make(Far::default());
            // SAFETY: a handle, and one that was.
            unsafe {
                assert_eq!(free::<Far>(far), dvt_status::DVT_OK);
                assert_eq!(free::<Far>(far), dvt_status::DVT_ERROR_FREED);
                let first = *handles.first().unwrap_or(&far);
                if handles.len() < WAITING {
                    let status = dvt_far_delay(first, 0, &raw mut delay, &raw mut room);
                    assert_eq!(status, dvt_status::DVT_ERROR_FREED);
                }
            }
            handles.push(far);
        }
        let slots: BTreeSet<usize> = handles.iter().map(|far| far.addr()).collect();
        assert_eq!(slots.len(), WAITING + 1);
        assert_eq!(handles[0], handles[WAITING + 1]);
    }
}
