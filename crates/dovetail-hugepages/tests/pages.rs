//! A program with this allocator.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::{fs, hint::black_box};

use dovetail_hugepages::{HugePages, MIN_BYTES};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

/// Whether the kernel was told that the pages at this place may be huge: `hg` among the flags of the mapping there.
fn may_be_huge(place: *const u8) -> bool {
    let (place, mut is_here) = (place.addr(), false);
    for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let first = line.split(' ').next().unwrap();
        if let Some((from, to)) = first.split_once('-') {
            let [from, to] = [from, to].map(|number| usize::from_str_radix(number, 16).unwrap());
            is_here = (from..to).contains(&place);
        } else if is_here && line.starts_with("VmFlags:") {
            return line.split(' ').any(|flag| flag == "hg");
        }
    }
    false
}

fn has_huge_pages() -> bool {
    fs::exists("/sys/kernel/mm/transparent_hugepage/enabled").unwrap()
}

#[test]
fn large_tables_have_huge_pages() {
    if !has_huge_pages() {
        return dovetail_skip::skipped("the kernel has no huge pages");
    }
    let zeroed = vec![0_u8; 2 * MIN_BYTES];
    let filled = vec![7_u8; MIN_BYTES];
    let mut grown = vec![1_u8; 1000];
    grown.resize(MIN_BYTES + 1000, 2);
    for table in [&zeroed, &filled, &grown] {
        assert!(may_be_huge(&table[table.len() / 2]), "{} bytes", table.len());
    }
    let small = vec![0_u8; MIN_BYTES / 2];
    assert!(!may_be_huge(&small[small.len() / 2]));
}

proptest! {
    #[test]
    fn tables_that_grow_and_shrink_keep_what_they_hold(sizes in prop::collection::vec(0..4 * MIN_BYTES, 1..8)) {
        let mut table: Vec<u8> = Vec::new();
        for (round, &size) in sizes.iter().enumerate() {
            let kept = size.min(table.len());
            let before: Vec<u8> = table[..kept].iter().step_by(4096).copied().collect();
            table.resize(size, round as u8);
            table.shrink_to_fit();
            prop_assert!(black_box(&table)[..kept].iter().step_by(4096).eq(&before));
            prop_assert!(table[kept..].iter().step_by(4096).all(|&byte| byte == round as u8));
        }
    }
}
