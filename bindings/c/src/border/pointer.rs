//! Converts pointers from C to references, or reports an error.
//!
//! A reference is created only to a struct that begins with the right size, and only those of its fields are read that C has to
//! write. Results are written through the pointer: the memory need not have been initialised.
//!
//! Errors name the parameter as the header does.

use std::{any::type_name, ffi::c_char, ptr, slice};

use dovetail_sched::{Dispatch, Nanos, Packet};

use crate::{
    failure::Failure,
    structs::{self, dvt_status},
};

/// The longest text accepted, without its terminator.
const MAX_TEXT_BYTES: usize = 4096;
/// The longest array accepted.
const MAX_ARRAY_LEN: u32 = 4096;

/// A struct shared with C.
///
/// # Safety
/// It is `repr(C)`, begins with its size as a `u32`, and all its fields are numbers or pointers: any bytes are a value.
pub(super) unsafe trait Struct: Copy {}

macro_rules! structs {
    ($($name:ident),+ $(,)?) => {
        // SAFETY: `structs` declares them so.
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

/// A place in C's memory for a result.
#[derive(Debug)]
pub(super) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    #[inline]
    pub(super) fn write(self, value: T) {
        // SAFETY: the creator of this promised that the place exists for the duration of the call.
        unsafe { self.0.write(value) }
    }
}

/// Converts nanoseconds to C's representation.
#[inline]
fn numbers(times: &[Nanos]) -> &[u64] {
    // SAFETY: a `Nanos` is represented as its number.
    unsafe { slice::from_raw_parts(times.as_ptr().cast(), times.len()) }
}

/// Converts nanoseconds from C's representation.
#[inline]
pub(crate) fn nanos(times: &[u64]) -> &[Nanos] {
    // SAFETY: as above.
    unsafe { slice::from_raw_parts(times.as_ptr().cast(), times.len()) }
}

/// Reads a field that was written a moment ago, by a separate load. A load of two fields at once stalls until both stores have
/// left the store buffer, which takes longer than everything else here.
#[inline(always)]
pub(crate) fn alone<T: Copy>(field: &T) -> T {
    // SAFETY: a reference to a number.
    unsafe { ptr::from_ref(field).read_volatile() }
}

macro_rules! write_fields {
    ($to:expr, $packet:expr, $times:expr $(, $field:ident: $value:expr)*) => {{
        let (to, times): (_, &[u64]) = ($to, numbers($times));
        // SAFETY: the creator of the place promised that it is large enough for the whole struct, and a demand has no more
        // times than fit. Its size is already written.
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

/// These are written field by field: a struct that is built elsewhere and copied takes twice as long, which is noticeable per
/// packet.
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

/// Reads a struct written by C.
///
/// # Safety
/// The pointer is null, or points to a `T` or to another struct that begins with its size, valid for `'a`.
#[inline]
pub(super) unsafe fn read<'a, T: Struct>(given: *const T, name: &'static str) -> Result<&'a T, Failure> {
    // SAFETY: as promised, and once its size is checked it is as long as a `T`.
    unsafe {
        is_of_size(given, name)?;
        Ok(&*given)
    }
}

/// A place for a struct whose size C has written.
///
/// # Safety
/// Same as for [`read`], until the result is written.
#[inline]
pub(super) unsafe fn out<T: Struct>(given: *mut T, name: &'static str) -> Result<Out<T>, Failure> {
    // SAFETY: as promised.
    unsafe { is_of_size(given, name)? };
    Ok(Out(given))
}

/// A place for a number.
///
/// # Safety
/// The pointer is null, or points to a place for a `T`, until the result is written.
#[inline]
pub(super) unsafe fn place<T>(given: *mut T, name: &'static str) -> Result<Out<T>, Failure> {
    is_usable(given, name)?;
    Ok(Out(given))
}

/// An array of numbers or structs; the structs' sizes are not checked.
///
/// # Safety
/// The pointer is null, or points to `count` values of `T`, valid for `'a`.
pub(super) unsafe fn array<'a, T>(given: *const T, count: u32, name: &'static str) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > MAX_ARRAY_LEN {
        return Err(Failure::range(format!("{name} has at most {MAX_ARRAY_LEN} elements, not {count}")));
    }
    is_usable(given, name)?;
    // SAFETY: as promised; the size of at most 4096 structs fits in an isize.
    Ok(unsafe { slice::from_raw_parts(given, count as usize) })
}

/// A text.
///
/// # Safety
/// The pointer is null, or points to bytes with a terminating zero, valid for `'a`.
pub(super) unsafe fn text<'a>(given: *const c_char, name: &'static str) -> Result<&'a str, Failure> {
    is_usable(given, name)?;
    let wrong = |what| Err(Failure::new(dvt_status::DVT_ERROR_TEXT, format!("{name} {what}")));
    // SAFETY: nothing past the zero is read, as promised.
    let end = (0..=MAX_TEXT_BYTES).find(|&at| unsafe { given.add(at).read() } == 0);
    let Some(length) = end else { return wrong("has more than 4096 bytes") };
    // SAFETY: all of these bytes were just read.
    let bytes = unsafe { slice::from_raw_parts(given.cast::<u8>(), length) };
    str::from_utf8(bytes).or_else(|_| wrong("is not UTF-8"))
}

#[inline]
fn is_usable<T>(given: *const T, name: &'static str) -> Result<(), Failure> {
    // One condition after the other, as for handles.
    if given.is_null() {
        return Err(null(name));
    }
    if given.is_aligned() { Ok(()) } else { Err(not_aligned(name)) }
}

/// # Safety
/// Same as for [`read`].
#[inline]
unsafe fn is_of_size<T: Struct>(given: *const T, name: &'static str) -> Result<(), Failure> {
    is_usable(given, name)?;
    // SAFETY: every struct begins with its size.
    let size = unsafe { &*given.cast::<u32>() };
    if *size as usize == size_of::<T>() { Ok(()) } else { Err(wrong_size::<T>(name, size)) }
}

#[cold]
#[inline(never)]
pub(super) fn null(name: &str) -> Failure {
    Failure::new(dvt_status::DVT_ERROR_POINTER, format!("{name} is null"))
}

#[cold]
#[inline(never)]
pub(super) fn not_aligned(name: &str) -> Failure {
    Failure::new(dvt_status::DVT_ERROR_POINTER, format!("{name} is not aligned"))
}

#[cold]
#[inline(never)]
fn wrong_size<T>(name: &str, size: &u32) -> Failure {
    let (of, known) = (type_name::<T>().rsplit("::").next().unwrap_or_default(), size_of::<T>());
    let text = format!("{name} has size {size}, not {known}: set it to sizeof({of}), or compare dvt_abi_version()");
    Failure::new(dvt_status::DVT_ERROR_SIZE, text)
}
