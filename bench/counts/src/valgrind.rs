//! Instruction counts by valgrind's cachegrind.
//!
//! Cachegrind runs the program on a simulated processor, one instruction at a time, so the count is the same on every run.
//! The simulated caches have a fixed size on any machine, so that misses can be compared as well.

use std::{
    io,
    path::Path,
    process::{Command, Output},
};

/// 32 KiB for data next to the core; 8 MiB shared, all with lines of 64 bytes.
const CACHES: [&str; 4] = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];

/// Counts for some work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Count {
    /// Instructions.
    pub instructions: f64,
    /// Reads and writes that missed the first cache, and the last; if caches were simulated.
    pub misses: Option<[f64; 2]>,
}

impl Count {
    /// The excess over `other` per packet, for `packets` packets.
    #[must_use]
    pub fn beyond(self, other: Self, packets: f64) -> Self {
        let each = |all: f64, others: f64| (all - others) / packets;
        let misses = self.misses.zip(other.misses);
        Self {
            instructions: each(self.instructions, other.instructions),
            misses: misses.map(|(all, others)| [each(all[0], others[0]), each(all[1], others[1])]),
        }
    }
}

/// The version of valgrind, which shows that it is installed.
///
/// # Errors
/// Why it could not be started.
pub fn version() -> io::Result<String> {
    let Output { stdout, .. } = Command::new("valgrind").arg("--version").output()?;
    Ok(String::from_utf8_lossy(&stdout).trim().to_owned())
}

/// Counts the instructions of `program` with these arguments.
///
/// # Errors
/// The message of valgrind or the program.
pub fn count(program: &Path, arguments: &[&str], caches: bool) -> Result<Count, String> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=cachegrind", "--cachegrind-out-file=/dev/null"]);
    if caches {
        valgrind.args(CACHES);
    } else {
        valgrind.arg("--cache-sim=no");
    }
    let output = valgrind.arg(program).args(arguments).output().map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{}\n{said}", output.status));
    }
    read(&said).ok_or_else(|| format!("valgrind counted nothing:\n{said}"))
}

/// Parses lines such as `==12== I   refs:      1,234,567`; figures in brackets after it are parts of it.
fn read(said: &str) -> Option<Count> {
    let figure = |name: [&str; 2]| {
        said.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let is_it = [words.next()?, words.next()?] == name;
            is_it.then(|| words.next()?.replace(',', "").parse::<f64>().ok())?
        })
    };
    let misses = figure(["D1", "misses:"]).zip(figure(["LLd", "misses:"]));
    Some(Count { instructions: figure(["I", "refs:"])?, misses: misses.map(<[f64; 2]>::from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_cachegrind_says() {
        let said = "\
==7== Cachegrind, a cache and branch-prediction profiler
==7== Command: /bin/true I refs: 5
==7== I   refs:      172,414
==7== I1  misses:      1,268
==7== D   refs:       55,910  (41,240 rd   + 14,670 wr)
==7== D1  misses:      2,817  ( 2,124 rd   +    693 wr)
==7== LLd misses:      2,207  ( 1,586 rd   +    621 wr)
==7== LL misses:       3,400  ( 2,780 rd   +    620 wr)
";
        let count = read(said).unwrap();
        assert_eq!(count, Count { instructions: 172_414.0, misses: Some([2_817.0, 2_207.0]) });
        let short = Count { instructions: 172_014.0, misses: Some([2_717.0, 2_207.0]) };
        assert_eq!(count.beyond(short, 100.0), Count { instructions: 4.0, misses: Some([1.0, 0.0]) });
        assert_eq!(read("==7== nothing\n"), None);
        assert_eq!(read("==7== I   refs:      12\n"), Some(Count { instructions: 12.0, misses: None }));
    }
}
