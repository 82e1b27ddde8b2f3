//! Limits the wake-up latency of processors.
//!
//! An idle processor sleeps, and the deeper its sleep, the longer the first frame waits for it to wake: a microsecond, more
//! than 100 µs in the deepest states of some, some 20 µs in a virtual machine, where the host has to wake it. The kernel
//! keeps all processors out of states that take longer than a process requests, for as long as that process keeps a file
//! open (the kernel's Documentation/power/pm_qos_interface.rst). So the limit ends with the process, however that ends.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use dovetail_sched::Nanos;

use super::LiveError;

const FILE: &str = "/dev/cpu_dma_latency";

/// A limit in force until dropped.
#[derive(Debug)]
pub(super) struct Wakefulness {
    _file: File,
}

impl Wakefulness {
    /// Makes every processor of the machine wake within `latency`, rounded down to microseconds; zero keeps them awake.
    ///
    /// # Errors
    /// When the file does not exist, or this user may not write to it.
    pub(super) fn within(latency: Nanos) -> Result<Self, LiveError> {
        let file = hold(Path::new(FILE), latency);
        file.map(|_file| Self { _file }).map_err(|source| LiveError::WakeLatency { file: FILE, source })
    }
}

fn hold(path: &Path, latency: Nanos) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    let micros = i32::try_from(latency.0 / 1000).unwrap_or(i32::MAX);
    file.write_all(&micros.to_ne_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn the_limit_is_whole_microseconds_of_four_bytes() {
        let path = env::temp_dir().join(format!("dovetail-wake-{}", process::id()));
        for (latency, micros) in [(0, 0), (999, 0), (10_999, 10), (u64::MAX, i32::MAX)] {
            fs::write(&path, "").unwrap();
            let file = hold(&path, Nanos(latency)).unwrap();
            assert_eq!(fs::read(&path).unwrap(), micros.to_ne_bytes());
            drop(file);
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(hold(&path, Nanos::ZERO).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
