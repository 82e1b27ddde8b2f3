//! The figures and tables of the CBCS-WFQ report (Sabrina and Jha, *Design and performance analysis of the CBCS^WFQ
//! packet scheduling algorithm*, UNSW-CSE-TR-0306, 2003), and its headline over a grid of settings.
//!
//! | experiment | what |
//! |---|---|
//! | Figs. 2 to 4 | how well both estimators predict costs, measured on this machine ([`estimates`]) |
//! | Table 2 | delay guarantees of two flows, and their actual delays ([`example`]) |
//! | Table 4 | each flow's share of CPU and link ([`shares`]) |
//! | Figs. 6 to 9 | delays of MPEG flow 1 ([`delays`]) |
//! | Figs. 10 to 13 | utilisation ([`utilisation`]) |
//! | the grid | worst delays under other loads, costs, arrivals and outputs ([`grid`]) |
//!
//! All except the first two use the ten flows of Table 3, scenario `cbcs`. Costs are not known in advance, and estimates are
//! not settled (`settle=no`), as in the report.

mod cell;
mod delays;
#[cfg(feature = "profile")]
mod estimates;
mod example;
mod grid;
mod grid_tables;
mod interval;
#[cfg(not(feature = "profile"))]
mod no_profile;
mod packets;
mod paper;
mod runs;
mod settings;
mod shares;
mod trips;
mod utilisation;
mod why;

use crate::experiment::Experiment;

const SOURCE: &str = "Sabrina & Jha, UNSW-CSE-TR-0306, 2003";

pub(crate) const FIG2: Experiment = Experiment {
    name: "cbcs-fig2",
    title: "how well costs are predicted (Figs. 2 to 4)",
    source: SOURCE,
    by_trace: false,
    #[cfg(feature = "profile")]
    run: estimates::fig2,
    #[cfg(not(feature = "profile"))]
    run: no_profile::left_out,
};
pub(crate) const TABLE2: Experiment = Experiment {
    name: "cbcs-table2",
    title: "delay guarantees of two flows",
    source: SOURCE,
    by_trace: false,
    run: example::table2,
};
pub(crate) const TABLE4: Experiment = Experiment {
    name: "cbcs-table4",
    title: "shares of CPU and link",
    source: SOURCE,
    by_trace: false,
    run: shares::table4,
};
pub(crate) const FIG6: Experiment = Experiment {
    name: "cbcs-fig6",
    title: "delays of MPEG flow 1 (Figs. 6 to 9)",
    source: SOURCE,
    by_trace: false,
    run: delays::fig6,
};
pub(crate) const FIG10: Experiment = Experiment {
    name: "cbcs-fig10",
    title: "utilisation over time (Figs. 10 to 13)",
    source: SOURCE,
    by_trace: false,
    run: utilisation::fig10,
};
pub(crate) const GRID: Experiment = Experiment {
    name: "cbcs-grid",
    title: "worst delays over a grid of settings",
    source: SOURCE,
    by_trace: false,
    run: grid::grid,
};
