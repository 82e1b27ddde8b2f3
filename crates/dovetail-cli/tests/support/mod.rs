//! Runs the command like a user.
#![allow(dead_code)]

#[path = "../../../dovetail-sim/tests/all/support/recompute.rs"]
pub mod recompute;

pub mod figures;
pub mod records;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Runs `dovetail` with these arguments.
pub fn dovetail(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dovetail")).args(args).output().expect("the command runs")
}

/// Standard output of a run that must succeed.
pub fn stdout(args: &[&str]) -> String {
    let output = dovetail(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} failed: {errors}");
    String::from_utf8(output.stdout).expect("the output is text")
}

/// Asserts that a number of a JSON document is `want`.
pub fn near(got: &serde_json::Value, want: f64, relative: f64, what: &str) {
    let got = got.as_f64().unwrap_or_else(|| panic!("{what} is {got}"));
    assert!((got - want).abs() <= relative * want.abs() + 1e-9, "{what}: printed {got}, from the records {want}");
}

/// An empty folder for a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// A real capture, if this machine has the captures.
pub fn trace(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    let folder = std::env::var_os("DOVETAIL_TRACES").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    dovetail_skip::skipped(format_args!(
        "no capture {} (set DOVETAIL_TRACES to the folder that has it)",
        path.display()
    ));
    None
}

/// A small table of packets: three flows of different costs that keep a CPU and a link busy.
pub fn small_table(folder: &Path) -> PathBuf {
    let mut text = String::from("arrival_ns,flow,bytes,cpu_ns,link_ns\n");
    let mut state = 12345u64;
    for row in 0..6000u64 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let flow = (state >> 33) % 3;
        let bytes = 64 + (state >> 40) % 1400;
        let cpu = [90_000, 12_000, 6_000][flow as usize] + bytes;
        text += &format!("{},{flow},{bytes},{cpu},{}\n", row * 30_000, bytes * 20);
    }
    let path = folder.join("table.csv");
    std::fs::write(&path, text).expect("the table is written");
    path
}

/// Transfers over TCP, an unlimited connection and a voice stream, each from hosts of its own, over a link of 1 Mbit/s.
pub const SMALL_NETWORK: &str = r#"
name = "small"
seed = 1
[network]
stop = "40s"
mtu = 1040
[[link]]
between = ["r1", "r0"]
rate = "1Mbps"
delay = "30ms"
buffer_packets = 15
watched = true
[[link]]
between = [["w1", "w2", "f", "u"], "r1"]
rate = "10Mbps"
delay = "10ms"
[[link]]
between = ["r0", ["v1", "v2", "g", "x"]]
rate = "10Mbps"
delay = "10ms"
[[traffic]]
name = "web"
from = ["w1", "w2"]
to = ["v1", "v2"]
transfers = { count = 40, size = { pareto = { shape = 0.8, min = 1, max = 1200 } }, unit = 1000, load = 0.8 }
[[traffic]]
name = "ftp"
from = "f"
to = "g"
long_lived = 1
[[traffic]]
name = "voice"
from = "u"
to = "x"
udp = { bytes = 200, rate = "50/s" }
"#;

/// A file for a test.
pub fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the file is written");
    path.to_str().expect("a plain path").to_owned()
}
