//! Checks that no compiler performs: whether files import each other in cycles, whether the book is complete and its links
//! are valid, whether the language keeps to its terms.
//!
//! The library reads the repository; the rules are in `tests/`, one per file.

pub mod imports;
pub mod language;
pub mod pages;
pub mod repository;

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
