//! Field trials: experiments with real packets through the middlebox on this machine.
//!
//! A trial builds a lab of network namespaces, runs the middlebox in it with the policy in question, sends the experiment's
//! traffic by UDP, and records every packet's passage through the middlebox. The simulator then runs the packets that
//! arrived, and must give the same results.
//!
//! | file | what |
//! |---|---|
//! | `trial` | one run: lab, middlebox, traffic |
//! | `tape` | every packet's passage, as reported by the middlebox |
//! | `again` | the same packets in the simulator |
//! | `setting`, `traffic` | the middlebox's configuration, and the traffic |
//! | `beside` | the results of both, side by side |
//! | `windows` | what flows received of CPU and link in each part of a run |
//! | `tradeoff` | Table 2 and Figs. 3 to 6 of the trade-off paper |
//! | `atfq` | Fig. 9 of the ATFQ paper |
//! | `cbcs` | CBCS-WFQ with programs whose costs the middlebox learns |
//! | `drrsff`, `connections` | Figs. 5 and 8 of the DRR-SFF paper, with the kernel's TCP |

mod again;
mod atfq;
mod beside;
#[cfg(feature = "programs")]
mod cbcs;
mod connections;
mod drrsff;
mod setting;
mod tape;
mod tradeoff;
mod traffic;
mod trial;
mod windows;

use crate::experiment::MakeFinding;

/// The available trials, by the experiment's name.
pub(crate) const TRIALS: &[(&str, MakeFinding)] = &[
    ("tradeoff-table2", tradeoff::table2),
    ("tradeoff-fig3", tradeoff::fig3),
    ("tradeoff-fig4", tradeoff::fig4),
    ("tradeoff-fig5", tradeoff::fig5),
    ("tradeoff-fig6", tradeoff::fig6),
    ("atfq-fig9", atfq::fig9),
    #[cfg(feature = "programs")]
    ("cbcs-table4", cbcs::table4),
    ("drrsff-fig5", drrsff::fig5),
    ("drrsff-fig8", drrsff::fig8),
];
