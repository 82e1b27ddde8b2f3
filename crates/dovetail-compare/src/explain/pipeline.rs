//! Explains packets through a pipeline, for one run or two.

use std::{io::Write, mem, path::Path};

use dovetail_sched::PolicySpec;
use dovetail_sim::{
    PipelineMode,
    blame::{Blame, Ended, Explanation, FLOW_COLUMNS, Selection},
    measure::DEFAULT_WINDOW,
};

use super::{
    against::Against,
    noun::{Noun, some},
    pairing::Pairing,
    show::Explained,
};
use crate::{
    contender::of_packets,
    error::{Error, Misuse},
    files::Files,
    input::{Input, UnnamedLink},
    options::{ExplainOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    run::{DEFAULT_PIPELINE, Plan, PolicyRun},
    setting::{Traffic, odd},
};

pub(super) fn explain(
    text: Option<&str>,
    options: &ExplainOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let policy = of_packets(&options.policy)?;
    let against = options.against.as_ref().map(of_packets).transpose()?;
    let OutputOptions { report, records, json, .. } = &options.output;
    let mut files = Files::of(&options.input, text);
    let report = files.writes("report", report.as_deref())?;
    files.writes_records(&options.output, [&policy].into_iter().chain(&against))?;
    let input =
        Input::resolve(&options.input, options.output.shows_provenance(), text, UnnamedLink::Published, progress)?;
    let plan = Plan::new(&input, &options.input, &options.output, DEFAULT_WINDOW, progress)?;
    let mode = plan.pipeline_or(DEFAULT_PIPELINE);
    let provenance = plan.provenance([&policy].into_iter().chain(&against));
    let (mut run, explanation, mut against) = run_both(&plan, policy, against, &options.selection, options.slowest)?;
    found(&options.selection, &run, &explanation)?;
    let mut failures = mem::take(&mut run.unwritten);
    failures.extend(against.iter_mut().flat_map(|against| mem::take(&mut against.run.unwritten)));
    let explained = Explained {
        noun: Noun::Packet,
        name: input.name(),
        setting: Traffic::of(Some(&run)).setting(&plan, Some(mode)),
        resources: input.resources(),
        pipeline: Some(mode),
        selection: &options.selection,
        notes: odd(&run),
        provenance: Some(provenance),
        run,
        explanation,
        against,
    };
    let text = |report: Option<&Path>| explained.text(report, records.as_deref());
    failures.extend(deliver(out, report, *json, || explained.page(), || explained.json(), text).err());
    Error::unless_none(failures)
}

/// The policy's run and what its packets waited for, and the same for the policy that it is compared with.
pub(super) fn run_both(
    plan: &Plan<'_>,
    policy: PolicySpec,
    against: Option<PolicySpec>,
    selection: &Selection,
    slowest: usize,
) -> Result<(PolicyRun, Explanation, Option<Against>), Error> {
    let mode = plan.pipeline_or(DEFAULT_PIPELINE);
    let Some(against) = against else {
        let mut runs = watched(plan, &[(policy, mode)], selection, slowest, |_| |_: &Ended| ())?;
        let (run, explanation) = runs.pop().ok_or(Error::Missing)?;
        return Ok((run, explanation, None));
    };
    // Both at once: they proceed at the same pace.
    let plan = Plan { jobs: plan.jobs.max(2), ..plan_of(plan) };
    let jobs = [(policy, mode), (against, mode)];
    let pairing = Pairing::default();
    let mut runs = watched(&plan, &jobs, selection, slowest, |at| {
        let mut side = pairing.side(at);
        move |ended: &Ended| side.ended(ended)
    })?;
    let second = runs.pop().ok_or(Error::Missing)?;
    let (run, explanation) = runs.pop().ok_or(Error::Missing)?;
    Ok((run, explanation, Some(Against { run: second.0, explanation: second.1, flows: pairing.finish() })))
}

/// The runs, each with an observer that reports each ended packet to what `each` returns for the run's index.
fn watched<F: FnMut(&Ended) + Send>(
    plan: &Plan<'_>,
    jobs: &[(PolicySpec, PipelineMode)],
    selection: &Selection,
    slowest: usize,
    each: impl Fn(usize) -> F + Sync,
) -> Result<Vec<(PolicyRun, Explanation)>, Error> {
    let resources = plan.input.resources().len();
    let blame = |at| Blame::new(resources, FLOW_COLUMNS, selection.clone(), slowest, each(at));
    plan.run_watched(jobs, blame, Blame::finish)
}

/// Each policy's run, and what its packets waited for.
pub(crate) fn run_explained(plan: &Plan<'_>, policies: &[PolicySpec]) -> Result<Vec<(PolicyRun, Explanation)>, Error> {
    let mode = plan.pipeline_or(DEFAULT_PIPELINE);
    let jobs: Vec<_> = policies.iter().map(|policy| (policy.clone(), mode)).collect();
    watched(plan, &jobs, &Selection::All, 0, |_| |_: &Ended| ())
}

/// A copy of the plan.
fn plan_of<'a>(plan: &Plan<'a>) -> Plan<'a> {
    Plan { ..*plan }
}

/// Rejects a selection that does not occur in the traffic.
pub(super) fn found(selection: &Selection, run: &PolicyRun, explanation: &Explanation) -> Result<(), Error> {
    let selected = &explanation.selected;
    let nothing = selected.packets + selected.dropped + selected.left == 0;
    if nothing {
        match selection {
            // Any packet that arrived is accepted, even if nothing is known of it.
            Selection::Packet(packet) if *packet >= run.outcome.arrived => {
                let last = run.outcome.arrived.saturating_sub(1);
                let why = format!("there is no packet {packet}: they are numbered from 0 to {last}");
                return Err(Misuse::option(&["packet"], why).into());
            }
            Selection::Flow(flow) => {
                let flows = some(explanation.flows.iter().map(|flow| flow.label.as_str()));
                return Err(Misuse::option(&["flow"], format!("there is no flow '{flow}'; there are {flows}")).into());
            }
            Selection::Class(class) => {
                let mut classes: Vec<_> =
                    explanation.columns.iter().filter_map(|column| column.class.as_deref()).collect();
                classes.sort_unstable();
                classes.dedup();
                let why = match classes.is_empty() {
                    true => "this traffic has no classes; use --flow".to_owned(),
                    false => format!("there is no class '{class}'; there are {}", some(classes.into_iter())),
                };
                return Err(Misuse::option(&["class"], why).into());
            }
            Selection::All | Selection::Packet(_) => {}
        }
    }
    Ok(())
}
