//! How a verdict that rests on an assumed pipeline changes under others.

use dovetail_sched::PolicySpec;
use dovetail_sim::PipelineMode;

use super::verdict::{Paired, Verdict};
use crate::{
    error::Error,
    run::{DEFAULT_PIPELINE, Plan},
};

/// Alternatives between resources: a buffer that never fills, and one that does.
const OTHER_PIPELINES: [PipelineMode; 2] = [PipelineMode::Unbounded, PipelineMode::Buffer(16)];

/// The verdicts under other pipelines over the samples of `plans`, if none is specified, there is more than one resource, and
/// several policies are compared.
pub(super) fn under_other_pipelines(
    plans: &[Plan<'_>],
    policies: &[PolicySpec],
) -> Result<Vec<(PipelineMode, Verdict)>, Error> {
    let is_open = |plan: &Plan<'_>| plan.pipeline.is_none() && plan.input.resources().len() > 1;
    if policies.len() < 2 || !plans.iter().all(is_open) {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = policies.iter().map(PolicySpec::as_str).collect();
    let verdict = |mode| {
        let sample = |plan: &Plan<'_>| {
            let plan = Plan { pipeline: Some(mode), records: None, one_bar: true, ..*plan };
            Ok::<_, Error>(Paired::of(&plan.run(policies)?))
        };
        let paired = plans.iter().map(sample).collect::<Result<Vec<_>, _>>()?;
        Ok((mode, Verdict::over(&names, &paired.iter().collect::<Vec<_>>())))
    };
    OTHER_PIPELINES.into_iter().map(verdict).collect()
}

/// How the verdict would differ with another pipeline than the assumed one; without a full stop.
pub(super) fn said_of(verdict: &Verdict, others: &[(PipelineMode, Verdict)]) -> Option<String> {
    let mut left: Vec<_> = others.iter().collect();
    let (mut said, mut last) = (Vec::new(), None);
    while let Some(&(_, first)) = left.first() {
        let (alike, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(|(_, other)| other == first);
        left = rest;
        let modes: Vec<_> = alike.iter().map(|(mode, _)| mode.to_string()).collect();
        let modes = modes.join(" and ");
        if first == verdict {
            last = Some(format!("With {modes} the verdict is the same"));
        } else {
            said.push(format!("With {modes}: {}", uncapitalised(first.line())));
        }
    }
    said.extend(last);
    let assumed = DEFAULT_PIPELINE;
    (!said.is_empty())
        .then(|| format!("The pipeline is not given and assumed to be {assumed} (--pipeline). {}", said.join(". ")))
}

/// A sentence as it goes on behind a colon.
fn uncapitalised(mut sentence: String) -> String {
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    sentence
}
