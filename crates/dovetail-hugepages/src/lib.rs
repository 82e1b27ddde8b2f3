//! The system's allocator, with huge pages under large tables.
//!
//! A table of a million flows has tens of thousands of pages of 4 KiB, and a processor remembers where about two thousand are.
//! So a visit at random costs a search for its page beside the line itself, and prefetches wait for it as well. With pages of
//! 2 MiB there are tens. Most distributions give them to those who ask (`madvise` in
//! `/sys/kernel/mm/transparent_hugepage/enabled`), and [`HugePages`] asks: it hands everything on to the system's allocator and,
//! of what is large, tells the kernel with `madvise(2)` that pages there may be huge.
//!
//! A table that grows is copied, because huge pages come apart where the system's `realloc` moves them: for a moment both are
//! resident. The end of a table may make up to 2 MiB more of it resident than has been written. Where the kernel has no huge pages, or none free, nothing changes; nor does it on
//! other systems than Linux.
//!
//! For programs, not libraries: a program has one allocator.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: dovetail_hugepages::HugePages = dovetail_hugepages::HugePages;
//!
//! let table = vec![0_u64; 1 << 20];
//! assert_eq!(table.len(), 1 << 20);
//! ```

mod allocator;

pub use allocator::{HugePages, LEAST_BYTES};
