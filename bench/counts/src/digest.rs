//! Digests of the results of runs, a few characters each.
//!
//! A pure speed-up must change nothing else: which packet is released when, and what meters report. The digest covers both.

use std::fmt::Write;

use dovetail_sched::{DropPolicy, FlowId, Limits, Nanos, Packet, PolicySpec, registry::REGISTRY};
use dovetail_sim::{Observer, Passage, PipelineMode, Profile};

use crate::{
    simulation::{Simulation, Source},
    traffic::Resources,
    work::VARIANTS,
};

const PACKETS: u64 = 30_000;

/// FNV-1a.
struct Digest(u64);

impl Digest {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, number: u64) {
        number.to_le_bytes().into_iter().for_each(|byte| self.add_byte(byte));
    }

    fn add_byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
}

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        text.bytes().for_each(|byte| self.add_byte(byte));
        Ok(())
    }
}

impl Observer for Digest {
    fn appeared(&mut self, flow: FlowId, profile: &Profile<'_>) {
        self.add(u64::from(flow.0));
        self.add(profile.weight.as_f64().to_bits());
    }

    fn arrived(&mut self, packet: &Packet) {
        self.add(packet.handle);
        self.add(packet.arrival.0);
    }

    fn dropped(&mut self, packet: &Packet, now: Nanos) {
        self.add(!packet.handle);
        self.add(now.0);
    }

    fn sent(&mut self, packet: &Packet, passage: &Passage) {
        self.add(packet.handle);
        self.add(passage.released().0);
        [passage.start(), passage.end(), passage.freed()].concat().iter().for_each(|time| self.add(time.0));
    }
}

/// A line for every policy, pipeline and limit: the case and its digest.
///
/// # Errors
/// What went wrong.
pub fn lines(mut each: impl FnMut(String)) -> Result<(), String> {
    let sources = [
        (Source::Poisson(Resources::CpuAndLink), 1_000),
        (Source::Poisson(Resources::CpuAndLink), 37),
        (Source::Scenario, 200),
    ];
    let modes = [PipelineMode::Unbounded, PipelineMode::NoWait, PipelineMode::Buffer(2)];
    let dropping = |on_full| Limits { flow_packets: Some(9), packets: Some(60), on_full, ..Limits::UNLIMITED };
    let limits = [Limits::UNLIMITED, dropping(DropPolicy::Head), dropping(DropPolicy::Longest)];
    for name in REGISTRY.iter().map(|entry| entry.name).chain(VARIANTS) {
        let policy: PolicySpec = name.parse().map_err(|error| format!("{name}: {error}"))?;
        for (source, flows) in sources {
            for mode in modes {
                let mut digest = Digest::EMPTY;
                for limits in limits {
                    let run = Simulation { policy: policy.clone(), source, mode, flows, limits };
                    let summary = run.prepare(PACKETS, 7)?.watched(&mut digest)?;
                    write!(digest, "{summary:?}").map_err(|error| error.to_string())?;
                }
                each(format!("{:016x}  {name}, {source:?}, {flows} flows, {mode}", digest.0));
            }
        }
    }
    Ok(())
}
