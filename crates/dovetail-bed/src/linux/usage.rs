//! Resources used by processes so far, according to /proc.

use std::fs;

use dovetail_netns::Namespace;
use rustix::param::{clock_ticks_per_second, page_size};

/// The total over all processes of a namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// User and system time in clock ticks, including that of children that have ended.
    ticks: u64,
    pages: u64,
    pub(super) processes: usize,
}

impl Usage {
    pub(super) fn read(namespace: &Namespace) -> Self {
        let stat = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).ok();
        let each = namespace.processes().into_iter().filter_map(stat);
        each.filter_map(|stat| Self::parse(&stat)).fold(Self::default(), |sum, one| Self {
            ticks: sum.ticks + one.ticks,
            pages: sum.pages + one.pages,
            processes: sum.processes + one.processes,
        })
    }

    /// Parses a line of /proc/PID/stat. Fields are counted after the name, which may contain anything but ends at the last ')'.
    fn parse(stat: &str) -> Option<Self> {
        const NAME: usize = 2;
        const TIMES: [usize; 4] = [14, 15, 16, 17];
        const RESIDENT_PAGES: usize = 24;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - NAME - 1)?.parse::<u64>().ok();
        let ticks = TIMES.into_iter().map(field).sum::<Option<u64>>()?;
        Some(Self { ticks, pages: field(RESIDENT_PAGES)?, processes: 1 })
    }

    /// CPU time since an earlier reading, in seconds.
    pub(super) fn cpu_s_since(self, earlier: Self) -> f64 {
        self.ticks.saturating_sub(earlier.ticks) as f64 / clock_ticks_per_second() as f64
    }

    pub(super) fn resident_bytes(self) -> u64 {
        self.pages * page_size() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 99 0 0 0 10 20 3 4 20 0 5 0 100 1000000 42 18446744073709551615";
        assert_eq!(Usage::parse(stat), Some(Usage { ticks: 37, pages: 42, processes: 1 }));
        assert_eq!(Usage::parse("7 (a) S 1"), None);
        assert_eq!(Usage::parse(""), None);
    }

    #[test]
    fn this_process_takes_time_and_memory() {
        let of = || Usage::parse(&fs::read_to_string("/proc/self/stat").unwrap()).unwrap();
        let before = of();
        let begun = std::time::Instant::now();
        let mut spun = 0u64;
        while of().cpu_s_since(before) < 0.1 && begun.elapsed().as_secs() < 20 {
            spun = std::hint::black_box(spun + 1);
        }
        assert!(of().cpu_s_since(before) >= 0.1, "{spun}");
        assert!(before.resident_bytes() > 100_000);
    }
}
