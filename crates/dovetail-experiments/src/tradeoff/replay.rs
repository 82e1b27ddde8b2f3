//! Replays traffic with modules newly assigned to its flows.
//!
//! Captures (or the stand-in) determine which flow sends how many bytes when. [`Replay`] superimposes them, each starting
//! with its first packet, multiplies times by a factor, and assigns every flow a random module, in proportion to the classes'
//! shares.

use dovetail_sched::{FlowId, Nanos, cost::ProgramId};
use dovetail_sim::workload::{Arrival, ClassSet, Notice, Scenario, Workload, WorkloadError};

use crate::error::Error;
use dovetail_compare::{input::open_trace, supply::Supply};

/// Where packets come from.
#[derive(Debug)]
pub(super) enum Traffic {
    Captures(Vec<Supply>),
    StandIn(Box<Scenario>),
}

impl Traffic {
    /// Opens all sources from their beginning. Captures are opened with `classes`, whose costs are not used.
    fn open(&self, classes: &ClassSet) -> Result<Vec<Box<dyn Workload>>, Error> {
        match self {
            Self::Captures(traces) => Ok(traces
                .iter()
                .map(|trace| open_trace(trace, classes))
                .collect::<Result<_, dovetail_compare::Error>>()?),
            Self::StandIn(scenario) => Ok(vec![Box::new(scenario.workload().map_err(Error::broken)?)]),
        }
    }
}

/// Packets and bytes of each flow, by its id in every replay.
#[derive(Debug, Default)]
pub(super) struct Offered {
    pub(super) flows: Vec<(u64, u64)>,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// First arrival to last.
    pub(super) took: Nanos,
}

impl Offered {
    /// Reads `traffic` once.
    pub(super) fn of(traffic: &Traffic, classes: &ClassSet) -> Result<Self, Error> {
        let mut replay = Replay::open(traffic, classes.clone(), 0, 1.0)?;
        let mut offered = Self::default();
        while let Some(arrival) = replay.next().map_err(Error::broken)? {
            if arrival.flow.index() == offered.flows.len() {
                offered.flows.push((0, 0));
            }
            let (packets, bytes) = &mut offered.flows[arrival.flow.index()];
            *packets += 1;
            *bytes += u64::from(arrival.bytes);
            offered.packets += 1;
            offered.bytes += u64::from(arrival.bytes);
            offered.took = arrival.at;
        }
        Ok(offered)
    }
}

/// The module of a flow.
///
/// # Errors
/// Same as for [`ClassSet::of_flow`].
pub(super) fn module_of(classes: &ClassSet, seed: u64, flow: usize) -> Result<u16, Error> {
    classes.of_flow(None, scramble(scramble(seed) ^ flow as u64)).map_err(Error::broken)
}

/// SplitMix64's output function: every bit of the input affects every bit of the output.
pub(super) fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The traffic as a workload.
pub(super) struct Replay {
    sources: Vec<Source>,
    classes: ClassSet,
    seed: u64,
    time_scale: f64,
    first: Option<Nanos>,
    // By flow.
    modules: Vec<u16>,
}

struct Source {
    workload: Box<dyn Workload>,
    next: Option<Arrival>,
    // Maps the source's flow ids, which are dense, to ours.
    flows: Vec<Option<FlowId>>,
}

impl Replay {
    pub(super) fn open(traffic: &Traffic, classes: ClassSet, seed: u64, time_scale: f64) -> Result<Self, Error> {
        let mut sources = Vec::new();
        for mut workload in traffic.open(&classes)? {
            let next = workload.next().map_err(Error::broken)?;
            sources.push(Source { workload, next, flows: Vec::new() });
        }
        Ok(Self { sources, classes, seed, time_scale, first: None, modules: Vec::new() })
    }
}

impl Workload for Replay {
    fn resources(&self) -> &[String] {
        self.classes.resource_names()
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        let pending = self.sources.iter_mut().filter(|source| source.next.is_some());
        let earliest = pending.min_by_key(|source| source.next.map(|arrival| arrival.at));
        let Some((source, arrival)) = earliest.and_then(|source| source.next.map(|arrival| (source, arrival))) else {
            return Ok(None);
        };
        source.next = source.workload.next()?;
        let theirs = arrival.flow.index();
        if theirs >= source.flows.len() {
            source.flows.resize(theirs + 1, None);
        }
        let flow = match source.flows[theirs] {
            Some(flow) => flow,
            None => {
                let at = self.modules.len();
                let module = module_of(&self.classes, self.seed, at);
                let what = |error: Error| WorkloadError::File { file: "modules".into(), what: error.to_string() };
                self.modules.push(module.map_err(what)?);
                *source.flows[theirs].insert(FlowId(at as u32))
            }
        };
        let since = arrival.at - *self.first.get_or_insert(arrival.at);
        let module = self.modules[flow.index()];
        let demand = self.classes.demand(module, arrival.bytes);
        let (at, program) = (Nanos::from_f64(since.as_f64() * self.time_scale), ProgramId(module.into()));
        Ok(Some(Arrival { at, flow, demand, program, ..arrival }))
    }

    fn label(&self, flow: FlowId) -> String {
        format!("flow {}", flow.0)
    }

    fn class(&self, flow: FlowId) -> Option<&str> {
        self.modules.get(flow.index()).map(|&module| self.classes.classes()[usize::from(module)].name.as_str())
    }

    fn notices(&self) -> Vec<Notice> {
        self.sources.iter().flat_map(|source| source.workload.notices()).collect()
    }
}
