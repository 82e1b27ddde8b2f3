//! The fluid between fairness and efficiency, in two forms.
//!
//! Wang, Feng, Li and Liang, *On the fairness-efficiency tradeoff for packet processing with multiple resources*, CoNEXT
//! 2014, section 3. A flow's head-of-line packet is served on all resources at once, at the same progress on each. Let
//! `a_ir` be its normalised time on resource `r` ([`Direction`](super::Direction)), `w_i` the flow's weight and `d_i`
//! its *dominant share*, the part that it is given of its dominant resource. All shares fit if `sum of a_ir d_i <= 1`
//! on every resource. Equal shares per weight are as large as `d = 1 / max_r sum of w_i a_ir` (eq. 16): that is
//! dominant resource GPS, and it leaves resources idle whose users have had their share. So every backlogged flow is
//! guaranteed the fraction alpha of it, and the rest goes where it raises utilisation most (eq. 19):
//!
//! ```text
//! maximise  sum of d_i     where  sum of a_ir d_i <= 1 for every r,   d_i >= alpha w_i d
//! ```
//!
//! alpha = 1 is DRGPS and alpha = 0 is greedy, which has the smallest makespan under mild conditions (theorem 2). What
//! a flow gets beyond its guarantee is its *bonus*; at most as many flows are *favoured* with one as there are
//! resources. Which flows these are changes when a flow gets another head-of-line packet, arrives or leaves.
//!
//! `Direct` tracks the remaining work of every flow, O(n) an event (section 5.2). [`VirtualTime`] does so only for
//! the favoured flows, and tracks all others by one virtual time, O(log n) an event (section 5.3). The first is there to
//! test the second, behind the feature `oracle`. Their numbers are whole grains of 2^-16 ns, and they agree to the last
//! bit as long as no packet takes minutes.
//!
//! What the paper leaves open:
//!
//! - **Ties.** Flows whose head-of-line packets have the same direction are indistinguishable to (19). They take turns:
//!   a turn lasts until the flow's packet is done, or the direction is no longer favoured, and the next goes to the
//!   flow that has received the least bonus per unit of weight. See [turns](super::turns).
//! - **More than two resources.** The linear program is solved as such ([`Simplex`](super::Simplex)).
//! - **Weights.** As above: the guarantee is by weight, and a bonus goes where it raises utilisation most.

use crate::{Demand, FlowId, MAX_RESOURCES, Nanos};

use super::Alpha;

/// Where a fluid gets packets from.
pub trait Supply {
    /// What names a packet that has started.
    type Packet: Copy;

    /// The flow's next packet starts in the fluid at `at` (rounded down). `None` if the flow has none.
    fn start_next(&mut self, flow: FlowId, at: Nanos) -> Option<Self::Packet>;

    /// The time that the packet, which has only just started, needs on each resource.
    fn demand(&self, packet: Self::Packet) -> Demand;

    /// Of the first two resources; the second is 0 where there is none.
    #[inline]
    fn first_two(&self, packet: Self::Packet) -> [Nanos; 2] {
        self.demand(packet).first_two()
    }

    /// A packet of the flow is going to start soon: a hint to load what is known of the flow, or, later and with `packet`,
    /// that packet. Changes nothing.
    #[inline]
    fn expect(&self, _flow: FlowId, _packet: bool) {}
}

/// A fluid served at alpha. Calls are in order of time.
pub trait Fluid: core::fmt::Debug + Send {
    /// An idle fluid over `resources` resources, 1 to [`MAX_RESOURCES`].
    fn new(resources: usize, alpha: Alpha) -> Self;

    /// Starts the clock afresh at `now`. The fluid is idle.
    fn restart(&mut self, now: Nanos);

    /// If a packet is done by `until`: serves up to there, starts the flow's next packet, and is true. Otherwise nothing
    /// changes.
    fn step(&mut self, until: Nanos, supply: &mut impl Supply) -> bool;

    /// Steps until then.
    #[inline]
    fn serve(&mut self, until: Nanos, supply: &mut impl Supply) {
        while self.step(until, supply) {}
    }

    /// A packet of the flow, which the fluid has nothing of, starts at `now`; all that is done by then has been stepped
    /// over. Packets that need nothing are done at once.
    fn arrive(&mut self, flow: FlowId, weight: f64, now: Nanos, supply: &mut impl Supply);

    /// The packet of the flow that is served leaves half done, and the next starts.
    fn cut_short(&mut self, flow: FlowId, supply: &mut impl Supply);

    /// The flow has another weight from the last event on.
    fn reweigh(&mut self, flow: FlowId, weight: f64);

    /// The flow leaves with all that is known of it.
    fn forget(&mut self, flow: FlowId);

    /// Turns the knob from the last event on.
    fn set_alpha(&mut self, alpha: Alpha);

    /// When the next packet will be done if nothing happens before, rounded up to a whole nanosecond; as of the last
    /// [`step`](Self::step) that was false.
    fn next_departure(&self) -> Option<Nanos>;

    /// Whether the fluid serves a packet of the flow.
    fn serves(&self, flow: FlowId) -> bool;

    /// The dominant share that the flow is given now: guarantee and bonus. 0 for a flow that is not served.
    fn share(&mut self, flow: FlowId) -> f64;

    /// The time of the last event, in nanoseconds.
    fn clock(&self) -> f64;

    /// How many flows the fluid serves.
    fn flows(&self) -> usize;

    /// The knob.
    fn alpha(&self) -> Alpha;

    /// Sum over the served flows of weight times normalised time, for each resource.
    fn totals(&self) -> [f64; MAX_RESOURCES];
}
