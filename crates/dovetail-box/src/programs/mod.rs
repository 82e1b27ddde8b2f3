//! Programs: network functions in WebAssembly, loaded, replaced and removed while the box runs.
//!
//! A programmable node runs code that its operator did not write and that the box was not built with. Each program is one
//! module of WebAssembly in a folder; the file's stem is its name. It can access its own memory and nothing else: it
//! imports nothing, so it has no clock, no files, no network and no access to other programs. Its resources are bounded by
//! [`ProgramLimits`]: memory, and fuel (a count of instructions) per packet. It is stopped by fuel, not by a clock. The
//! time per unit of fuel varies by a factor of ten, so the time that schedulers count is measured: for each packet by the
//! caller of [`NetworkFunction::process`](crate::functions::NetworkFunction::process), and for a new program beforehand by
//! [`measure()`].
//!
//! # What a program exports
//!
//! | export | type | |
//! |---|---|---|
//! | `memory` | memory | the module's only memory |
//! | `dv_abi` | `() -> i32` | returns [`ABI`], 1, the version of this interface |
//! | `dv_buffer` | `(capacity: i32) -> i32` | returns the address of `capacity` bytes to which the box may write frames, or 0 if there is no room. Called once, before the first packet |
//! | `dv_process` | `(frame: i32, length: i32, most: i32) -> i64` | processes the Ethernet frame of `length` bytes at `frame`, the address that `dv_buffer` returned. The result may be up to `most` bytes long |
//!
//! `dv_process` returns one number:
//!
//! ```text
//!  63        56 55                              24 23                      0
//! ┌────────────┬──────────────────────────────────┬─────────────────────────┐
//! │  verdict   │  address of the frame to send    │  its length in bytes    │
//! └────────────┴──────────────────────────────────┴─────────────────────────┘
//! ```
//!
//! Verdict 0: forward the frame unchanged. 1: forward the frame at that address, which may be anywhere in the memory, from
//! [`MIN_FRAME_BYTES`] bytes up to `most`. 2: drop it. Address and length count with verdict 1 only. Any other verdict, a frame
//! that is not wholly in the memory, and a length out of these bounds are failures, as traps are.
//!
//! # Failures
//!
//! The packet is dropped and counted, and the instance is created anew, with its initial globals and memory. A program that
//! fails too often is quarantined ([`ProgramLimits::traps`]) until its file changes: its packets are dropped, or forwarded
//! untouched if [`ProgramLimits::quarantined`] says so.
//!
//! # Components
//!
//! [`Library`] is a set of compiled programs; reloading a folder creates another one and leaves the first unchanged.
//! [`Loader`] does that on a separate thread, so that packets never wait for a compiler. [`Program`] is one instance, for
//! one core. Machine code is never loaded from disk: a folder holds WebAssembly only, which is validated.
//!
//! | module | what |
//! |---|---|
//! | `answer` | the number above |
//! | `limits` | what a program may take |
//! | `error` | what is wrong with a file |
//! | `inspect` | what a module is refused for before it is compiled |
//! | `engine` | the compiler's settings, and what an instruction costs in fuel |
//! | `instance` | a module's instance, and one call of it |
//! | `compiled` | a program that is ready to be run |
//! | `program` | an instance with its counts: the network function |
//! | `measure` | what a program costs, before it is trusted |
//! | `folder` | the files |
//! | `library` | the set |
//! | `loader` | the thread |

mod answer;
mod compiled;
mod engine;
mod error;
mod folder;
mod inspect;
mod instance;
mod library;
mod limits;
mod loader;
mod measure;
mod program;

pub use answer::{ABI, MIN_FRAME_BYTES};
pub use compiled::Generation;
pub use error::{Failure, Flaw, FolderError, ProgramError};
pub use library::{Library, Load};
pub use limits::{MAX_PROGRAMS, MODULE_BYTES, ProgramLimits, Quarantined};
pub use loader::Loader;
pub use measure::{LENGTHS, Measured, Sample, measure};
pub use program::{Counts, Program};
