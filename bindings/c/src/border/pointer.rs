//! Pointers from C become references here, or an error.
//!
//! A reference is made only to what begins with the right size, and of what is behind it only those fields are read that
//! C has to write. Answers are written through the pointer: there need not have been anything before.

use std::{any::type_name, ffi::c_char, ptr, slice};

use dovetail_sched::{Dispatch, Nanos, Packet};

use crate::{
    failure::Failure,
    structs::{self, dvt_status},
};

/// The longest text that is taken, its end left out.
const LONGEST_TEXT: usize = 4096;
/// The longest array that is taken.
const LONGEST_ARRAY: u32 = 4096;

/// A struct of C.
///
/// # Safety
/// It is `repr(C)`, begins with its size as a `u32`, and all its fields are numbers or pointers: any bytes are a value.
pub(super) unsafe trait Struct: Copy {}

macro_rules! structs {
    ($($name:ident),+ $(,)?) => {
        // SAFETY: they are declared so in `structs`.
        $(unsafe impl Struct for structs::$name {})+
    };
}

structs!(
    dvt_admission,
    dvt_backlog,
    dvt_dispatch,
    dvt_event,
    dvt_figure,
    dvt_five_tuple,
    dvt_flow_counts,
    dvt_flows_setup,
    dvt_learnt,
    dvt_lookup,
    dvt_packet,
    dvt_policy,
    dvt_program,
    dvt_request,
    dvt_request_setup,
    dvt_setup,
    dvt_turn,
);

/// A place in C's memory for an answer.
#[derive(Debug)]
pub(super) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    #[inline]
    pub(super) fn write(self, value: T) {
        // SAFETY: whoever made this promised that there is such a place for as long as the call lasts.
        unsafe { self.0.write(value) }
    }
}

/// Nanoseconds as C has them.
#[inline]
fn numbers(times: &[Nanos]) -> &[u64] {
    // SAFETY: a `Nanos` is its number in memory.
    unsafe { slice::from_raw_parts(times.as_ptr().cast(), times.len()) }
}

/// Nanoseconds that C has.
#[inline]
pub(crate) fn nanos(times: &[u64]) -> &[Nanos] {
    // SAFETY: as above.
    unsafe { slice::from_raw_parts(times.as_ptr().cast(), times.len()) }
}

/// Reads a field that was written a moment ago, by a load of its own. A load of two fields at once has to wait until both
/// stores have left the store buffer, which takes longer than all else here.
#[inline(always)]
pub(crate) fn alone<T: Copy>(field: &T) -> T {
    // SAFETY: a reference to a number.
    unsafe { ptr::from_ref(field).read_volatile() }
}

macro_rules! write_fields {
    ($to:expr, $packet:expr, $times:expr $(, $field:ident: $value:expr)*) => {{
        let (to, times): (_, &[u64]) = ($to, numbers($times));
        // SAFETY: whoever made the place promised that it is one for the whole struct, and a demand has no more times than
        // fit. Its size is there already.
        unsafe {
            (&raw mut (*to).flow).write(alone(&$packet.flow.0));
            (&raw mut (*to).bytes).write(alone(&$packet.bytes));
            (&raw mut (*to).resources).write(times.len() as u32);
            (&raw mut (*to).arrival_ns).write(alone(&$packet.arrival.0));
            (&raw mut (*to).handle).write(alone(&$packet.handle));
            $((&raw mut (*to).$field).write($value);)*
            let demand = (&raw mut (*to).demand_ns).cast::<u64>();
            match times {
                [one] => demand.write(*one),
                [one, two] => demand.cast::<[u64; 2]>().write([alone(one), alone(two)]),
                _ => ptr::copy_nonoverlapping(times.as_ptr(), demand, times.len()),
            }
        }
    }};
}

/// These are written field by field: a struct that is put together elsewhere and copied takes twice as long, which a
/// packet notices.
impl Out<structs::dvt_packet> {
    #[inline]
    pub(super) fn write_packet(self, packet: &Packet) {
        write_fields!(self.0, packet, packet.demand.times());
    }
}

impl Out<structs::dvt_dispatch> {
    #[inline]
    pub(super) fn write_dispatch(self, next: &Dispatch) {
        write_fields!(self.0, next.packet, next.packet.demand.times(), ticket: next.ticket);
    }
}

/// A struct that C wrote.
///
/// # Safety
/// The pointer is null, or points to a `T` or to another struct that begins with its size, which live for `'a`.
#[inline]
pub(super) unsafe fn read<'a, T: Struct>(given: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as promised, and then it is as long as a `T`.
    unsafe {
        is_of_size(given)?;
        Ok(&*given)
    }
}

/// A place for a struct, of which C wrote the size.
///
/// # Safety
/// As of [`read`], until the answer is written.
#[inline]
pub(super) unsafe fn out<T: Struct>(given: *mut T) -> Result<Out<T>, Failure> {
    // SAFETY: as promised.
    unsafe { is_of_size(given)? };
    Ok(Out(given))
}

/// A place for a number.
///
/// # Safety
/// The pointer is null, or points to a place for a `T`, until the answer is written.
#[inline]
pub(super) unsafe fn place<T>(given: *mut T) -> Result<Out<T>, Failure> {
    is_usable(given)?;
    Ok(Out(given))
}

/// An array of numbers or structs; nothing of a struct is examined.
///
/// # Safety
/// The pointer is null, or points to `count` of `T`, which live for `'a`.
pub(super) unsafe fn array<'a, T>(given: *const T, count: u32) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > LONGEST_ARRAY {
        return Err(Failure::range(format!("an array has at most {LONGEST_ARRAY} elements, not {count}")));
    }
    is_usable(given)?;
    // SAFETY: as promised; at most 4096 structs are no more than an isize counts.
    Ok(unsafe { slice::from_raw_parts(given, count as usize) })
}

/// A text.
///
/// # Safety
/// The pointer is null, or points to bytes of which one is zero, which live for `'a`.
pub(super) unsafe fn text<'a>(given: *const c_char) -> Result<&'a str, Failure> {
    is_usable(given)?;
    let wrong = |text| Err(Failure::new(dvt_status::DVT_ERROR_TEXT, text));
    // SAFETY: nothing behind the zero is read, as promised.
    let end = (0..=LONGEST_TEXT).find(|&at| unsafe { given.add(at).read() } == 0);
    let Some(length) = end else { return wrong("a text has more than 4096 bytes") };
    // SAFETY: all of these were just read.
    let bytes = unsafe { slice::from_raw_parts(given.cast::<u8>(), length) };
    str::from_utf8(bytes).or_else(|_| wrong("a text is not UTF-8"))
}

#[inline]
fn is_usable<T>(given: *const T) -> Result<(), Failure> {
    // One after the other, as for handles.
    if given.is_null() {
        return Err(null::<T>());
    }
    if given.is_aligned() { Ok(()) } else { Err(not_aligned::<T>()) }
}

/// # Safety
/// As of [`read`].
#[inline]
unsafe fn is_of_size<T: Struct>(given: *const T) -> Result<(), Failure> {
    is_usable(given)?;
    // SAFETY: whatever struct it is, it begins with its size.
    let size = unsafe { &*given.cast::<u32>() };
    if *size as usize == size_of::<T>() { Ok(()) } else { Err(wrong_size::<T>(size)) }
}

#[cold]
#[inline(never)]
fn null<T>() -> Failure {
    Failure::new(dvt_status::DVT_ERROR_POINTER, format!("a pointer to {} is null", name_of::<T>()))
}

#[cold]
#[inline(never)]
fn not_aligned<T>() -> Failure {
    Failure::new(dvt_status::DVT_ERROR_POINTER, format!("a pointer to {} is not aligned", name_of::<T>()))
}

#[cold]
#[inline(never)]
fn wrong_size<T>(size: &u32) -> Failure {
    let (name, known) = (name_of::<T>(), size_of::<T>());
    let text =
        format!("a {name} begins with its size, here {known} and not {size}: set it, or compare dvt_abi_version()");
    Failure::new(dvt_status::DVT_ERROR_SIZE, text)
}

fn name_of<T>() -> &'static str {
    type_name::<T>().rsplit("::").next().unwrap_or_default()
}
