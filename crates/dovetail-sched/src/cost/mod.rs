//! The costs of packets when they are not known beforehand.
//!
//! Programmable nodes run code on packets, and how long it takes is learnt: from the configured line of a [`Program`], from the
//! times that earlier packets took ([`Smoothing`], [`LeastSquares`]), or from both. Every policy can run on learnt costs
//! instead of true ones: [`Estimating`] stands between the policy and the environment, replaces a packet's cost by an estimate
//! when it arrives, and learns from the feedback when the packet leaves the resource. In a policy string that is
//! `drfq:estimator=ses,gain=0.5`; the knobs are [`KNOBS`].
//!
//! | module | contents |
//! |---|---|
//! | [`line`](self::Cost) | `a·bytes + b` |
//! | [`Program`], [`ProgramTable`] | a program's known properties: its cost line, what it reads, its expansion factor |
//! | [`Smoothing`] | single exponential smoothing (CBCS-WFQ, eq. 5) |
//! | [`LeastSquares`] | a line through the last packets (CBCS-WFQ, eqs. 7 and 8) |
//! | [`Estimator`] | the two with their fallbacks, for one program of one flow |
//! | [`Estimating`] | a scheduler that runs on estimates |
//! | [`admission`] | which flows may reserve how much of a node, and which delay they are guaranteed |

pub mod admission;

mod accounts;
mod estimating;
mod estimator;
mod knobs;
mod knowledge;
mod least_squares;
mod line;
mod pending;
mod program;
mod references;
mod smoothing;

pub use estimating::Estimating;
pub use estimator::{Estimator, Method};
pub(crate) use knobs::LEARNS;
pub use knobs::{Estimation, KNOBS};
pub use least_squares::LeastSquares;
pub use line::{Cost, CostError};
pub use program::{Processing, Program, ProgramId, ProgramTable};
pub use smoothing::Smoothing;
