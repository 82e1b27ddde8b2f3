//! Errors: a status for the program, and a sentence for who reads its log.
//!
//! The sentence stays with the thread until its next error, as `errno` does. It is kept in place, so that an error of a
//! program that is out of memory can still be told, and so that nothing is left to free when a thread ends.

use std::{
    borrow::Cow,
    cell::Cell,
    ffi::{CStr, c_char},
};

use dovetail_sched::PolicyError;

use crate::structs::dvt_status;

/// What a call answers: `DVT_OK` or `DVT_NONE`, or what was wrong.
pub(crate) type Answer = Result<dvt_status, Failure>;

/// What was wrong with a call. Its sentence is the thread's already: a status alone travels in a register, where a text would
/// take room on the stack and landing places in every call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failure(dvt_status);

impl Failure {
    /// An error with its sentence, which becomes the thread's.
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

/// What was done needs no other word.
impl From<()> for dvt_status {
    #[inline]
    fn from((): ()) -> Self {
        Self::DVT_OK
    }
}

/// Whether there is something, as a status.
#[inline]
pub(crate) fn found(there_is: bool) -> Answer {
    Ok(if there_is { dvt_status::DVT_OK } else { dvt_status::DVT_NONE })
}

/// What a call within a call came to: where it failed, its sentence is the thread's already.
pub(crate) fn answered(status: dvt_status) -> Answer {
    match status {
        dvt_status::DVT_OK | dvt_status::DVT_NONE => Ok(status),
        _ => Err(Failure(status)),
    }
}

/// The longest sentence, its end included; the list of all policies fits.
const LONGEST: usize = 1024;

thread_local! {
    static LAST: Cell<[u8; LONGEST]> = const { Cell::new([0; LONGEST]) };
}

/// The status that C sees.
#[inline]
pub(crate) fn report(answer: Answer) -> dvt_status {
    answer.unwrap_or_else(|failure| failure.0)
}

#[cold]
#[inline(never)]
fn remember(text: &str) {
    let mut last = [0; LONGEST];
    write_text(text, &mut last);
    // A thread that is ending may have no place for it any more.
    let _ = LAST.try_with(|place| place.set(last));
}

/// The thread's last sentence, with an end as C has it; empty before the first.
pub(crate) fn last() -> *const c_char {
    const NONE: &CStr = c"";
    LAST.try_with(|place| place.as_ptr().cast_const().cast()).unwrap_or(NONE.as_ptr())
}

/// Writes as much of `text` as fits with an end into `place`, which is all zero; never a part of a character.
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
