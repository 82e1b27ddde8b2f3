//! Explains transfers over a network's watched link, for one run or two.

use std::io::Write;

use dovetail_sched::FlowId;
use dovetail_sim::{
    blame::{Explanation, Selection, TransferBlame},
    network::{Network, NetworkOutcome},
};

use super::{
    noun::Noun,
    over_network::{Subject, Took, Watching},
};
use crate::{
    contender::of_packets,
    error::{Error, Misuse},
    network::{Asked, NetworkRun, Under},
    options::ExplainOptions,
    progress::Progress,
    table::{count, figure, megabits},
};

pub(super) fn explain(
    asked: &Asked,
    scenario: Option<&str>,
    options: &ExplainOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let network = &asked.network;
    if network.transfers() == 0 {
        let why = format!("{} has no transfers to explain, only streams without an end", network.name);
        return Err(Misuse::option(&["scenario"], why).into());
    }
    if let Selection::Flow(_) = options.selection {
        let why = "a transfer is a flow of its own: use --packet with its number, or --class with its traffic";
        return Err(Misuse::option(&["flow"], why).into());
    }
    let policies = [&options.policy].into_iter().chain(&options.against).map(of_packets);
    let policies = policies.collect::<Result<Vec<_>, _>>()?;
    let subject = Subject {
        noun: Noun::Transfer,
        asked,
        scenario,
        under: policies.iter().map(Under::Policy).collect(),
        watching: |options| Watching::Transfers(TransferBlame::new(options.selection.clone(), options.slowest)),
        took: transfers,
        setting,
        found,
    };
    subject.explain(options, progress, out)
}

/// The network, in a sentence.
fn setting(network: &Network, run: &NetworkRun) -> String {
    let link = &network.links[network.watched];
    format!(
        "{}: {} transfers over TCP in {} s; the watched link has {} Mbit/s",
        network.name,
        count(run.outcome.transfers.len() as u64),
        figure(run.outcome.ended.as_secs_f64()),
        megabits(link.rate.bps() / 1e6),
    )
}

/// Transfers in order, each with its traffic.
fn transfers(outcome: &NetworkOutcome) -> Took {
    outcome.transfers.iter().map(|transfer| (FlowId(transfer.traffic as u32), transfer.took())).collect()
}

/// Rejects a selection that does not occur in the traffic.
fn found(network: &Network, options: &ExplainOptions, explanation: &Explanation) -> Result<(), Error> {
    let selected = &explanation.selected;
    if selected.packets + selected.left > 0 {
        return Ok(());
    }
    match &options.selection {
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
