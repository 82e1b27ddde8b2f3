//! `scfq`: self-clocked fair queueing.
//!
//! Golestani, *A self-clocked fair queueing scheme for broadband applications*, INFOCOM 1994. Instead of simulating a fluid,
//! virtual time is the finish tag of the packet in service, and the smallest finish tag goes first:
//!
//! ```text
//! F_k = max(V(a_k), F_{k-1}) + L_k / w_i        V(t) = F of the packet in service at t
//! ```
//!
//! Over any interval in which `i` and `j` stay backlogged, `|W_i/w_i - W_j/w_j| <= L_i/w_i + L_j/w_j`, `W` being the work of
//! the packets served and `L_i` the flow's largest. The price is delay: a packet that arrives beside `n` other flows may have
//! to wait for a packet of each, whatever its weight, where `wfq` makes it wait for one.
//!
//! The server's idle periods need no tracking: when nothing is queued, the packet sent last has the largest tag of all, so the
//! next to arrive starts level with every other flow, as after Golestani's reset to 0. *Work* is a packet's time on one
//! resource (the knob `resource`). Evictions and new weights: see [`SelfClocked`]. O(log n) per packet.
//!
//! # Worked example
//!
//! Flow 0 has two packets of 4 µs, flow 1 has twice the weight and four packets of 2 µs: tags 4, 8 against 1, 2, 3, 4. A
//! tie goes to the lower id:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let mut scfq = "scfq".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! scfq.set_weight(FlowId(1), Weight::new(2.0).expect("in range"));
//! for (flow, micros) in [(0, 4), (0, 4), (1, 2), (1, 2), (1, 2), (1, 2)] {
//!     let demand = Demand::new(&[Nanos::from_micros(micros)])?;
//!     let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
//!     scfq.enqueue(&packet, Nanos::ZERO);
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| scfq.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [1, 1, 1, 0, 1, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;

use super::{SelfClocked, self_clocked::TagClock, tags::RESOURCE};
use crate::{
    Queued,
    entry::{Entry, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "scfq",
    summary: "self-clocked fair queueing: virtual time is the finish tag in service",
    knobs: &[RESOURCE],
    cost: "O(log n)",
    source: "Golestani, INFOCOM 1994",
    build: |knobs, setup| {
        let scfq = Scfq::new(knobs.resource("resource", setup.resources)?);
        Ok(Box::new(Queued::new(scfq, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

/// Self-clocked fair queueing.
pub type Scfq = SelfClocked<FinishTag>;

/// Least finish tag first, with the finish tag in service as the clock.
#[derive(Debug)]
pub struct FinishTag;

impl TagClock for FinishTag {
    const NAME: &'static str = ENTRY.name;

    #[inline]
    fn tag(_start: f64, finish: f64) -> f64 {
        finish
    }

    const RUNS_BEHIND: bool = false;

    const TAKES_NEW_FLOWS: bool = false;
}
