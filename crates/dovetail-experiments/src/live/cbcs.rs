//! CBCS-WFQ live, as an active node: three WebAssembly programs whose costs the middlebox learns as packets pass.
//!
//! The report's modules are not published, so the programs here only take time: one the same for every packet, two in
//! proportion to its length. The middlebox measures this time on this machine and reports it to the policy packet by packet;
//! before that, all that is known is what a few packets took when the program was loaded.
//!
//! The simulator runs the same packets with the measured times twice: with a policy that learns, and with one that knows
//! every packet's cost before it is queued. What flows receive from the learning middlebox must agree with both.

use dovetail_sched::PolicySpec;

use super::{
    again::{as_they_arrived, live, simulated},
    beside::{self, Came, compare, compare_shares, line},
    setting::{Class, Setting, Work},
    traffic::{Flow, Flows, Pace},
    trial,
};
use crate::{
    error::Error,
    experiment::{Finding, Given},
};

/// A program that runs this many rounds for each packet, and for each of its bytes.
struct Rounds {
    name: &'static str,
    port: u16,
    weight: u32,
    per_packet: u32,
    per_byte: u32,
}

const PROGRAMS: [Rounds; 3] = [
    Rounds { name: "header", port: 5001, weight: 1, per_packet: 1000, per_byte: 0 },
    Rounds { name: "payload", port: 5002, weight: 2, per_packet: 100, per_byte: 12 },
    Rounds { name: "expensive", port: 5003, weight: 1, per_packet: 100, per_byte: 40 },
];
const FLOWS_OF_EACH: usize = 4;
const FRAME_BYTES: usize = 800;
const PACKETS_OF_EACH: u32 = 2000;
const RATE: u32 = 4000;

/// Learning policies, with their counterparts that know all costs.
const POLICIES: [(&str, &str); 2] = [("cbcs:estimator=ses", "cbcs"), ("drfq:estimator=ses", "drfq")];

pub(super) fn table4(_: &Given<'_>) -> Result<Finding, Error> {
    let folder = tempfile::tempdir().map_err(Error::broken)?;
    for program in &PROGRAMS {
        let bytes = wat::parse_str(program.text()).map_err(Error::broken)?;
        std::fs::write(folder.path().join(format!("{}.wasm", program.name)), bytes).map_err(Error::broken)?;
    }
    // Half a CPU is too little for all of the traffic, so that flows wait.
    let more = format!("[cpu]\nshare = 0.5\n[programs]\nfolder = \"{}\"\n", folder.path().display());
    let flow =
        |port| Flow { port, frame_bytes: FRAME_BYTES, rate: RATE, packets: PACKETS_OF_EACH, pace: Pace::Constant };
    let flows = Flows(PROGRAMS.iter().flat_map(|program| [flow(program.port); FLOWS_OF_EACH]).collect());
    let mut finding = Finding::default();
    let mut table = beside::table();
    for (learning, told) in POLICIES {
        let setting = setting(learning, &more);
        let packets = trial::run(&setting, &flows)?.packets;
        let arrived = as_they_arrived(&packets, &setting)?;
        let again =
            |policy: &str| Ok::<_, Error>(Came::of(&simulated(&arrived, &policy.parse::<PolicySpec>()?, &setting)?));
        let (here, learnt, told_before) = (Came::of(&live(&packets)), again(learning)?, again(told)?);
        compare(&mut finding, learning, &here, &learnt);
        compare_shares(&mut finding, &format!("{told} that is told costs"), &here, &told_before);
        table.push(line(learning, &here, &learnt));
    }
    finding.tables.push((beside::HEADING.into(), table));
    Ok(finding)
}

fn setting(policy: &str, more: &str) -> Setting {
    let class = |&Rounds { name, port, weight, .. }: &_| Class { name, port, work: Work::Program(name), weight };
    Setting {
        policy: policy.to_owned(),
        link: "400Mbps",
        places: 1,
        packets_per_flow: PACKETS_OF_EACH,
        classes: PROGRAMS.iter().map(class).collect(),
        most_late: Setting::MAX_LATENESS_OF_SECONDS,
        more: more.to_owned(),
    }
}

impl Rounds {
    /// As WebAssembly text. Each round depends on the one before, so that none can be optimised away.
    fn text(&self) -> String {
        let Self { per_packet, per_byte, .. } = self;
        format!(
            r#"(module
              (memory (export "memory") 2)
              (func (export "dv_abi") (result i32) (i32.const 1))
              (func (export "dv_buffer") (param $capacity i32) (result i32)
                (select (i32.const 4096) (i32.const 0) (i32.le_u (local.get $capacity) (i32.const 126976))))
              (func (export "dv_process") (param $frame i32) (param $length i32) (param $most i32) (result i64)
                (local $left i32) (local $mixed i32)
                (local.set $left
                  (i32.add (i32.const {per_packet}) (i32.mul (local.get $length) (i32.const {per_byte}))))
                (loop $rounds
                  (local.set $mixed
                    (i32.add (i32.mul (local.get $mixed) (i32.const 1664525)) (i32.const 1013904223)))
                  (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                  (br_if $rounds (local.get $left)))
                (i32.store (i32.const 1024) (local.get $mixed))
                (i64.const 0)))"#
        )
    }
}
