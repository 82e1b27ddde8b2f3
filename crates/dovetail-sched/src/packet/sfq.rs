//! `sfq`: start-time fair queueing.
//!
//! Goyal, Vin and Cheng, *Start-time fair queueing: a scheduling algorithm for integrated services packet switching
//! networks*, SIGCOMM 1996. Packets go in order of start tags, and virtual time is the start tag of the packet in
//! service; when a busy period ends it moves on to the largest finish tag served:
//!
//! ```text
//! S_k = max(V(a_k), F_{k-1})        F_k = S_k + L_k / w_i        V(t) = S of the packet in service at t
//! ```
//!
//! Over any interval in which `i` and `j` stay backlogged, `|W_i/w_i - W_j/w_j| <= L_i/w_i + L_j/w_j` (theorem 1), `W` being
//! the work of the packets served and `L_i` the flow's largest, even if the server's rate varies. A packet of a flow that was
//! idle starts ahead of flows of any weight that have had their share, so thin flows see less delay than under
//! [`scfq`](super::scfq).
//!
//! A flow's finish tag may be ahead of `V` when the last queued packet has been taken, so the busy period ends only with that
//! packet's service: the policy requests feedback on packets that finish on its resource, and counts them. At that point all
//! tags are dropped and `V` restarts from 0, which is the paper's rule except for a shift, and keeps numbers small. Without the
//! feedback the busy period never ends. *Work* is a packet's time on one resource (the knob `resource`). Evictions and new
//! weights: see [`SelfClocked`]. O(log n) per packet.
//!
//! A new flow starts at `V`, so while new flows arrive as fast as they are served, an established flow waits. With
//! `new-flows=shared` the first packets of all new flows share the tags of a single flow, which the recursion above gives:
//! theorem 1 holds for that flow and the established ones, however many new flows there are. See the module `new_flows`.
//!
//! # Worked example
//!
//! Flow 0 has two packets of 4 µs, flow 1 has twice the weight and four packets of 2 µs: start tags 0, 4 against 0, 1,
//! 2, 3. A tie goes to the lower id:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, Weight};
//!
//! let mut sfq = "sfq".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! sfq.set_weight(FlowId(1), Weight::new(2.0).expect("in range"));
//! for (flow, micros) in [(0, 4), (0, 4), (1, 2), (1, 2), (1, 2), (1, 2)] {
//!     let demand = Demand::new(&[Nanos::from_micros(micros)])?;
//!     let packet = Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle: 0, demand };
//!     sfq.enqueue(&packet, Nanos::ZERO);
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| sfq.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [0, 1, 1, 1, 1, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;

use super::{
    SelfClocked,
    new_flows::{NEW_FLOWS, are_shared},
    self_clocked::TagClock,
    tags::RESOURCE,
};
use crate::{
    Queued,
    entry::{Entry, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "sfq",
    summary: "start-time fair queueing: virtual time is the start tag in service",
    knobs: &[RESOURCE, NEW_FLOWS],
    cost: "O(log n)",
    source: "Goyal, Vin & Cheng, SIGCOMM 1996",
    build: |knobs, setup| {
        let sfq = Sfq::new(knobs.resource("resource", setup.resources)?);
        let sfq = if are_shared(knobs)? { sfq.sharing_new_flows() } else { sfq };
        Ok(Box::new(Queued::new(sfq, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

/// Start-time fair queueing.
pub type Sfq = SelfClocked<StartTag>;

/// Least start tag first, with the start tag in service as the clock.
#[derive(Debug)]
pub struct StartTag;

impl TagClock for StartTag {
    const NAME: &'static str = ENTRY.name;

    #[inline]
    fn tag(start: f64, _finish: f64) -> f64 {
        start
    }

    const RUNS_BEHIND: bool = true;

    const TAKES_NEW_FLOWS: bool = true;
}
