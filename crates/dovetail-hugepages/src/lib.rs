//! The system's allocator, with huge pages under large tables.
//!
//! A table of a million flows has tens of thousands of pages of 4 KiB, but a processor's TLB has entries for about two
//! thousand. So a random access costs a page walk in addition to the cache line itself, and prefetches wait for it as well.
//! With pages of 2 MiB there are tens. Most distributions provide them on request (`madvise` in
//! `/sys/kernel/mm/transparent_hugepage/enabled`), and [`HugePages`] requests them: it forwards everything to the system's
//! allocator and, for large allocations, tells the kernel with `madvise(2)` that their pages may be huge.
//!
//! A table that grows is copied, because huge pages break up where the system's `realloc` moves them: for a moment both
//! copies are resident. The end of a table may make up to 2 MiB more of it resident than has been written. If the kernel
//! has no huge pages, or none free, nothing changes; nor does it on systems other than Linux.
//!
//! For programs, not libraries: a program has only one allocator.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: dovetail_hugepages::HugePages = dovetail_hugepages::HugePages;
//!
//! let table = vec![0_u64; 1 << 20];
//! assert_eq!(table.len(), 1 << 20);
//! ```

mod allocator;

pub use allocator::{HugePages, MIN_BYTES};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
