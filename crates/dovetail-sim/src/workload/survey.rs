//! One pass over a workload: its demand on each resource.

use dovetail_sched::Nanos;

use super::{Workload, WorkloadError};

/// Totals of an open-loop workload.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Flows that sent a packet.
    pub flows: u64,
    /// From the first arrival to the last.
    pub duration: Nanos,
    /// Sum of the packets' demands on each resource.
    pub demand: Vec<Nanos>,
}

impl Survey {
    /// The offered load of each resource: its demand over the duration. Empty when the duration is zero.
    #[must_use]
    pub fn loads(&self) -> Vec<f64> {
        if self.duration == Nanos::ZERO {
            return Vec::new();
        }
        self.demand.iter().map(|demand| demand.as_f64() / self.duration.as_f64()).collect()
    }
}

/// Reads `workload` to its end and computes totals. Permanently backlogged flows count only with their first packets.
///
/// # Errors
/// Same as for [`Workload::next`].
pub fn survey(workload: &mut dyn Workload) -> Result<Survey, WorkloadError> {
    let mut survey = Survey { demand: vec![Nanos::ZERO; workload.resources().len()], ..Survey::default() };
    let mut seen: Vec<u64> = Vec::new();
    let mut first = None;
    while let Some(arrival) = workload.next()? {
        let first = *first.get_or_insert(arrival.at);
        survey.packets += 1;
        survey.bytes = survey.bytes.saturating_add(u64::from(arrival.bytes));
        survey.duration = arrival.at - first;
        for (sum, &time) in survey.demand.iter_mut().zip(arrival.demand.times()) {
            *sum += time;
        }
        let (word, bit) = (arrival.flow.index() / 64, 1u64 << (arrival.flow.index() % 64));
        if word >= seen.len() {
            seen.resize(word + 1, 0);
        }
        survey.flows += u64::from(seen[word] & bit == 0);
        seen[word] |= bit;
    }
    Ok(survey)
}

/// The factor for all times with which the busiest resource's offered load (its demand over the duration) becomes `load`. 1
/// if that is undefined (no time passes, there is no demand, or `load` is not positive).
#[must_use]
pub fn scale_for_load(survey: &Survey, load: f64) -> f64 {
    let busiest = survey.demand.iter().copied().fold(Nanos::ZERO, Nanos::max).as_f64();
    let scale = busiest / survey.duration.as_f64() / load;
    if scale.is_finite() && scale > 0.0 { scale } else { 1.0 }
}
