//! What the benchmarks drive, and how many instructions a packet takes there.
//!
//! Times depend on what else the machine does; how many instructions a run takes does not. So changes are judged by counts
//! first: valgrind runs a row's work twice, for different lengths, and the difference is what the additional packets took.
//!
//! | module | what |
//! |---|---|
//! | [`operation`] | one dequeue and one enqueue in the steady state |
//! | [`simulation`] | the whole simulator: workload, scheduler, pipeline and meters |
//! | [`border`] | the same through the functions of `dovetail.h`, and beside it from Rust |
//! | [`traffic`] | equal Poisson flows |
//! | [`work`] | the rows: what is counted |
//! | [`valgrind`] | counting |
//! | [`reference`](mod@reference) | the committed counts, and what is held against them |
//! | [`digest`] | what runs come to, to see whether a change was one of speed only |

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
