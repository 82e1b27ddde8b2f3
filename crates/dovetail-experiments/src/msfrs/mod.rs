//! The figures of the MSF-RS paper (Tsao, Lai, Tsao and Lin, *On applying fair queuing discipline to schedule requests at
//! access gateway for downlink differential QoS*, Computer Networks 52(18), 2008).
//!
//! | experiment | what |
//! |---|---|
//! | Fig. 5 | equations 4 to 6, and the policy in an ideal link ([`analytic`]) |
//! | Figs. 8, 10 | bandwidth of each class ([`shares`]) |
//! | Fig. 9 | latency, and why it is not reproduced ([`latency`]) |
//! | Figs. 11, 12 | the window, and its target utilisation ([`window`]) |
//! | Table 1 | unrequested traffic ([`crossing`]) |
//! | Table 2 | latency at real gateways ([`field`]) |
//! | Table 3 | their CPU time ([`cpu`]) |
//!
//! The network is `scenarios/msfrs.toml`, except for Tables 2 and 3, which are measured: Squid and this program as gateways
//! on a real narrow downlink between network namespaces ([`gateways`]). `grants` is run in addition to the paper's policies.

mod analytic;
#[cfg(feature = "bed")]
mod cpu;
mod crossing;
#[cfg(feature = "bed")]
mod field;
#[cfg(feature = "bed")]
mod gateways;
mod latency;
#[cfg(not(feature = "bed"))]
mod no_bed;
mod runs;
mod shares;
mod window;

use crate::experiment::{Experiment, MakeFinding};

const SOURCE: &str = "Tsao, Lai, Tsao & Lin, Computer Networks 52(18), 2008";

#[cfg(feature = "bed")]
const ON_A_REAL_LINK: [MakeFinding; 2] = [field::table2, cpu::table3];
#[cfg(not(feature = "bed"))]
const ON_A_REAL_LINK: [MakeFinding; 2] = [no_bed::left_out; 2];

const fn experiment(name: &'static str, title: &'static str, run: MakeFinding) -> Experiment {
    Experiment::of(SOURCE, name, title, run)
}

pub(crate) const FIG5: Experiment =
    experiment("msfrs-fig5", "a batch of requests, by equations 4 to 6", analytic::fig5);
pub(crate) const FIG8: Experiment =
    experiment("msfrs-fig8", "throughput of three classes over four phases", shares::fig8);
pub(crate) const FIG9: Experiment = experiment("msfrs-fig9", "latency of the classes, and of all", latency::fig9);
pub(crate) const FIG10: Experiment = experiment("msfrs-fig10", "users of a class from 4 to 24", shares::fig10);
pub(crate) const FIG11: Experiment = experiment("msfrs-fig11", "the window while requests are few", window::fig11);
pub(crate) const FIG12: Experiment =
    experiment("msfrs-fig12", "latency by the utilisation that is aimed at", window::fig12);
pub(crate) const TABLE1: Experiment =
    experiment("msfrs-table1", "utilisation under unrequested traffic", crossing::table1);
pub(crate) const TABLE2: Experiment =
    experiment("msfrs-table2", "latency of gateways on a real link", ON_A_REAL_LINK[0]);
pub(crate) const TABLE3: Experiment =
    experiment("msfrs-table3", "CPU time of gateways on a real link", ON_A_REAL_LINK[1]);
