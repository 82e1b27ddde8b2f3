//! Transfers over a network's watched link: the run, or the two runs.

use std::{collections::BTreeMap, fs, io::Write, mem, path::Path};

use dovetail_sched::FlowId;
use dovetail_sim::{
    blame::{Explanation, Selection, TransferBlame},
    network::{Network, NetworkOutcome},
};

use super::{against::Against, noun::Noun, pairing::Paired, show::Explained};
use crate::{
    error::{Error, Misuse},
    files::Files,
    network::{Keep, LINK, NetworkRun, Under, bar, run_blamed},
    options::{ExplainOptions, OutputOptions},
    output::deliver,
    progress::Progress,
    side_by_side::{cores, side_by_side_on},
    table::{count, figure},
};

pub(super) fn explain(
    network: &Network,
    scenario: Option<&str>,
    options: &ExplainOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    if network.access.is_some() {
        let why = format!("{} has users behind a gateway, whose requests cannot be explained yet", network.name);
        return Err(Misuse::option(&["scenario"], why).into());
    }
    if network.transfers() == 0 {
        let why = format!("{} has no transfers to explain, only streams without an end", network.name);
        return Err(Misuse::option(&["scenario"], why).into());
    }
    if let Selection::Flow(_) = options.selection {
        let why = "a transfer is a flow of its own: use --packet with its number, or --class with its traffic";
        return Err(Misuse::option(&["flow"], why).into());
    }
    let OutputOptions { report, records, format, jobs, json } = &options.output;
    let policies: Vec<_> = [&options.policy].into_iter().chain(&options.against).collect();
    let mut files = Files::of(&options.input, scenario);
    let report = files.writes("report", report.as_deref())?;
    files.writes_records(&options.output, policies.iter().copied())?;
    if let Some(folder) = records {
        fs::create_dir_all(folder).map_err(|error| Error::file("make the folder", folder, error))?;
    }
    let keep = Keep { records: records.as_deref().map(|folder| (folder, *format)), pcap: None };
    let bar = bar(network, policies.len(), progress);
    let mut runs = side_by_side_on(jobs.map_or_else(cores, usize::from), &policies, |policy| {
        let mut blame = TransferBlame::new(options.selection.clone(), options.slowest);
        let run = run_blamed(network, Under::Policy(policy), keep, bar.as_ref(), Some(&mut blame))?;
        Ok::<_, Error>((run, blame.finish()))
    })?;
    let second = options.against.as_ref().and_then(|_| runs.pop());
    let (mut first, explanation) = runs.pop().ok_or(Error::Missing)?;
    let mut failures = mem::take(&mut first.run.unwritten);
    found(network, &options.selection, &explanation)?;
    let against = second.map(|(mut run, explanation)| {
        failures.append(&mut run.run.unwritten);
        Against { flows: paired([&first.outcome, &run.outcome]), run: run.run, explanation }
    });
    let resources = [LINK.to_owned()];
    let explained = Explained {
        noun: Noun::Transfer,
        name: &network.name,
        setting: setting(network, &first),
        resources: &resources,
        pipeline: None,
        selection: &options.selection,
        run: first.run,
        explanation,
        against,
        notes: Vec::new(),
    };
    let text = |report: Option<&Path>| explained.text(report, records.as_deref());
    failures.extend(deliver(out, report, *json, || explained.page(), || explained.json(), text).err());
    Error::unless_none(failures)
}

/// The network, in a sentence.
fn setting(network: &Network, run: &NetworkRun) -> String {
    let link = &network.links[network.watched];
    format!(
        "{}: {} transfers over TCP in {} s; the watched link has {} Mbit/s",
        network.name,
        count(run.outcome.transfers.len() as u64),
        figure(run.outcome.ended.as_secs_f64()),
        figure(link.rate.bps() / 1e6),
    )
}

/// Transfers of the same traffic and rank there, by traffic.
fn paired(outcomes: [&NetworkOutcome; 2]) -> BTreeMap<FlowId, Paired> {
    let ranked = outcomes.map(|outcome| {
        let mut ranks: BTreeMap<usize, u64> = BTreeMap::new();
        let mut ranked = BTreeMap::new();
        for (number, transfer) in outcome.transfers.iter().enumerate() {
            let rank = ranks.entry(transfer.traffic).or_default();
            ranked.insert((transfer.traffic, *rank), (number as u64, transfer));
            *rank += 1;
        }
        ranked
    });
    let mut flows: BTreeMap<FlowId, Paired> = BTreeMap::new();
    for (key, (number, first)) in &ranked[0] {
        let second = ranked[1].get(key).and_then(|(_, second)| second.took());
        flows.entry(FlowId(key.0 as u32)).or_default().meet(*number, [first.took(), second]);
    }
    for key in ranked[1].keys().filter(|key| !ranked[0].contains_key(key)) {
        let (number, second) = ranked[1][key];
        flows.entry(FlowId(key.0 as u32)).or_default().meet(number, [None, second.took()]);
    }
    flows
}

/// Refuses a selection that is not in the traffic.
fn found(network: &Network, selection: &Selection, explanation: &Explanation) -> Result<(), Error> {
    let selected = &explanation.selected;
    if selected.packets + selected.left > 0 {
        return Ok(());
    }
    match selection {
        Selection::Packet(number) => {
            let why = format!("there is no transfer {number}: they are numbered from 0 in order of beginning");
            Err(Misuse::option(&["packet"], why).into())
        }
        Selection::Class(class) | Selection::Flow(class) => {
            let names: Vec<_> = network.traffic.iter().map(|traffic| traffic.name.as_str()).collect();
            let why = format!("no transfer is of class '{class}'; there are {}", names.join(", "));
            Err(Misuse::option(&["class"], why).into())
        }
        Selection::All => Ok(()),
    }
}
