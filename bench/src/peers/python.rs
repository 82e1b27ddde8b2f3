//! Simulators in Python packages, each driven by a script that reports how many packets it delivered in what time.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

/// A peer's simulator with a discipline and a number of flows.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    pub name: &'static str,
    script: &'static str,
    pub discipline: &'static str,
    pub flows: u32,
    packets: u64,
    /// Goal for the speed of our simulator with `ours`, as a multiple of theirs.
    pub goal: f64,
    /// Our equivalent policy.
    pub ours: &'static str,
}

/// All peers: with enough packets for half a second or more.
pub const PEERS: [Peer; 6] = {
    const NS: Peer = Peer {
        name: "ns.py",
        script: "ns_py.py",
        discipline: "DRR",
        flows: 1000,
        packets: 60_000,
        goal: 100.0,
        ours: "drr",
    };
    const DAYTONE: Peer = Peer {
        name: "daytone",
        script: "daytone.py",
        discipline: "DRR",
        flows: 1000,
        packets: 200_000,
        goal: 10.0,
        ours: "drr",
    };
    [
        NS,
        Peer { discipline: "WFQ", ours: "wfq", ..NS },
        DAYTONE,
        Peer { discipline: "WFQ", ours: "wfq", ..DAYTONE },
        Peer { flows: 20, ..DAYTONE },
        Peer { flows: 20, discipline: "WFQ", ours: "wfq", goal: 12.0, ..DAYTONE },
    ]
};

#[derive(Deserialize)]
struct Report {
    packets: u64,
    seconds: f64,
}

impl Peer {
    pub fn label(&self) -> String {
        format!("{} {}", self.name, self.discipline)
    }

    /// Packets per second of one run.
    ///
    /// # Errors
    /// The script's message if it could not run, or its results were wrong.
    pub fn run(&self, python: &Path, seed: u64) -> Result<f64, String> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("peers").join(self.script);
        let done = Command::new(python)
            .arg("-B")
            .arg(script)
            .args(["--discipline", self.discipline])
            .args(["--flows", &self.flows.to_string()])
            .args(["--packets", &self.packets.to_string()])
            .args(["--seed", &seed.to_string()])
            .output()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let notes = String::from_utf8_lossy(&done.stderr);
        if !done.status.success() {
            return Err(notes.lines().last().unwrap_or("it said nothing").into());
        }
        if !notes.is_empty() {
            eprintln!("{}: {}", self.label(), notes.trim_end());
        }
        let report: Report = serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())?;
        Ok(report.packets as f64 / report.seconds)
    }
}
