//! What no compiler checks in this repository: whether files import each other in cycles, whether the book is complete
//! and its links lead somewhere, whether the language keeps to its terms.
//!
//! The library reads the repository; what it must find is in `tests/`, one rule a file.

pub mod imports;
pub mod language;
pub mod pages;
pub mod repository;
