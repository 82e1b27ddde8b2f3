//! Field trials: experiments again, with real packets through the box on this machine.
//!
//! A trial builds a lab of network namespaces, runs the box in it with the policy in question, sends the experiment's
//! traffic by UDP, and keeps every packet's way through the box. The simulator then runs the very packets that arrived, and
//! has to say the same.
//!
//! | file | what |
//! |---|---|
//! | `trial` | one run: lab, box, traffic |
//! | `tape` | every packet's way, as the box told it |
//! | `again` | the same packets in the simulator |
//! | `testbed` | Table 2 of the trade-off paper |

mod again;
mod tape;
mod testbed;
mod traffic;
mod trial;

use crate::experiment::MakeFinding;

/// The trials there are, by the experiment's name.
pub(crate) const TRIALS: &[(&str, MakeFinding)] = &[("tradeoff-table2", testbed::table2)];
