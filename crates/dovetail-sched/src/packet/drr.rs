//! `drr`: deficit round robin.
//!
//! Shreedhar and Varghese, *Efficient fair queueing using deficit round robin*, SIGCOMM 1995. Backlogged flows take turns. On
//! its turn flow `i` earns a quantum `Q·w_i` of bytes on top of its *deficit* `D_i`, the credit left from its last turn, and
//! sends while its head-of-line packet fits:
//!
//! ```text
//! D_i <- D_i + Q·w_i;   while backlogged and len(head) <= D_i:  send, D_i <- D_i - len(head);   if empty: D_i <- 0
//! ```
//!
//! Over any interval in which `i` and `j` stay backlogged, `|sent_i/w_i - sent_j/w_j| <= Q + L/w_i + L/w_j`, `L` being the
//! largest packet (their theorem 2, with the quantum stated for weight 1).
//!
//! O(1) per packet if no packet exceeds its flow's quantum `Q·w_i`. Otherwise a packet may take several of its flow's turns, up
//! to `L / (Q·w)` for the smallest weight `w`, and the turns in between that send nothing cost time too: O(n) per packet for `n`
//! backlogged flows at worst. Rounds in which no flow at all could send are skipped by arithmetic, with the same result.
//!
//! A flow that loses its last packet to a drop also loses its deficit, but not its place: it leaves in its turn if it is still
//! empty then, so that no drop searches the ring, and a flow whose packets keep being replaced is not sent to the back each time.
//!
//! # Worked example
//!
//! With a quantum of 500 bytes, flow 0 (packets of 200) sends two packets a turn and keeps 100; flow 1 (packets of 750)
//! must save up for two turns:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let mut drr = "drr:quantum=500".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! let demand = Demand::new(&[Nanos(1)])?;
//! for handle in 0..6 {
//!     for (flow, bytes) in [(0, 200), (1, 750)] {
//!         let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos::ZERO, handle, demand };
//!         drr.enqueue(&packet, Nanos::ZERO);
//!     }
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| drr.dequeue(Nanos::ZERO)).take(8).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [0, 0, 0, 0, 0, 1, 0, 1]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::boxed::Box;

use crate::{
    Dispatch, Evicted, FlowId, Nanos, Packet, Policy, PolicyError, Queued, Queues,
    entry::{Entry, Knob, Knobs, NO_CAUTION},
    flow::{FlowMap, Turns},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "drr",
    summary: "deficit round robin by bytes",
    knobs: &[Knob {
        key: "quantum",
        default: "1514",
        meaning: "bytes that a flow of weight 1 earns a turn, 1B to 1GB; O(1) from the largest packet over the least weight",
        retunable: true,
    }],
    cost: "O(1)",
    source: "Shreedhar & Varghese, SIGCOMM 1995",
    build: |knobs, setup| {
        let policy = Drr::new(quantum_bytes(knobs)?);
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

fn quantum_bytes(knobs: &Knobs<'_>) -> Result<u64, PolicyError> {
    knobs.bytes("quantum", 1, 1_000_000_000)
}

/// With this many flows their queues no longer fit in the processor's second-level cache: 2,048 flows with three packets are
/// about 400 KiB.
pub(super) const OUT_OF_CACHE: usize = 2048;

/// Deficit round robin.
#[derive(Debug)]
pub struct Drr {
    quantum_bytes: f64,
    // The flow whose turn it is is in front, and has earned its quantum if `in_turn`.
    active: Turns,
    in_turn: bool,
    // Turns since a packet was sent; a whole round of them triggers skipping.
    fruitless: usize,
    // `EMPTY_IN_RING` for a flow without packets that has kept its place.
    deficit_bytes: FlowMap<f64>,
}

/// In the place of a deficit, which is never negative.
const EMPTY_IN_RING: f64 = -1.0;

impl Drr {
    /// A flow of weight 1 earns `quantum_bytes` a turn.
    #[must_use]
    pub fn new(quantum_bytes: u64) -> Self {
        Self {
            quantum_bytes: quantum_bytes as f64,
            active: Turns::new(),
            in_turn: false,
            fruitless: 0,
            deficit_bytes: FlowMap::new(),
        }
    }

    /// Prefetches the next flows: first their queues, later their head packets.
    #[inline]
    fn prefetch(&self, queues: &Queues) {
        if let Some(later) = self.active.get(6) {
            queues.prefetch_flow(later);
            self.deficit_bytes.prefetch(later);
        }
        if let Some(soon) = self.active.get(3) {
            queues.prefetch_head(soon);
        }
    }

    /// Gives every flow what it would earn in the rounds before the first one in which a flow can send.
    fn skip_rounds(&mut self, queues: &Queues) {
        // All of them have packets: a whole round has just passed, in which empty ones left.
        let mut rounds = f64::INFINITY;
        for flow in self.active.iter() {
            let missing = queues.head(flow).map_or(0.0, |head| f64::from(head.bytes())) - *self.deficit_bytes.at(flow);
            rounds = rounds.min(missing / (self.quantum_bytes * queues.weight(flow)));
        }
        // The next turn still earns its quantum, and rounding must not give a round too many.
        let rounds = (rounds as u64).saturating_sub(1) as f64;
        for flow in self.active.iter() {
            *self.deficit_bytes.at(flow) += rounds * self.quantum_bytes * queues.weight(flow);
        }
        self.fruitless = 0;
    }
}

impl Policy for Drr {
    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, _now: Nanos) {
        if queues.len(flow) == 1 {
            let deficit = self.deficit_bytes.at(flow);
            let has_place = *deficit < 0.0;
            *deficit = 0.0;
            if !has_place {
                self.active.push_back(flow);
            }
        }
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        loop {
            let flow = self.active.get(0)?;
            if self.active.len() > OUT_OF_CACHE {
                self.prefetch(queues);
            }
            let deficit = self.deficit_bytes.at(flow);
            let Some(head) = queues.head(flow) else {
                // Its last packet was dropped.
                *deficit = 0.0;
                self.active.pop_front();
                continue;
            };
            // A multiplication instead of a branch: whether the last turn ended is unpredictable.
            *deficit += self.quantum_bytes * queues.weight(flow) * f64::from(u8::from(!self.in_turn));
            self.in_turn = true;
            let (bytes, next) = (f64::from(head.bytes()), head.next().map(|next| f64::from(next.bytes())));
            if bytes > *deficit {
                self.active.rotate_if(true);
                self.in_turn = false;
                self.fruitless += 1;
                if self.fruitless > self.active.len() {
                    self.skip_rounds(queues);
                }
                continue;
            }
            *deficit -= bytes;
            self.fruitless = 0;
            match next {
                None => {
                    *deficit = 0.0;
                    self.active.pop_front();
                    self.in_turn = false;
                }
                // Ending the turn here instead of at the next call saves that call from reading this flow.
                Some(next) => {
                    let ends = next > *deficit;
                    self.active.rotate_if(ends);
                    self.in_turn = !ends;
                }
            }
            // Last, so that the packet is written in place and not moved.
            return Some(Dispatch::plain(queues.pop(flow)));
        }
    }

    fn evicted(&mut self, queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        if !queues.is_empty(flow) {
            return;
        }
        let deficit = self.deficit_bytes.at(flow);
        if self.in_turn && self.active.get(0) == Some(flow) {
            // Its turn is over.
            *deficit = 0.0;
            self.active.pop_front();
            self.in_turn = false;
        } else {
            *deficit = EMPTY_IN_RING;
        }
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        self.quantum_bytes = quantum_bytes(knobs)? as f64;
        Ok(())
    }

    /// Nothing: an empty flow has no deficit. Its place in the ring, if it still has one, goes to the next flow with its id.
    fn forget(&mut self, _flow: FlowId) {}
}
