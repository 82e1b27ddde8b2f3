//! The figures of the DRR-SFF paper (Sun, Shi, Hu and Liu, *DRR-SFF: a practical scheduling algorithm to improve the
//! performance of short flows*, ICNS 2007), and the flood that it mentions but does not measure.
//!
//! | experiment | what |
//! |---|---|
//! | Figs. 5, 6, 7 | times and drops of transfers by size ([`transfers`]) |
//! | Fig. 9, Fig. 10 | the quantum ratio, and more short flows ([`transfers`]) |
//! | Figs. 8, 11 | an unlimited connection together with them ([`ftp`]) |
//! | flood | the effect of the rule for a full buffer under one-packet flows ([`flood`]) |
//!
//! Every figure is over [`paper::SEEDS`] seeds, and every policy meets the same arrivals. Ratios of two policies are computed
//! per run; rows judge the median over the runs. In addition to the paper's statements, results of an independent
//! implementation in ns-3 are given: its TCP has NewReno, SACK and an initial window of ten segments, unlike the one here.

mod flood;
mod ftp;
mod paper;
mod runs;
mod transfers;

use crate::experiment::{Experiment, MakeFinding};

const SOURCE: &str = "Sun, Shi, Hu & Liu, ICNS 2007";

const fn experiment(name: &'static str, title: &'static str, run: MakeFinding) -> Experiment {
    Experiment::of(SOURCE, name, title, run)
}

pub(crate) const FIG5: Experiment = experiment("drrsff-fig5", "times of short transfers", transfers::fig5);
pub(crate) const FIG6: Experiment = experiment("drrsff-fig6", "times of all transfers", transfers::fig6);
pub(crate) const FIG7: Experiment = experiment("drrsff-fig7", "packets dropped", transfers::fig7);
pub(crate) const FIG8: Experiment = experiment("drrsff-fig8", "an FTP beside transfers", ftp::fig8);
pub(crate) const FIG9: Experiment = experiment("drrsff-fig9", "the quantum ratio", transfers::fig9);
pub(crate) const FIG10: Experiment =
    experiment("drrsff-fig10", "times of short transfers that carry 40 % of bytes", transfers::fig10);
pub(crate) const FIG11: Experiment =
    experiment("drrsff-fig11", "an FTP beside short transfers that carry 40 % of bytes", ftp::fig11);
pub(crate) const FLOOD: Experiment =
    Experiment { source: "our own", ..experiment("drrsff-flood", "a flood of one-packet flows", flood::flood) };
