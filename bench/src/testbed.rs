//! The cost of the trade-off in the setting of its paper: 60 flows of packets of 800 bytes for three modules.
//!
//! Wang et al., CoNEXT 2014, section 6.1.1: at alpha = 1 the paper's scheduler added 1 % of CPU to that of MR3. Here the
//! difference is relative to the CPU time of a packet of the cheapest module, packet checking, and of the most expensive, IPsec.

use dovetail_bench_counts::operation::{MODULES, Setting};
use dovetail_sched::PolicySpec;

use crate::{
    goals,
    operations::run,
    row::{Row, Unit},
    spread::Spread,
};

const FLOWS: u32 = 60;
const PEER: &str = "mr3";
const POLICIES: [&str; 4] = [PEER, "drfq", "tradeoff:alpha=1", "tradeoff:alpha=0.85"];

/// Measures, and compares the figures round by round.
pub fn rows(failed: impl FnMut(String)) -> Vec<Row> {
    eprintln!("testbed, {FLOWS} flows");
    let policies: Vec<PolicySpec> = POLICIES.iter().filter_map(|name| name.parse().ok()).collect();
    let measured = run(&policies, Setting::Testbed, FLOWS, failed);
    let peer = measured.iter().find(|measured| measured.subject == PEER).map_or(&[][..], |peer| &peer.nanos);
    let mut rows = Vec::new();
    let mut add = |benchmark: String, subject: &str, values: &[f64], unit, goal| {
        let subject = subject.to_owned();
        rows.extend(Spread::of(values).map(|spread| Row { benchmark, subject, flows: FLOWS, spread, unit, goal }));
    };
    for one in &measured {
        add("testbed".into(), &one.subject, &one.nanos, Unit::Nanos, None);
    }
    for one in measured.iter().filter(|one| one.subject.starts_with("tradeoff")) {
        let of_rounds = |figure: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            one.nanos.iter().zip(peer).map(|(&ours, &theirs)| figure(ours, theirs)).collect()
        };
        let times = of_rounds(&|ours, theirs| ours / theirs);
        add("testbed / that of mr3".into(), &one.subject, &times, Unit::Times, Some(goals::BESIDE_MR3));
        for (module, cpu) in [("checking", MODULES[0]), ("IPsec", MODULES[2])] {
            let share = of_rounds(&|ours, theirs| (ours - theirs) / cpu.as_f64() * 100.0);
            add(format!("testbed, more than mr3, of {module}"), &one.subject, &share, Unit::Percent, None);
        }
    }
    rows
}
