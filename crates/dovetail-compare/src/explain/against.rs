//! The same packets under a second policy.

use std::collections::BTreeMap;

use dovetail_sched::FlowId;
use dovetail_sim::blame::Explanation;

use super::{
    noun::Noun,
    pairing::Paired,
    reason::reason,
    who::{Group, Who},
};
use crate::run::PolicyRun;

/// A second policy's run, with its packets paired with those of the first.
pub(super) struct Against {
    pub(super) run: PolicyRun,
    pub(super) explanation: Explanation,
    pub(super) flows: BTreeMap<FlowId, Paired>,
}

/// A group's or a flow's packets under both policies.
pub(super) struct Change {
    pub(super) name: String,
    pub(super) paired: Paired,
}

impl Change {
    /// By how much the mean packet is slower under the second policy.
    pub(super) fn loss_ms(&self) -> f64 {
        let [before, after] = self.paired.mean_ms();
        after - before
    }
}

impl Against {
    pub(super) fn all(&self) -> Paired {
        let mut all = Paired::default();
        self.flows.values().for_each(|flow| all.merge(flow));
        all
    }

    /// By class, in the order of the classes; empty if there are none.
    pub(super) fn classes(&self) -> Vec<Change> {
        let mut classes: Vec<Change> = Vec::new();
        for flow in &self.explanation.flows {
            let Some(paired) = self.flows.get(&flow.flow) else { continue };
            let Some(class) = &self.explanation.columns[flow.column].class else { continue };
            match classes.iter_mut().find(|known| known.name == *class) {
                Some(known) => known.paired.merge(paired),
                None => classes.push(Change { name: class.clone(), paired: *paired }),
            }
        }
        classes
    }

    /// By flow, largest loss first.
    pub(super) fn flows(&self) -> Vec<Change> {
        let mut flows: Vec<Change> = self
            .explanation
            .flows
            .iter()
            .filter_map(|flow| Some(Change { name: flow.label.clone(), paired: *self.flows.get(&flow.flow)? }))
            .collect();
        flows.sort_by(|a, b| b.loss_ms().total_cmp(&a.loss_ms()));
        flows
    }

    /// A summary with reasons: a sentence for all, and one for each class (or flow) that changes most.
    pub(super) fn sentences(&self, noun: Noun, policy: &str, before: &Explanation) -> Vec<String> {
        const SAID: usize = 6;
        let after = self.run.policy.as_str();
        let all = self.all();
        if all.pairs == 0 {
            return vec![format!("No {} is done under both {policy} and {after}.", noun.one())];
        }
        let share = |count: u64| count as f64 / all.pairs as f64 * 100.0;
        let mut said = vec![format!(
            "{:.1} % of the {} are quicker under {after} than under {policy}, {:.1} % are slower.",
            share(all.gained),
            noun.many(),
            share(all.lost),
        )];
        let coarse = [before, &self.explanation].map(Who::coarse);
        let mut changed = changes(noun, &coarse, [policy, after]);
        changed.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        said.extend(changed.into_iter().take(SAID).map(|(_, why)| why));
        if coarse[0].kind == "class" && noun.have_flows() {
            // A class's mean hides which of its flows lose.
            let fine = changes(noun, &[before, &self.explanation].map(Who::by_flow), [policy, after]);
            let worst = fine.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(change, _)| *change > 0.0);
            said.extend(worst.map(|(_, why)| {
                format!("The {} that loses most: {}{}", noun.flow(), why[..1].to_lowercase(), &why[1..])
            }));
        }
        said
    }
}

/// The change of each group's mean latency in milliseconds, and the reason.
fn changes(noun: Noun, [first, second]: &[Who; 2], policies: [&str; 2]) -> Vec<(f64, String)> {
    let change = |(name, group): (&String, &Group)| {
        let other = &second.groups[second.names.iter().position(|known| known == name)?];
        let why = reason(noun, name, [group, other], &first.names, policies)?;
        Some((other.mean_ms(other.latency_nanos) - group.mean_ms(group.latency_nanos), why))
    };
    first.names.iter().zip(&first.groups).filter_map(change).collect()
}
