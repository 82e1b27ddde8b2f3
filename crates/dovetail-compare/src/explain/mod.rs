//! What packets wait for under a policy, and how another policy changes this.
//!
//! The simulator divides the latency of every packet without remainder among what it waited for ([`dovetail_sim::blame`]).
//! Here this is summed by class and by flow ([`who`]), and shown: a table of which flows waited for which, the slowest
//! packets, and the division of one packet's time to the nanosecond. For a comparison with a second policy the same packets
//! are run once more at the same pace, and paired as they end ([`pairing`]): which are quicker or slower, by how much, and
//! what they wait for more or less ([`reason`]). Over a network the same is done for TCP transfers ([`network`]) and for
//! requests of users behind a gateway ([`access`]).

mod access;
mod against;
mod charts;
mod json;
mod network;
mod noun;
mod over_network;
mod page;
mod pairing;
mod pipeline;
mod reason;
mod samples;
mod show;
mod who;

use std::io::Write;

pub use dovetail_sim::blame::Selection;
pub(crate) use page::blocks;
pub(crate) use pipeline::run_explained;

use crate::{
    error::{Error, Misuse},
    input::scenario_text,
    network::resolve,
    options::ExplainOptions,
    progress::Progress,
    sampling::are_asked_for,
};

/// Explains what packets wait for, and writes this to `out`.
///
/// # Errors
/// [`Error::Misuse`] if the options are inconsistent or select nothing in the traffic; others if a file is invalid or a run
/// fails.
pub fn explain(options: &ExplainOptions, progress: &dyn Progress, out: &mut dyn Write) -> Result<(), Error> {
    if options.against.as_ref().is_some_and(|against| *against == options.policy) {
        return Err(Misuse::Twice(options.policy.to_string()).into());
    }
    let text = scenario_text(&options.input)?;
    let network = resolve(&options.input, text.as_deref())?;
    let several = are_asked_for(&options.seeds, &options.further_traces);
    if network.is_some() && several {
        let why = "a network is explained with one seed, and without captures: give --seed, once for each seed";
        return Err(Misuse::option(&["seeds"], why).into());
    }
    match network {
        Some(asked) if asked.network.access.is_some() => {
            access::explain(&asked, text.as_deref(), options, progress, out)
        }
        Some(asked) => network::explain(&asked, text.as_deref(), options, progress, out),
        None if several => samples::explain(text.as_deref(), options, progress, out),
        None => pipeline::explain(text.as_deref(), options, progress, out),
    }
}
