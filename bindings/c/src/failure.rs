//! Errors: a status for the program, and a message for its log.
//!
//! The message is kept per thread until its next error, like `errno`. It is stored in place, so that an error can be reported
//! even if the program is out of memory, and nothing is left to free when a thread ends.

use std::{
    borrow::Cow,
    cell::Cell,
    ffi::{CStr, c_char},
};

use dovetail_sched::PolicyError;

use crate::structs::dvt_status;

/// The result of a call: `DVT_OK` or `DVT_NONE`, or an error.
pub(crate) type Answer = Result<dvt_status, Failure>;

/// An error of a call. Its message is already stored for the thread: a status alone travels in a register, while a text would
/// take stack space and landing pads in every call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure(dvt_status);

impl Failure {
    /// An error with its message, which becomes the thread's.
    #[cold]
    #[inline(never)]
    pub(crate) fn new(status: dvt_status, text: impl Into<Cow<'static, str>>) -> Self {
        remember(&text.into());
        Self(status)
    }

    /// A number is out of its range.
    #[cold]
    pub(crate) fn range(text: String) -> Self {
        Self::new(dvt_status::DVT_ERROR_RANGE, text)
    }
}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        Self::new(dvt_status::DVT_ERROR_POLICY, error.to_string())
    }
}

/// A call without a result of its own returns `DVT_OK`.
impl From<()> for dvt_status {
    #[inline]
    fn from((): ()) -> Self {
        Self::DVT_OK
    }
}

/// A status for whether something was found.
#[inline]
pub(crate) fn found(there_is: bool) -> Answer {
    Ok(if there_is { dvt_status::DVT_OK } else { dvt_status::DVT_NONE })
}

/// The result of a call within a call: if it failed, its message is already the thread's.
pub(crate) fn answered(status: dvt_status) -> Answer {
    match status {
        dvt_status::DVT_OK | dvt_status::DVT_NONE => Ok(status),
        _ => Err(Failure(status)),
    }
}

/// The longest message, including its terminator; the list of all policies fits.
const MAX_MESSAGE_BYTES: usize = 1024;

thread_local! {
    static LAST: Cell<[u8; MAX_MESSAGE_BYTES]> = const { Cell::new([0; MAX_MESSAGE_BYTES]) };
}

/// Converts a result to the status for C.
#[inline]
pub(crate) fn report(answer: Answer) -> dvt_status {
    answer.unwrap_or_else(|failure| failure.0)
}

#[cold]
#[inline(never)]
fn remember(text: &str) {
    let mut last = [0; MAX_MESSAGE_BYTES];
    write_text(text, &mut last);
    // A thread that is ending may no longer have a place for it.
    let _ = LAST.try_with(|place| place.set(last));
}

/// The thread's last message, zero-terminated; empty before the first.
pub(crate) fn last() -> *const c_char {
    const NONE: &CStr = c"";
    LAST.try_with(|place| place.as_ptr().cast_const().cast()).unwrap_or(NONE.as_ptr())
}

/// Writes as much of `text` as fits with a terminator into `place`, which must be all zero; never splits a character.
pub(crate) fn write_text(text: &str, place: &mut [u8]) {
    let mut length = text.len().min(place.len() - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    for (to, &byte) in place.iter_mut().zip(&text.as_bytes()[..length]) {
        *to = if byte == 0 { b'?' } else { byte };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_end() {
        let mut place = [0; 6];
        write_text("año\0xyz", &mut place);
        assert_eq!(&place, b"a\xc3\xb1o?\0");
        let mut place = [0; 3];
        write_text("aañ", &mut place);
        assert_eq!(&place, b"aa\0");
    }
}
