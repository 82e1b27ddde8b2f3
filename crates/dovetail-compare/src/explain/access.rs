//! Explains requests of users behind a gateway, for one run or two.

use std::io::Write;

use dovetail_sched::FlowId;
use dovetail_sim::{
    blame::{Explanation, RequestBlame, Selection},
    network::{Kind, Network, NetworkOutcome},
};

use super::{
    noun::{Noun, some},
    over_network::{Subject, Took, Watching},
};
use crate::{
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
    let subject = Subject {
        noun: Noun::Request,
        asked,
        scenario,
        under: [&options.policy].into_iter().chain(&options.against).map(Under::Gateway).collect(),
        watching: |options| Watching::Requests(RequestBlame::new(options.selection.clone(), options.slowest)),
        took: requests,
        setting,
        found,
    };
    subject.explain(options, progress, out)
}

/// The network, in a sentence.
fn setting(network: &Network, run: &NetworkRun) -> String {
    let link = &network.links[network.watched];
    format!(
        "{}: {} requests of {} users behind a gateway in {} s; the watched link has {} Mbit/s",
        network.name,
        count(run.outcome.access.as_ref().map_or(0, |access| access.exchanges.len() as u64)),
        count(users(network).count() as u64),
        figure(run.outcome.ended.as_secs_f64()),
        megabits(link.rate.bps() / 1e6),
    )
}

/// Requests in order, each with its user.
fn requests(outcome: &NetworkOutcome) -> Took {
    let exchanges = outcome.access.iter().flat_map(|access| &access.exchanges);
    exchanges.map(|exchange| (FlowId(exchange.user as u32), exchange.took())).collect()
}

/// The node of each user, and the traffic that names their class.
fn users(network: &Network) -> impl Iterator<Item = (usize, usize)> {
    let asking = network.traffic.iter().enumerate().filter(|(_, traffic)| matches!(traffic.kind, Kind::Requests(_)));
    asking.flat_map(|(at, traffic)| traffic.to.iter().map(move |&node| (node, traffic.class.unwrap_or(at))))
}

/// Rejects a selection that does not occur in the traffic.
fn found(network: &Network, options: &ExplainOptions, explanation: &Explanation) -> Result<(), Error> {
    let selected = &explanation.selected;
    if selected.packets + selected.dropped + selected.left > 0 {
        return Ok(());
    }
    match &options.selection {
        Selection::Packet(number) => {
            let why =
                format!("there is no request {number}: they are numbered from 0 in the order in which users want them");
            Err(Misuse::option(&["packet"], why).into())
        }
        Selection::Flow(user) => {
            let names = some(users(network).map(|(node, _)| network.nodes[node].name.as_str()));
            Err(Misuse::option(&["flow"], format!("no request is of user '{user}'; there are {names}")).into())
        }
        Selection::Class(class) => {
            let mut names: Vec<_> = users(network).map(|(_, class)| network.traffic[class].name.as_str()).collect();
            names.dedup();
            let names = some(names.into_iter());
            Err(Misuse::option(&["class"], format!("no request is of class '{class}'; there are {names}")).into())
        }
        Selection::All => Ok(()),
    }
}
