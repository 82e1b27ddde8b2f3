//! Resources used by this process, as counted by the kernel (proc_pid_stat(5)).

use std::fs;

/// Memory and processor time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Process {
    /// Resident memory in bytes.
    pub resident_bytes: u64,
    /// User and system time since the start.
    pub cpu_s: f64,
}

impl Process {
    /// This process, where the kernel provides the figures.
    #[must_use]
    pub fn own() -> Option<Self> {
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        parse(&fs::read_to_string("/proc/self/stat").ok()?, rustix::param::page_size() as u64, ticks_per_s)
    }
}

fn parse(stat: &str, page_bytes: u64, ticks_per_s: f64) -> Option<Process> {
    // The second field is the program's name in parentheses, which may itself contain blanks and parentheses.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let (user, system, pages) = (field(14)?, field(15)?, field(24)?);
    Some(Process { resident_bytes: pages * page_bytes, cpu_s: (user + system) as f64 / ticks_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel() {
        let line =
            "7 (a (b) c) S 1 7 7 0 -1 4194560 900 0 3 0 150 50 0 0 20 0 2 0 12345 99999744 2000 18446744073709551615";
        assert_eq!(parse(line, 4_096, 100.0), Some(Process { resident_bytes: 8_192_000, cpu_s: 2.0 }));
        assert_eq!(parse("7 (a", 4_096, 100.0), None);
    }

    #[test]
    fn this_process_takes_something() {
        let own = Process::own().expect("Linux tells");
        assert!(own.resident_bytes > 100_000 && own.cpu_s >= 0.0, "{own:?}");
    }
}
