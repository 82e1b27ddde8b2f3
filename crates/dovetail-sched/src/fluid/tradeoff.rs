//! The fluid between fairness and efficiency, in two forms.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT 2014,
//! section 3. A flow's head-of-line packet is served on all resources at once, at the same progress on each. Let `a_ir` be its
//! normalised time on resource `r` ([`Direction`](super::Direction)), `w_i` the flow's weight and `d_i` its *dominant share*,
//! the part that it gets of its dominant resource. All shares fit if `sum of a_ir d_i <= 1` on every resource. The largest
//! possible equal shares per weight are `d = 1 / max_r sum of w_i a_ir` (eq. 16): that is dominant resource GPS, and it leaves
//! resources idle that only flows with their full share need. So every backlogged flow is guaranteed the fraction alpha of it,
//! and the rest goes where it raises utilisation most (eq. 19):
//!
//! ```text
//! maximise  sum of d_i     where  sum of a_ir d_i <= 1 for every r,   d_i >= alpha w_i d
//! ```
//!
//! alpha = 1 is DRGPS and alpha = 0 is greedy, which has the smallest makespan under mild conditions (theorem 2). A flow's
//! share beyond its guarantee is its *bonus*; at most as many flows are *favoured* with one as there are resources. Which flows
//! these are changes when a flow gets another head-of-line packet, arrives or leaves.
//!
//! `Direct` tracks the remaining work of every flow, O(n) per event (section 5.2). [`VirtualTime`] does so only for the
//! favoured flows, and tracks all others by one virtual time, O(log n) per event (section 5.3). The first exists to test the
//! second, behind the feature `oracle`. Both count in whole grains of 2^-16 ns, and they agree to the last bit as long as no
//! packet takes minutes.
//!
//! What the paper leaves open:
//!
//! - **Ties.** Flows whose head-of-line packets have the same direction are indistinguishable to (19). They take turns: a turn
//!   lasts until the flow's packet is done, or the direction is no longer favoured, and the next goes to the flow that has
//!   received the least bonus per unit of weight. See [turns](super::turns).
//! - **More than two resources.** The linear program is solved as such ([`Simplex`](super::Simplex)).
//! - **Weights.** As above: the guarantee is by weight, and a bonus goes where it raises utilisation most.

use crate::{Demand, FlowId, MAX_RESOURCES, Nanos};

use super::Alpha;

/// The source of a fluid's packets.
pub trait Supply {
    /// Identifies a packet that has started.
    type Packet: Copy;

    /// Starts the flow's next packet in the fluid at `at` (rounded down). `None` if the flow has none.
    fn start_next(&mut self, flow: FlowId, at: Nanos) -> Option<Self::Packet>;

    /// The time that the packet, which has only just started, needs on each resource.
    fn demand(&self, packet: Self::Packet) -> Demand;

    /// The time on the first two resources; the second is 0 if there is none.
    #[inline]
    fn first_two(&self, packet: Self::Packet) -> [Nanos; 2] {
        self.demand(packet).first_two()
    }

    /// A hint that a packet of the flow will start soon: load the flow's state or, later and with `packet`, that packet.
    /// Changes nothing.
    #[inline]
    fn expect(&self, _flow: FlowId, _packet: bool) {}
}

/// A fluid served at alpha. Calls must be in order of time.
pub trait Fluid: core::fmt::Debug + Send {
    /// Creates an idle fluid over `resources` resources, 1 to [`MAX_RESOURCES`].
    fn new(resources: usize, alpha: Alpha) -> Self;

    /// Restarts the clock at `now`. The fluid must be idle.
    fn restart(&mut self, now: Nanos);

    /// If a packet is done by `until`: serves up to its end, starts the flow's next packet, and returns true. Otherwise changes
    /// nothing.
    fn step(&mut self, until: Nanos, supply: &mut impl Supply) -> bool;

    /// Steps until no more packets are done by `until`.
    #[inline]
    fn serve(&mut self, until: Nanos, supply: &mut impl Supply) {
        while self.step(until, supply) {}
    }

    /// Starts a packet of a flow that is not served yet, at `now`; everything done by then must have been stepped over. Packets
    /// that need nothing are done at once.
    fn arrive(&mut self, flow: FlowId, weight: f64, now: Nanos, supply: &mut impl Supply);

    /// The flow's packet leaves unfinished, and its next one starts.
    fn cut_short(&mut self, flow: FlowId, supply: &mut impl Supply);

    /// Serves all flows until `now`; everything done by then must have been stepped over.
    fn pass_to(&mut self, now: Nanos);

    /// Changes the flow's weight, from the time of the fluid's clock on.
    fn reweigh(&mut self, flow: FlowId, weight: f64);

    /// Removes the flow and all its state.
    fn forget(&mut self, flow: FlowId);

    /// Changes alpha, from the time of the fluid's clock on.
    fn set_alpha(&mut self, alpha: Alpha);

    /// When the next packet will be done if nothing happens before, rounded up to a whole nanosecond; as of the last
    /// [`step`](Self::step) that returned false.
    fn next_departure(&self) -> Option<Nanos>;

    /// Whether the fluid serves a packet of the flow.
    fn serves(&self, flow: FlowId) -> bool;

    /// The flow's current dominant share: guarantee and bonus. 0 for a flow that is not served.
    fn share(&mut self, flow: FlowId) -> f64;

    /// The time of the last event, or until which it has [passed](Self::pass_to) since, in nanoseconds.
    fn clock(&self) -> f64;

    /// The number of flows that the fluid serves.
    fn flows(&self) -> usize;

    /// The current alpha.
    fn alpha(&self) -> Alpha;

    /// The sum over the served flows of weight times normalised time, for each resource.
    fn totals(&self) -> [f64; MAX_RESOURCES];
}
