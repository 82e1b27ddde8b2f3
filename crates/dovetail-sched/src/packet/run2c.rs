//! `run2c`: the first bytes of every flow strictly first.
//!
//! RuN2C: Avrachenkov, Ayesta, Brown and Nyberg, *Differentiation between short and long TCP flows: predictability of the
//! response time*, INFOCOM 2004. Two queues, each first in, first out: a packet joins the *high* queue if fewer than
//! `threshold` bytes of its flow arrived before it, and the *low* queue otherwise. The low queue is served only while
//! the high one is empty.
//!
//! The paper reads a packet's position in its flow from the TCP sequence number and keeps no state; here the bytes of every
//! flow are counted as they arrive, and a flow with nothing queued whose next packet arrives later than `timeout` after its
//! last counts as new. A flow with packets queued never does: a packet in the high queue would overtake those in the low one.
//! So a flow's packets stay in order: all those in the high queue arrived before all those in the low. If `threshold` is
//! raised while a flow waits in the low queue, it gets places in the high one again, and its oldest packets take them.
//!
//! Neither queue distinguishes flows: a flow that sends more gets more, weights have no effect, and while new flows
//! fill the link the low queue is not served.
//!
//! **A full buffer.** The paper prints no rule for two queues that share a buffer. Here a packet for the low queue is
//! refused; one for the high queue evicts the youngest of the low queue, and is refused if there is none or it is of the
//! same flow. The rule is part of the policy, whatever drop policy the limits specify.
//!
//! O(1) per packet.
//!
//! # Worked example
//!
//! A threshold of 1500 bytes, packets of 1000. Flow 0's first two packets are high, the third and fourth low; then flow
//! 1 arrives with one packet:
//!
//! ```
//! use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
//!
//! let mut run2c = "run2c:threshold=1500".parse::<PolicySpec>()?.build(&Setup::new(1, Limits::UNLIMITED))?;
//! let demand = Demand::new(&[Nanos(1)])?;
//! for (handle, flow) in [0, 0, 0, 0, 1].into_iter().enumerate() {
//!     let packet = Packet { flow: FlowId(flow), bytes: 1000, arrival: Nanos::ZERO, handle: handle as u64, demand };
//!     run2c.enqueue(&packet, Nanos::ZERO);
//! }
//! let order: Vec<u32> = core::iter::from_fn(|| run2c.dequeue(Nanos::ZERO)).map(|sent| sent.packet.flow.0).collect();
//! assert_eq!(order, [0, 0, 1, 0, 0]);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

use alloc::{boxed::Box, collections::VecDeque};

use super::ages::Ages;
use crate::{
    Dispatch, Evicted, FlowId, Nanos, Packet, Policy, PolicyError, Queued, Queues,
    entry::{Entry, Knob, Knobs, NO_CAUTION},
};

/// The registry entry.
pub const ENTRY: Entry = Entry {
    name: "run2c",
    summary: "the first bytes of every flow strictly first, in order of arrival",
    knobs: &[
        Knob {
            key: "threshold",
            default: "20kB",
            meaning: "bytes of a flow that go first, 1B to 1GB",
            retunable: true,
        },
        Knob { key: "timeout", default: "10s", meaning: "silence after which a flow counts as new", retunable: true },
    ],
    cost: "O(1)",
    source: "Avrachenkov, Ayesta, Brown & Nyberg, INFOCOM 2004",
    build: |knobs, setup| {
        let Settings { threshold_bytes, timeout } = Settings::of(knobs)?;
        let policy = Run2c::new(threshold_bytes, timeout);
        Ok(Box::new(Queued::new(policy, setup.resources, setup.limits)))
    },
    caution: NO_CAUTION,
};

struct Settings {
    threshold_bytes: u64,
    timeout: Nanos,
}

impl Settings {
    fn of(knobs: &Knobs<'_>) -> Result<Self, PolicyError> {
        Ok(Self { threshold_bytes: knobs.bytes("threshold", 1, 1_000_000_000)?, timeout: knobs.time("timeout")? })
    }
}

/// Two queues, one strictly before the other.
#[derive(Debug)]
pub struct Run2c {
    threshold_bytes: u64,
    ages: Ages,
    // The flow of each queued packet, in order. A flow's oldest packet takes its first place; an eviction takes its youngest
    // packet with the last place of the low queue.
    high: VecDeque<FlowId>,
    low: VecDeque<FlowId>,
}

impl Run2c {
    /// The first `threshold_bytes` of a flow go first; a flow that was silent for `timeout` is new.
    #[must_use]
    pub fn new(threshold_bytes: u64, timeout: Nanos) -> Self {
        Self { threshold_bytes, ages: Ages::new(timeout), high: VecDeque::new(), low: VecDeque::new() }
    }
}

impl Policy for Run2c {
    #[inline]
    fn enqueued(&mut self, queues: &mut Queues, flow: FlowId, now: Nanos) {
        let came = self.ages.arrived(flow, queues.len(flow) == 1, now);
        self.ages.add(flow, queues.tail(flow).map_or(0, |tail| tail.bytes()));
        let line = if came < self.threshold_bytes { &mut self.high } else { &mut self.low };
        line.push_back(flow);
    }

    #[inline]
    fn dequeue(&mut self, queues: &mut Queues, _now: Nanos) -> Option<Dispatch> {
        let flow = self.high.pop_front().or_else(|| self.low.pop_front())?;
        Some(Dispatch::plain(queues.pop(flow)))
    }

    fn has_drop_rule(&self) -> bool {
        true
    }

    fn victim(&self, queues: &Queues, arriving: &Packet, now: Nanos) -> Option<FlowId> {
        let is_high = self.ages.before_arrival(queues, arriving.flow, now) < self.threshold_bytes;
        if is_high { self.low.back().copied() } else { None }
    }

    fn evicted(&mut self, _queues: &mut Queues, lost: &Packet, _end: Evicted) {
        let flow = lost.flow;
        let youngest = self.low.pop_back();
        debug_assert_eq!(youngest, Some(flow));
    }

    fn discarded(&mut self, queues: &mut Queues, lost: &Packet) {
        if queues.is_empty(lost.flow) {
            self.high.retain(|&flow| flow != lost.flow);
            self.low.retain(|&flow| flow != lost.flow);
        }
    }

    fn retune(&mut self, _queues: &mut Queues, knobs: &Knobs<'_>, _now: Nanos) -> Result<(), PolicyError> {
        knobs.of(ENTRY.name)?;
        let Settings { threshold_bytes, timeout } = Settings::of(knobs)?;
        self.threshold_bytes = threshold_bytes;
        self.ages.set_timeout(timeout);
        Ok(())
    }

    fn forget(&mut self, flow: FlowId) {
        self.ages.forget(flow);
    }
}
