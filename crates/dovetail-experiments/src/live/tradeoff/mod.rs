//! Table 2 and Figs. 3 to 6 of the trade-off paper, live: three modules on a CPU, and a link of 200 Mbit/s.
//!
//! | module | what |
//! |---|---|
//! | `modules` | costs of packets, and the middlebox with CPU and link |
//! | `planned` | results of the scenario with as many packets as a trial sends |
//! | `table2` | makespans |
//! | `over_time` | Figs. 3 and 4: utilisation and shares while all flows are backlogged |
//! | `queues` | Fig. 5: queues of 200 packets |
//! | `mice` | Fig. 6: elephants and mice |

mod mice;
mod modules;
mod over_time;
mod planned;
mod queues;
mod table2;

pub(super) use mice::fig6;
pub(super) use over_time::{fig3, fig4};
pub(super) use queues::fig5;
pub(super) use table2::table2;
