//! The table and the figures of the trade-off paper (Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for
//! packet processing with multiple resources*, CoNEXT 2014): a CPU and a link of 200 Mbit/s, with room between them.
//!
//! | experiment | what | scenario |
//! |---|---|---|
//! | Fig. 1 | two flows, by hand | `tradeoff-fig1` |
//! | Table 2, Figs. 3 and 4 | 60 flows, nothing dropped ([`testbed`]) | `tradeoff-table2` |
//! | Fig. 5 | the same with queues of 200 packets ([`queues`]) | `tradeoff-table2` |
//! | Fig. 6 | elephants and mice ([`mice`]) | `tradeoff-fig6` |
//! | Figs. 7 to 9 | captures, with random modules ([`trace`]) | `tradeoff-trace` if there is no capture |

mod example;
pub(crate) mod mice;
pub(crate) mod optimum;
pub(crate) mod paper;
mod patterns;
pub(crate) mod queues;
mod replay;
mod replays;
mod runs;
pub(crate) mod testbed;
mod trace;
mod watch;

use crate::experiment::Experiment;

const SOURCE: &str = "Wang et al., CoNEXT 2014";

pub(crate) const FIG1: Experiment = Experiment {
    name: "tradeoff-fig1",
    title: "two flows, fair and efficient",
    source: SOURCE,
    by_trace: false,
    run: example::fig1,
};
pub(crate) const TABLE2: Experiment = Experiment {
    name: "tradeoff-table2",
    title: "makespan against alpha",
    source: SOURCE,
    by_trace: false,
    run: testbed::table2,
};
pub(crate) const FIG3: Experiment = Experiment {
    name: "tradeoff-fig3",
    title: "utilisation over time",
    source: SOURCE,
    by_trace: false,
    run: testbed::fig3,
};
pub(crate) const FIG4: Experiment = Experiment {
    name: "tradeoff-fig4",
    title: "each flow's share each second",
    source: SOURCE,
    by_trace: false,
    run: testbed::fig4,
};
pub(crate) const FIG5: Experiment = Experiment {
    name: "tradeoff-fig5",
    title: "with queues of 200 packets",
    source: SOURCE,
    by_trace: false,
    run: queues::fig5,
};
pub(crate) const FIG6: Experiment = Experiment {
    name: "tradeoff-fig6",
    title: "latency of elephants and mice",
    source: SOURCE,
    by_trace: false,
    run: mice::fig6,
};
pub(crate) const FIG7: Experiment = Experiment {
    name: "tradeoff-fig7",
    title: "utilisation, trace-driven",
    source: SOURCE,
    by_trace: true,
    run: trace::fig7,
};
pub(crate) const FIG8: Experiment = Experiment {
    name: "tradeoff-fig8",
    title: "latency and drops, trace-driven",
    source: SOURCE,
    by_trace: true,
    run: trace::fig8,
};
pub(crate) const FIG9: Experiment = Experiment {
    name: "tradeoff-fig9",
    title: "latency against flow size",
    source: SOURCE,
    by_trace: true,
    run: trace::fig9,
};
