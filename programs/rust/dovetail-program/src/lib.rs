//! What a program for a Dovetail box is written with: a type that handles frames, and [`program!`].
//!
//! ```ignore
//! #![no_std]
//!
//! use dovetail_program::{Frame, Program, Verdict, program};
//!
//! struct Short;
//!
//! impl Program for Short {
//!     const NEW: Self = Short;
//!
//!     fn process(&mut self, frame: &mut Frame<'_>) -> Verdict {
//!         if frame.len() > 1000 { Verdict::Drop } else { Verdict::Untouched }
//!     }
//! }
//!
//! program!(Short);
//!
//! #[cfg(test)]
//! mod tests {
//!     use super::*;
//!
//!     #[test]
//!     fn long_frames_are_dropped() {
//!         let (mut program, mut room) = (Short::NEW, [0; 1500]);
//!         assert_eq!(program.process(&mut Frame::new(&mut room, 1000)), Verdict::Untouched);
//!         assert_eq!(program.process(&mut Frame::new(&mut room, 1001)), Verdict::Drop);
//!     }
//! }
//! ```
//!
//! A panic is a trap: the packet is dropped, and the program restarts with [`Program::NEW`].
#![no_std]

use core::{
    cell::UnsafeCell,
    ops::{Deref, DerefMut},
};

/// The version of the interface.
pub const ABI: i32 = 1;

/// The bytes of the buffer: an IP packet of 65,535 with its Ethernet header and tags, and 256 that a frame may grow by.
pub const BUFFER_BYTES: usize = 65_557 + 256;

/// What the box does with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Forward it as it was received, whatever has been written to it.
    Untouched,
    /// Forward it as it is now.
    Forward,
    /// Drop it.
    Drop,
}

/// A program's state, and what it does to a frame.
pub trait Program: Sized + 'static {
    /// The initial state, also used after a trap.
    const NEW: Self;

    /// Processes a frame.
    fn process(&mut self, frame: &mut Frame<'_>) -> Verdict;
}

/// An Ethernet frame without its check sequence, and the room behind it into which it can grow.
#[derive(Debug)]
pub struct Frame<'a> {
    room: &'a mut [u8],
    length: usize,
}

impl<'a> Frame<'a> {
    /// The frame in the first `length` bytes of `room`, for tests: the box provides a program's frames.
    ///
    /// # Panics
    /// When `room` is shorter than that.
    #[must_use]
    pub fn new(room: &'a mut [u8], length: usize) -> Self {
        assert!(length <= room.len(), "the frame is longer than its room");
        Self { room, length }
    }

    /// Changes its length. Added bytes are unspecified. Returns `false` and changes nothing if that is too long.
    pub fn resize(&mut self, length: usize) -> bool {
        let fits = length <= self.room.len();
        if fits {
            self.length = length;
        }
        fits
    }
}

impl Deref for Frame<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room[..self.length]
    }
}

impl DerefMut for Frame<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.room[..self.length]
    }
}

/// The buffer and the program, of which [`program!`] defines one.
#[doc(hidden)]
pub struct Cell<P> {
    buffer: UnsafeCell<[u8; BUFFER_BYTES]>,
    program: UnsafeCell<P>,
}

// SAFETY: an instance of a program runs on one thread at a time, and a program has no threads of its own.
unsafe impl<P> Sync for Cell<P> {}

impl<P: Program> Cell<P> {
    #[doc(hidden)]
    pub const fn new() -> Self {
        Self { buffer: UnsafeCell::new([0; BUFFER_BYTES]), program: UnsafeCell::new(P::NEW) }
    }

    #[doc(hidden)]
    pub fn buffer(&self, capacity: i32) -> *mut u8 {
        let fits = usize::try_from(capacity).is_ok_and(|capacity| capacity <= BUFFER_BYTES);
        if fits { self.buffer.get().cast() } else { core::ptr::null_mut() }
    }

    #[doc(hidden)]
    pub fn process(&self, length: i32, most: i32) -> i64 {
        let (length, most) = (length as usize, (most as usize).min(BUFFER_BYTES));
        // SAFETY: only this function makes references to the two, it does not call itself, and the box, which writes
        // to the buffer, waits meanwhile.
        let (room, program) = unsafe { (&mut (&mut *self.buffer.get())[..most], &mut *self.program.get()) };
        let address = room.as_ptr() as usize;
        let length = length.min(room.len());
        let mut frame = Frame { room, length };
        let verdict: i64 = match program.process(&mut frame) {
            Verdict::Untouched => 0,
            Verdict::Forward => 1,
            Verdict::Drop => 2,
        };
        verdict << 56 | (address as i64) << 24 | frame.length as i64
    }
}

/// Exports a [`Program`], and makes a panic a trap.
#[macro_export]
macro_rules! program {
    ($program:ty) => {
        static PROGRAM: $crate::Cell<$program> = $crate::Cell::new();

        // SAFETY: the interface reserves these names, so nothing else in a program has them.
        #[unsafe(no_mangle)]
        extern "C" fn dv_abi() -> i32 {
            $crate::ABI
        }

        // SAFETY: as above.
        #[unsafe(no_mangle)]
        extern "C" fn dv_buffer(capacity: i32) -> *mut u8 {
            PROGRAM.buffer(capacity)
        }

        // SAFETY: as above.
        #[unsafe(no_mangle)]
        extern "C" fn dv_process(_frame: i32, length: i32, most: i32) -> i64 {
            PROGRAM.process(length, most)
        }

        // Tests link the standard library, which has its own.
        #[cfg(all(target_arch = "wasm32", not(test)))]
        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
            core::arch::wasm32::unreachable()
        }
    };
}
