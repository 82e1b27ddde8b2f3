//! Compares several policies over the same traffic.

mod assumed;
mod contenders;
mod figures;
mod flows;
mod gateways;
mod idle;
mod json;
mod network;
mod pipeline;
mod samples;
mod simulated;
mod verdict;

use std::io::Write;

use crate::{
    error::{Error, Misuse},
    input::scenario_text,
    network::resolve,
    options::CompareOptions,
    progress::Progress,
    sampling::are_asked_for,
    summary::Summary,
};

pub use simulated::{Simulated, simulate};

/// Compares policies, and writes the results to `out`.
///
/// # Errors
/// [`Error::Misuse`] if the options are inconsistent; others if a file is invalid or a run fails.
pub fn compare(options: &CompareOptions, progress: &dyn Progress, out: &mut dyn Write) -> Result<(), Error> {
    compare_in_full(options, progress, out).map(drop)
}

/// The same, and returns every figure as a table.
///
/// # Errors
/// Same as for [`compare`].
pub fn compare_in_full(
    options: &CompareOptions,
    progress: &dyn Progress,
    out: &mut dyn Write,
) -> Result<Summary, Error> {
    let text = scenario_text(&options.input)?;
    let network = resolve(&options.input, text.as_deref())?;
    if network.is_some() && are_asked_for(&options.seeds, &options.further_traces) {
        let why = "a network is compared with one seed, and without captures";
        return Err(Misuse::option(&["seeds"], why).into());
    }
    match network {
        Some(asked) if asked.network.access.is_some() => {
            gateways::compare(&asked, text.as_deref(), options, progress, out)
        }
        Some(asked) => network::compare(&asked, text.as_deref(), options, progress, out),
        None if are_asked_for(&options.seeds, &options.further_traces) => {
            samples::compare(text.as_deref(), options, progress, out)
        }
        None => pipeline::compare(text.as_deref(), options, progress, out),
    }
}
