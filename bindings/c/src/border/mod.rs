//! Every function that C sees, and all unsafe code of this crate.
//!
//! [`pointer`] turns pointers and [`handle`] turns handles into references, or reports errors; the rest only calls them, and
//! the safe modules of the crate. Each function relies on the same promise of its caller, which the header states and nothing
//! here can check:
//!
//! - a pointer that is not null points to what the header says, or to a struct that begins with another `size`;
//! - texts end with a zero;
//! - a handle came from the function that makes such handles;
//! - unless a handle was made with `DVT_CHECKED`, one thread uses it at a time;
//! - none of it is written to by others during the call.
//!
//! Null and unaligned pointers, wrong sizes, handles of another kind and freed handles are errors, not undefined behaviour: see
//! [`handle`].
#![allow(unsafe_code)]
// All functions have the safety section above.
#![allow(clippy::missing_safety_doc)]

mod far;
mod flows;
mod handle;
mod library;
mod offer;
mod packets;
mod pointer;
mod requests;
mod stages;

pub use far::*;
pub use flows::*;
pub use library::*;
pub use offer::*;
pub use packets::*;
pub use requests::*;
pub use stages::*;

pub(crate) use pointer::{alone, nanos};
