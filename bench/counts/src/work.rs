//! The rows of the table: the work that is counted.

use dovetail_sched::{Limits, PolicySpec, registry::REGISTRY};
use dovetail_sim::PipelineMode;

use crate::{
    border::{self, Way},
    operation::{Operation, Setting},
    simulation::{Simulation, Source},
    subject::Subject,
    traffic::Resources,
};

/// Variants of policies in addition to those of the registry.
pub const VARIANTS: [&str; 2] = ["tradeoff:alpha=1", "atfq:batch=20"];
/// Policies for which the whole simulator is counted.
const SIMULATED: [&str; 6] = ["fifo", "drr", "wfq", "drfq", "atfq:batch=20", "tradeoff"];
/// Policies for which it is also counted with a scenario.
const FROM_SCENARIO: [&str; 3] = ["fifo", "drr", "wfq"];
/// Policies with their own drop rule, and one without.
const FULL_BUFFER: [&str; 2] = ["drr", "drr-sff"];
/// Policies of the testbed of the trade-off's paper, and its number of flows.
const TESTBED: [&str; 4] = ["mr3", "drfq", "tradeoff:alpha=1", "tradeoff:alpha=0.85"];
const TESTBED_FLOWS: u32 = 60;

/// Work with a constant cost per additional packet.
#[derive(Debug, Clone)]
pub struct Work {
    /// Its name.
    pub name: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Operation { policy: PolicySpec, setting: Setting, flows: u32 },
    Border { policy: &'static str, way: Way, flows: u32 },
    Simulation(Simulation),
}

impl Work {
    /// All rows, with `flows` flows unless a row fixes the number.
    ///
    /// # Errors
    /// A name that is not a policy's.
    pub fn all(flows: u32) -> Result<Vec<Self>, String> {
        let mut all = Vec::new();
        let parsed = |name: &str| name.parse::<PolicySpec>().map_err(|error| error.to_string());
        let mut operation = |kind: &str, name: &str, setting, flows| {
            let name_of_row = format!("{kind}, {name}, {flows} flows");
            all.push(Self { name: name_of_row, kind: Kind::Operation { policy: parsed(name)?, setting, flows } });
            Ok::<(), String>(())
        };
        for name in REGISTRY.iter().map(|entry| entry.name).chain(VARIANTS) {
            operation("operation", name, Setting::Mixed, flows)?;
        }
        for name in FULL_BUFFER {
            operation("full buffer", name, Setting::FullBuffer, flows)?;
        }
        for name in TESTBED {
            operation("testbed", name, Setting::Testbed, TESTBED_FLOWS)?;
        }
        for policy in border::POLICIES {
            let row = |way: Way| Self {
                name: format!("from {way}, {policy}, {flows} flows"),
                kind: Kind::Border { policy, way, flows },
            };
            all.extend(Way::ALL.map(row));
        }
        let mut simulation = |kind: &str, name: &str, source, mode| {
            let run = Simulation { policy: parsed(name)?, source, mode, flows, limits: Limits::UNLIMITED };
            all.push(Self { name: format!("{kind}, {name}, {flows} flows"), kind: Kind::Simulation(run) });
            Ok::<(), String>(())
        };
        for name in SIMULATED {
            let source = Source::Poisson(Resources::CpuAndLink);
            simulation("simulator, unbounded", name, source, PipelineMode::Unbounded)?;
            simulation("simulator, no-wait", name, source, PipelineMode::NoWait)?;
        }
        for name in ["drr", "wfq"] {
            simulation("simulator, link", name, Source::Poisson(Resources::Link), PipelineMode::Unbounded)?;
        }
        for name in FROM_SCENARIO {
            simulation("scenario, no-wait", name, Source::Scenario, PipelineMode::NoWait)?;
        }
        Ok(all)
    }

    /// The lengths of two runs, in packets: their difference is the cost of packets in the steady state.
    #[must_use]
    pub fn lengths(&self) -> [u64; 2] {
        match &self.kind {
            // Long enough for the order of filling to change to that of service.
            Kind::Operation { flows, .. } | Kind::Border { flows, .. } => {
                [4, 12].map(|rounds| rounds * u64::from(*flows) + rounds * 2_000)
            }
            Kind::Simulation(run) => [20, 60].map(|times| times * u64::from(run.flows.max(1_000))),
        }
    }

    /// Does the work for this many packets.
    ///
    /// # Errors
    /// What went wrong.
    pub fn run(&self, packets: u64) -> Result<(), String> {
        match &self.kind {
            Kind::Operation { policy, setting, flows } => {
                let mut subject = Operation::filled(policy, *setting, *flows).map_err(|error| error.to_string())?;
                steps(&mut subject, packets, *flows)
            }
            Kind::Border { policy, way, flows } => steps(&mut *way.filled(policy, *flows)?, packets, *flows),
            Kind::Simulation(run) => {
                let sent = run.prepare(packets, 1)?.run()?.sent;
                if sent == packets { Ok(()) } else { Err(format!("sent {sent} of {packets} packets")) }
            }
        }
    }
}

fn steps<S: Subject + ?Sized>(subject: &mut S, packets: u64, flows: u32) -> Result<(), String> {
    (0..packets).try_for_each(|_| subject.step())?;
    if subject.is_as_filled(flows) { Ok(()) } else { Err("lost or gained packets".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_run_and_has_a_name_of_its_own() {
        let all = Work::all(20).unwrap();
        let mut names: Vec<&str> = all.iter().map(|work| work.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len());
        for work in &all {
            let [short, long] = work.lengths();
            assert!(short < long, "{}", work.name);
            work.run(1_000).unwrap_or_else(|error| panic!("{}: {error}", work.name));
        }
    }
}
