//! Handles: what C holds of a value that lives here.
//!
//! A handle is the address of a *slot*. Slots are never given back to the system, so to look at a handle is defined for
//! as long as the program runs, also after it was freed; a freed slot waits until [`WAITING`] others have been freed after
//! it before it serves for another value. What this detects:
//!
//! | mistake | answer |
//! |---|---|
//! | null, or not aligned | `DVT_ERROR_POINTER` |
//! | a handle of another kind | `DVT_ERROR_HANDLE`: each kind's slots begin with letters of their own |
//! | used after it was freed, freed twice | `DVT_ERROR_FREED`, until its slot serves again |
//! | used in a signal handler that interrupted a call with it | `DVT_ERROR_BUSY` |
//! | used by two threads at once | `DVT_ERROR_BUSY`: always with `DVT_CHECKED`, else mostly |
//! | an address that was never a handle | `DVT_ERROR_HANDLE` if it can be read, else the system ends the program |
//!
//! What every call reads lies in a slot's first cache line: a *mark*, which is the kind's letters and the state in one number,
//! so that one comparison examines both, and what a value's type has in front.
//!
//! A call that panics poisons its handle: what is half done is not continued. The panic's message goes to standard error,
//! as Rust's panics do, and to the thread's last error.

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

use crate::{
    failure::{Answer, Failure, report},
    far::Far,
    flows::Flows,
    packets::Packets,
    requests::Requests,
    structs::{dvt_far, dvt_flows, dvt_requests, dvt_scheduler, dvt_status},
};

/// So many freed slots wait before the first of them serves again.
const WAITING: usize = 1024;

const FREED: u64 = 0;
const POISONED: u64 = 1;
const IDLE: u64 = 2;
/// As [`IDLE`], of a handle whose calls in two threads are kept apart with certainty.
const IDLE_CHECKED: u64 = 3;
/// A bit that is set besides either while a call is made.
const BUSY: u64 = 4;
/// The bits of a mark that are the state.
const STATE: u64 = 0xff;

/// What a handle stands for.
pub(super) trait Kind: Sized + Send + 'static {
    /// The type that C points to.
    type Opaque;
    /// The letters in the marks of this kind's slots, with room for the state.
    const LETTERS: u64;
    const NAME: &'static str;

    fn freed() -> &'static Freed<Self>;
    /// Whether two threads are kept apart with certainty.
    fn is_checked(&self) -> bool;
}

/// Slots that were freed, the oldest first.
pub(super) type Freed<K> = Mutex<VecDeque<&'static Slot<K>>>;

/// The place of a value.
#[repr(C, align(64))]
pub(super) struct Slot<K> {
    mark: AtomicU64,
    /// There is one unless it is freed.
    value: UnsafeCell<MaybeUninit<K>>,
}

// SAFETY: the value is reached only by whoever made the state BUSY, or FREED from something else, and it may move to that
// thread. Without a check, that these are not two threads at once is the caller's promise.
unsafe impl<K: Send> Sync for Slot<K> {}

macro_rules! kinds {
    ($($kind:ident, $opaque:ident, $letters:literal, $is_checked:expr;)+) => {
        $(impl Kind for $kind {
            type Opaque = $opaque;
            const LETTERS: u64 = u64::from_be_bytes(*$letters);
            const NAME: &'static str = stringify!($opaque);

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
    Packets, dvt_scheduler, b"dvt\xd5pkt\0", Packets::is_checked;
    Requests, dvt_requests, b"dvt\xd5req\0", Requests::is_checked;
    Flows, dvt_flows, b"dvt\xd5flw\0", Flows::is_checked;
    Far, dvt_far, b"dvt\xd5far\0", |_: &Far| false;
}

/// A handle for `value`.
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
    // SAFETY: nobody reaches a value that is freed, and this thread alone has taken the slot from the list.
    unsafe { (*slot.value.get()).write(value) };
    slot.mark.store(idle, Ordering::Release);
    ptr::from_ref(slot).cast_mut().cast()
}

/// The mark that a handle's slot begins with, of whatever kind it is.
///
/// # Safety
/// The handle is null, or came from [`make`] of some kind.
#[inline(always)]
unsafe fn mark<K: Kind>(handle: *mut K::Opaque) -> Result<&'static AtomicU64, Failure> {
    // One after the other: as one condition they take three times as many instructions.
    if handle.is_null() {
        return Err(null::<K>());
    }
    if !handle.cast::<AtomicU64>().is_aligned() {
        return Err(not_aligned::<K>());
    }
    // SAFETY: every slot begins with such a number, and lives for ever.
    Ok(unsafe { &*handle.cast::<AtomicU64>() })
}

/// Calls `run` with a handle's value. Gives the status that C sees: `DVT_OK` where `run` has none of its own.
///
/// # Safety
/// As of [`mark`]; and one thread does this with a handle at a time, unless its value is checked.
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
    // SAFETY: a slot of this kind. It was idle and is busy now, so there is a value, and nobody else is here.
    let value = unsafe { (*(*handle.cast::<Slot<K>>()).value.get()).assume_init_mut() };
    // Only a status comes out of where panics are caught, as what comes out goes through memory.
    match catch_unwind(AssertUnwindSafe(|| report(run(value).map(Into::into)))) {
        Ok(status) => {
            mark.store(mark.load(Ordering::Relaxed) & !BUSY, Ordering::Release);
            status
        }
        Err(panic) => poisoned::<K>(mark, panic),
    }
}

/// Makes an idle handle busy.
#[inline(always)]
fn claim<K: Kind>(mark: &AtomicU64) -> Result<&AtomicU64, Failure> {
    // Not one step, as that would cost as much as many a policy does.
    if mark.load(Ordering::Acquire) == K::LETTERS | IDLE {
        mark.store(K::LETTERS | IDLE | BUSY, Ordering::Relaxed);
    } else {
        claim_checked::<K>(mark)?;
    }
    Ok(mark)
}

/// In one step; an error where it is not idle at all.
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

/// Calls `run`, which has no handle yet.
pub(super) fn without(run: impl FnOnce() -> Answer) -> dvt_status {
    report(catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(internal(panic))))
}

/// Ends the life of a handle's value. Null is no handle, and nothing happens.
///
/// # Safety
/// As of [`mark`].
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
                // SAFETY: it is of this kind. It was not busy, and is FREED now, so there is a value, and nobody else is here.
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

#[cold]
#[inline(never)]
fn null<K: Kind>() -> Failure {
    Failure::new(dvt_status::DVT_ERROR_POINTER, format!("a {} is null", K::NAME))
}

#[cold]
#[inline(never)]
fn not_aligned<K: Kind>() -> Failure {
    Failure::new(dvt_status::DVT_ERROR_POINTER, format!("a {} is not aligned", K::NAME))
}

/// Why a slot with this mark is not taken.
#[cold]
#[inline(never)]
fn unfit<K: Kind>(mark: u64) -> Failure {
    if mark & !STATE != K::LETTERS {
        return Failure::new(dvt_status::DVT_ERROR_HANDLE, format!("this is not a {}", K::NAME));
    }
    let (status, what) = match mark & STATE {
        IDLE.. => (dvt_status::DVT_ERROR_BUSY, "is used by another call at this moment"),
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
    Failure::new(dvt_status::DVT_ERROR_INTERNAL, format!("the library failed within, which is a bug of it: {text}"))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ffi::CStr};

    use dovetail_sched::{Admission, Dispatch, Limits, Nanos, Packet, PolicySpec, Scheduler, Setup, forward_scheduler};

    use super::*;
    use crate::{border::*, checks::Checks, convert::size, structs::*};

    /// Panics when it is asked for a packet, as no policy should; and when it is dropped, if it is told to.
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

        forward_scheduler!(inner: poll_at, feedback, interest, poll_evicted, set_weight, set_resource_weights,
            forget, backlog, flow_backlog, retune, figures, learning, later_stages);
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
            assert!(last_error().ends_with("a bug of it: a wheel came off"), "{}", last_error());
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

    /// A slot serves again after many others; memory does not grow with the handles that there were.
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
