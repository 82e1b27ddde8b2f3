//! Processors wake in time for as long as the box runs, and no longer.
//!
//! Needs root, and a kernel that supports the query; skipped, with the reason, if one is missing.

use std::{fs::File, io::Read};

use crate::live::{Running, lab};

const MICROS: i32 = 7;

/// The kernel's limit in microseconds: the minimum over all processes.
fn kept() -> Option<i32> {
    let mut number = [0; 4];
    File::open("/dev/cpu_dma_latency").ok()?.read_exact(&mut number).ok()?;
    Some(i32::from_ne_bytes(number))
}

#[test]
fn processors_wake_in_time_while_the_box_runs() {
    let Some(lab) = lab("wake") else { return };
    match kept() {
        None => return dovetail_skip::skipped("this kernel does not say how long processors may take to wake"),
        Some(..=MICROS) => return dovetail_skip::skipped("processors wake sooner for another program"),
        Some(_) => {}
    }
    let settings = format!("policy = \"fifo\"\n[cpu]\nwake_latency = \"{MICROS}us\"\n[link]\nrate = \"1Gbps\"\n");
    let running = Running::start(&lab, &settings);
    assert!(kept() <= Some(MICROS));
    running.stop();
    assert!(kept() > Some(MICROS));
}
