//! The delay bound of a flow, by two formulas.
//!
//! Each is the flow's own term, at its reserved rates, plus the time that a packet of any flow ahead, which cannot be split,
//! takes at the node's full rates. The second term is the same for all flows, so admission control keeps only its maximum, in
//! the types of this file; [`separate`] and [`composite`] are the plain formulas. The [parent module](super) says when they
//! hold.

use core::{error::Error, fmt, str::FromStr};

use super::{amounts::Amounts, mismatch::Mismatch, node::Node, reservation::Reservation};
use crate::{MAX_RESOURCES, Nanos};

/// The formula that admission control uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Bound {
    /// Eq. 14: one scheduler for all resources. The paper's admission criterion, but not a bound for all traffic.
    #[default]
    Composite,
    /// Eq. 13: a fair queueing scheduler for each resource.
    Separate,
}

impl Bound {
    /// The number of the equation in the paper.
    #[must_use]
    pub const fn equation(self) -> u8 {
        match self {
            Self::Composite => 14,
            Self::Separate => 13,
        }
    }

    /// The flow's own term.
    pub(super) fn own(self, flow: &Reservation) -> Nanos {
        Block::of(flow.packets(), flow.rate_per_s()).term(self)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Composite => "composite",
            Self::Separate => "separate",
        })
    }
}

impl FromStr for Bound {
    type Err = UnknownBound;
    fn from_str(text: &str) -> Result<Self, UnknownBound> {
        match text {
            "composite" => Ok(Self::Composite),
            "separate" => Ok(Self::Separate),
            _ => Err(UnknownBound),
        }
    }
}

/// A name that belongs to neither formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownBound;

impl fmt::Display for UnknownBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bound is composite or separate")
    }
}

impl Error for UnknownBound {}

/// Eq. 13: the delay of `flow` among `others` when each resource has its own fair queueing scheduler. It makes no difference
/// whether `others` includes the flow itself. Each quotient is rounded up to a whole nanosecond; sums saturate. O(m) for each
/// kind of packet of each flow.
///
/// # Errors
/// [`Mismatch`] if a flow has another number of resources than the node.
pub fn separate<'a>(
    node: &Node,
    flow: &Reservation,
    others: impl IntoIterator<Item = &'a Reservation>,
) -> Result<Nanos, Mismatch> {
    bound(Bound::Separate, node, flow, others)
}

/// Eq. 14: the delay of `flow` among `others` when one scheduler orders packets for all resources. Not a bound: under some
/// traffic packets wait longer. Otherwise the same as [`separate`].
///
/// # Errors
/// [`Mismatch`] if a flow has another number of resources than the node.
pub fn composite<'a>(
    node: &Node,
    flow: &Reservation,
    others: impl IntoIterator<Item = &'a Reservation>,
) -> Result<Nanos, Mismatch> {
    bound(Bound::Composite, node, flow, others)
}

fn bound<'a>(
    by: Bound,
    node: &Node,
    flow: &Reservation,
    others: impl IntoIterator<Item = &'a Reservation>,
) -> Result<Nanos, Mismatch> {
    let mut ahead = Block::of(&node.best_effort().packets, node.capacity_per_s());
    ahead = ahead.max(&Block::ahead(node, flow)?);
    for other in others {
        ahead = ahead.max(&Block::ahead(node, other)?);
    }
    Ok(by.own(flow) + ahead.term(by))
}

/// How long the costliest of a set of packets occupy the resources at given rates: each resource separately, and all in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Block {
    /// max_k P_kj / r_j, for each resource.
    pub(super) each: [Nanos; MAX_RESOURCES],
    /// max_k sum_j P_kj / r_j.
    pub(super) whole: Nanos,
}

impl Block {
    /// For these packets at these rates.
    pub(super) fn of(packets: &[Amounts], per_s: &Amounts) -> Self {
        let mut block = Self::default();
        for packet in packets {
            let mut whole = Nanos::ZERO;
            for (longest, (cost, &rate)) in block.each.iter_mut().zip(packet.as_slice().iter().zip(per_s.as_slice())) {
                let time = cost.time_at(rate);
                *longest = (*longest).max(time);
                whole += time;
            }
            block.whole = block.whole.max(whole);
        }
        block
    }

    /// For a flow's packets at the node's full rates: the time that other flows may have to wait for.
    pub(super) fn ahead(node: &Node, flow: &Reservation) -> Result<Self, Mismatch> {
        let (given, there) = (flow.rate_per_s().resources(), node.resources().len());
        if given == there {
            Ok(Self::of(flow.packets(), node.capacity_per_s()))
        } else {
            Err(Mismatch { given, node: there })
        }
    }

    pub(super) fn max(&self, other: &Self) -> Self {
        let mut most = *self;
        for (mine, &others) in most.each.iter_mut().zip(&other.each) {
            *mine = (*mine).max(others);
        }
        most.whole = most.whole.max(other.whole);
        most
    }

    /// The term of formula `by`.
    pub(super) fn term(&self, by: Bound) -> Nanos {
        match by {
            Bound::Composite => self.whole,
            Bound::Separate => self.each.iter().copied().sum(),
        }
    }
}
