//! Results of policies over the same traffic as data, for programs in the same process.

use dovetail_sched::PolicySpec;
use dovetail_sim::{measure::DEFAULT_WINDOW, records::Columns};
use serde_json::Value;

use super::{
    contenders::{contenders, policies},
    gateways, network,
};
use crate::{
    error::{Error, Misuse},
    input::{Input, UnnamedLink, scenario_text},
    network::{Asked, LINK, Under, bar, resolve, run_watched},
    options::{CompareOptions, OutputOptions},
    progress::Progress,
    run::{DEFAULT_PIPELINE, Own, Plan, PolicyRun},
    setting::{Traffic, odd},
    side_by_side::{cores, side_by_side_on},
    summary::{Sampled, Summary},
};

/// Results of policies over the same traffic.
#[derive(Debug)]
pub struct Simulated {
    /// A row for each policy.
    pub summary: Summary,
    /// The JSON document of `compare`, without a verdict.
    pub document: Value,
    /// The resources, in the order in which packets cross them.
    pub resources: Vec<String>,
    /// A row per packet, for each policy, if requested.
    pub records: Vec<Columns>,
}

/// Runs policies over one sample of the traffic, together with schedulers of the caller's `own`; with `records`, every packet
/// is kept. Nothing is written.
///
/// # Errors
/// [`Error::Misuse`] if the options are inconsistent; others if a file is invalid or a run fails.
pub fn simulate(
    options: &CompareOptions,
    own: &[Own<'_>],
    records: bool,
    progress: &dyn Progress,
) -> Result<Simulated, Error> {
    if options.policies.is_empty() && own.is_empty() {
        return Err(Misuse::option(&["policies"], "name at least one").into());
    }
    let text = scenario_text(&options.input)?;
    match resolve(&options.input, text.as_deref())? {
        Some(_) if !own.is_empty() => {
            let why = "policies of one's own run over pipelines: a network makes schedulers by their strings";
            Err(Misuse::option(&["policies"], why).into())
        }
        Some(asked) => over_network(&asked, options, records, progress),
        None => over_pipeline(text.as_deref(), options, own, records, progress),
    }
}

fn over_pipeline(
    text: Option<&str>,
    options: &CompareOptions,
    own: &[Own<'_>],
    records: bool,
    progress: &dyn Progress,
) -> Result<Simulated, Error> {
    let policies = policies(options, &[])?;
    refuse_taken_names(&policies, own)?;
    let input = Input::resolve(&options.input, true, text, UnnamedLink::Published, progress)?;
    let output = OutputOptions { jobs: options.output.jobs, ..OutputOptions::default() };
    let window = options.window.unwrap_or(DEFAULT_WINDOW);
    let plan = Plan { one_bar: true, ..Plan::new(&input, &options.input, &output, window, progress)? };
    let pipeline = plan.pipeline_or(DEFAULT_PIPELINE);
    let jobs: Vec<_> = policies.iter().map(|policy| (policy.clone(), pipeline)).collect();
    let resources = input.resources().len();
    let columns = || records.then(|| Columns::new(resources));
    let mut kept = plan.run_watched(&jobs, |_| columns(), |columns| columns)?;
    let mut provenance = plan.provenance(&policies);
    for (own, run) in own.iter().zip(plan.run_own(own, columns, |columns| columns)?) {
        kept.insert(own.at.min(kept.len()), run);
        provenance.policies.insert(own.at.min(provenance.policies.len()), own.name.clone());
    }
    let (runs, records): (Vec<PolicyRun>, Vec<Option<Columns>>) = kept.into_iter().unzip();
    let documents = super::json::documents(&runs, input.resources())?;
    let sample = Sampled {
        trace: options.input.trace.as_ref().map(|_| input.name()),
        provenance: &provenance,
        policies: &documents,
    };
    let summary = Summary::of(&[sample]);
    let notes: Vec<String> =
        input.remark().map(str::to_owned).into_iter().chain(runs.first().map(odd).unwrap_or_default()).collect();
    let document = serde_json::json!({
        "provenance": provenance,
        "workload": Traffic::of(runs.first()),
        "policies": documents,
        "notes": notes,
    });
    let records = records.into_iter().flatten().collect();
    Ok(Simulated { summary, document, resources: input.resources().to_vec(), records })
}

/// Runs are identified by their names.
fn refuse_taken_names(policies: &[PolicySpec], own: &[Own<'_>]) -> Result<(), Error> {
    for (at, one) in own.iter().enumerate() {
        let is_known = policies.iter().any(|policy| policy.as_str() == one.name);
        if is_known || own[..at].iter().any(|other| other.name == one.name) {
            return Err(Misuse::Twice(one.name.clone()).into());
        }
    }
    Ok(())
}

fn over_network(
    asked: &Asked,
    options: &CompareOptions,
    records: bool,
    progress: &dyn Progress,
) -> Result<Simulated, Error> {
    network::refuse_what_pipelines_have(options)?;
    let contenders = contenders(options, &[])?;
    let has_gateway = asked.network.access.is_some();
    let policies = if has_gateway { Vec::new() } else { policies(options, &[])? };
    let under: Vec<Under<'_>> = if has_gateway {
        contenders.iter().map(Under::Gateway).collect()
    } else {
        policies.iter().map(Under::Policy).collect()
    };
    let bar = bar(&asked.network, under.len(), progress);
    let jobs = options.output.jobs.map_or_else(cores, usize::from);
    let kept = side_by_side_on(jobs, &under, |&under| {
        let mut columns = records.then(|| Columns::new(1));
        run_watched(&asked.network, under, bar.as_ref(), &mut columns).map(|run| (run, columns))
    })?;
    let (runs, records): (Vec<_>, Vec<_>) = kept.into_iter().unzip();
    let (summary, document) =
        if has_gateway { gateways::as_data(asked, &under, &runs)? } else { network::as_data(asked, &under, &runs)? };
    let records = records.into_iter().flatten().collect();
    Ok(Simulated { summary, document, resources: vec![LINK.to_owned()], records })
}
