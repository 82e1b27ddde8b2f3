//! Every integration test of the crate, as one program: one link step, and threads share the work.

#[path = "support/far_link.rs"]
mod far_link;
#[path = "support/figures.rs"]
mod figures;
#[path = "support/gps.rs"]
mod fluid;
#[path = "support/fluid_run.rs"]
mod fluid_run;
#[path = "support/heads.rs"]
mod heads;
#[path = "support/link.rs"]
mod link;
#[path = "support/lp.rs"]
mod lp;
#[path = "support/memory.rs"]
mod memory;
mod released;
#[path = "support/single.rs"]
mod single;
#[path = "support/steps.rs"]
mod steps;
mod support;

mod admission;
mod allocation;
mod allocation_warm;
mod atfq;
mod atfq_paper;
mod atfq_sequence;
mod capped;
mod capped_forms;
mod cbcs;
mod cbcs_delay;
mod cbcs_stamps;
mod delay_pools;
mod delay_pools_forms;
mod discarding;
mod drfq;
mod drfq_tags;
mod drops;
mod drr_rounds;
mod drr_sff;
mod estimating;
mod extremes;
mod fairness;
mod feasible;
mod firewall;
mod forgetting;
mod gmr3;
mod gmr3_rounds;
mod gps;
mod grants;
mod grants_dead;
mod grants_fair;
mod grants_link;
mod grants_tunnels;
mod hostile_costs;
mod lone;
mod mr3;
mod mr3_positions;
mod msf_rs;
mod msf_rs_fairness;
mod msf_rs_link;
mod new_flows;
mod requests;
mod retune;
mod size_based;
mod specs;
mod tradeoff;
mod tradeoff_clock;
mod tradeoff_forms;
mod uplink_rate;
mod weights;
mod wf2q_tags;
