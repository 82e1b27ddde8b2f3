//! Admission control: which flows may reserve how much of a node, and which delay they are guaranteed.
//!
//! Source: Sabrina and Jha, UNSW-CSE-TR-0306, section 2 (the rules) and section 4.2 (the delays), where the resources
//! are a CPU and a link. Here they are any 1 to 8, each with a capacity R_j in units a second (cycles, bytes, seconds of
//! processor time) and a target utilisation mu_j. A reserved flow i has a rate r_ij on each and kinds of packet k that
//! take P_kj units of it.
//!
//! # Rules
//!
//! 1. *Rates* (eqs. 1, 2). A new flow is refused if on any resource the reserved rates including its own exceed the
//!    target: r_j + sum_i r_ij > mu_j R_j. The paper prints "<", which would refuse every flow but the last.
//! 2. *Delays*. It is refused if its own delay bound would be longer than its limit, or that of any admitted flow of its
//!    priority level, since other flows may have to wait for its packets too.
//! 3. *Best-effort flows* share equally what the reserved flows leave of the target (eqs. 3, 4): (mu_j R_j - sum_i r_ij) / N. A
//!    limit bounds their number.
//! 4. *Queues*. A packet of a best-effort flow is refused if its queue would become longer than a limit.
//!
//! # Delay bounds
//!
//! With a fair queueing scheduler in front of every resource a flow's delay is (eq. 13, [`delay::separate`])
//!
//! ```text
//! sum_j ( max_k P_kj / r_ij  +  max over all flows and kinds of P_kj / R_j )
//! ```
//!
//! and with one scheduler that orders packets by their cost on all resources together (eq. 14, [`delay::composite`])
//!
//! ```text
//! max_k sum_j P_kj / r_ij  +  max over all flows and kinds of sum_j P_kj / R_j
//! ```
//!
//! Eq. 14 is never larger: the maximum of a sum is at most the sum of maxima. Both are per packet; if a flow sends
//! faster than it reserved, the delay of its own backlog is added. How far they can be relied on:
//!
//! - **Eq. 13** holds for flows whose packets are spaced by at least the largest of their normalised costs P_kj / r_ij;
//!   the proof is at the head of `tests/all/cbcs_delay.rs`, which also tries it.
//! - **Eq. 14 is no bound in general.** The paper derives it from that of one fair queue and does not prove it. Behind
//!   the one scheduler all flows share a first-in-first-out queue for the next resource, and packets of other flows
//!   which gather there can delay a packet for longer than eq. 14 says; the same file shows traffic that breaks it. It
//!   is what the paper admits by, so it is the default here; for a guarantee, choose
//!   [`Bound::Separate`] and schedulers to match.
//! - Neither accounts for priorities. Where a scheduler serves one level strictly before another, the lower one waits
//!   longer than either formula says.
//!
//! Priority levels decide only whose bounds rule 2 considers, as in the paper. A packet of another level may still
//! delay this one, so every flow enters the maxima, and a new flow that breaks a bound of another level is admitted
//! with a warning ([`Admitted::breaks`]). While that bound is broken no other flow is admitted to its level.
//!
//! # Arithmetic
//!
//! Rates and costs are whole billionths of a unit ([`Amount`]), so decimals add up as they do on paper, a flow that fits
//! exactly is admitted, and sums are the same after any number of flows have come and gone. Every quotient P / r is
//! rounded up to a whole nanosecond: a bound is at most 2 m nanoseconds longer than the formula, and never shorter.
//!
//! Admitting and releasing cost O(m log n) with n reserved flows, and O(m k) for the new flow's k kinds of packet.
//!
//! ```
//! use dovetail_sched::{Nanos, cost::admission::{Admission, Amounts, BestEffort, Bound, Node, Reservation, Resource}};
//!
//! // Table 2: a CPU of 1000 cycles a second and a link of 1000 bytes a second.
//! let resource = Resource::new(1000.0, 1.0)?;
//! let mut admission = Admission::new(Node::new(&[resource, resource], BestEffort::default())?);
//! let flow = |rate: [f64; 2], packet: [f64; 2]| -> Result<_, Box<dyn core::error::Error>> {
//!     Ok(Reservation::new(Amounts::new(&rate)?, &[Amounts::new(&packet)?], Some(Nanos::from_millis(130)), 0)?)
//! };
//! let first = admission.admit(&flow([750.0, 250.0], [30.0, 10.0])?)?.flow;
//! admission.admit(&flow([250.0, 750.0], [10.0, 30.0])?)?;
//! assert_eq!(admission.delay(first, Bound::Composite), Some(Nanos::from_millis(120)));
//! assert_eq!(admission.delay(first, Bound::Separate), Some(Nanos::from_millis(140)));
//!
//! let refusal = admission.admit(&flow([1.0, 1.0], [1.0, 1.0])?).expect_err("all is reserved");
//! assert_eq!(refusal.to_string(), "rule 1: 1/s of resource 0 is requested and 0/s is left, which is 1/s too little");
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

pub mod delay;

mod amount;
mod amounts;
mod control;
mod flow;
mod handle;
mod largest;
mod mismatch;
mod node;
mod refusal;
mod reservation;

pub use amount::{Amount, AmountError};
pub use amounts::Amounts;
pub use control::Admission;
pub use delay::Bound;
pub use flow::{Admitted, UnknownFlow};
pub use handle::FlowHandle;
pub use mismatch::Mismatch;
pub use node::{BestEffort, Node, NodeError, Resource};
pub use refusal::{Broken, Refusal, Whose};
pub use reservation::{Reservation, ReservationError};
