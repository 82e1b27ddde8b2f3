//! The subjects of the benchmarks, and their instruction counts per packet.
//!
//! Times depend on what else the machine does; the number of instructions of a run does not. So changes are judged by counts
//! first: valgrind runs a row's work twice, for different lengths, and the difference is the cost of the additional packets.
//!
//! | module | what |
//! |---|---|
//! | [`operation`] | one dequeue and one enqueue in the steady state |
//! | [`simulation`] | the whole simulator: workload, scheduler, pipeline and meters |
//! | [`border`] | the same through the functions of `dovetail.h`, and from Rust for comparison |
//! | [`traffic`] | equal Poisson flows |
//! | [`work`] | the rows: what is counted |
//! | [`valgrind`] | counting |
//! | [`reference`](mod@reference) | the committed counts, and the comparison with them |
//! | [`digest`] | digests of results, to see whether a change affects nothing but speed |

pub mod border;
pub mod digest;
pub mod operation;
pub mod reference;
pub mod simulation;
pub mod subject;
mod tournament;
pub mod traffic;
pub mod valgrind;
pub mod work;
