//! The resources of a node.

use alloc::vec::Vec;
use core::fmt;

use super::{
    amount::{Amount, AmountError},
    amounts::Amounts,
    mismatch::Mismatch,
};

/// A resource, such as a processor or a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    capacity_per_s: Amount,
    target: Amount,
}

impl Resource {
    /// A resource with a capacity of `capacity_per_s` units per second (R), of which the fraction `target` (mu) may be
    /// reserved.
    ///
    /// # Errors
    /// [`NodeError`] for a capacity that is not over 0 and at most 10^18, and for a target that is not over 0 and at most 1;
    /// both are rounded to a billionth.
    pub fn new(capacity_per_s: f64, target: f64) -> Result<Self, NodeError> {
        let capacity_per_s = Amount::new(capacity_per_s).map_err(NodeError::Capacity)?;
        if capacity_per_s == Amount::ZERO {
            return Err(NodeError::Capacity(AmountError::TooSmall));
        }
        match Amount::new(target) {
            Ok(target) if target > Amount::ZERO && target <= Amount::ONE => Ok(Self { capacity_per_s, target }),
            _ => Err(NodeError::Target),
        }
    }

    /// R, in units a second.
    #[must_use]
    pub const fn capacity_per_s(&self) -> Amount {
        self.capacity_per_s
    }

    /// mu, over 0 and at most 1.
    #[must_use]
    pub const fn target(&self) -> Amount {
        self.target
    }

    /// mu R: the largest total rate that may be reserved, in units per second.
    #[must_use]
    pub const fn reservable_per_s(&self) -> Amount {
        self.capacity_per_s.part(self.target)
    }
}

/// Limits of flows without a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestEffort {
    /// The maximum number of such flows.
    pub most_flows: u32,
    /// The maximum number of packets queued for one such flow.
    pub queue_packets: u32,
    /// The costliest packets that such flows send. Reserved flows may have to wait for one, so they enter the delay bounds; if
    /// this is empty, the bounds hold only as long as no best-effort packet is costlier than the costliest reserved one.
    pub packets: Vec<Amounts>,
}

/// No limits.
impl Default for BestEffort {
    fn default() -> Self {
        Self { most_flows: u32::MAX, queue_packets: u32::MAX, packets: Vec::new() }
    }
}

/// Resources in pipeline order, and the limits of best-effort flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    resources: Vec<Resource>,
    capacity_per_s: Amounts,
    reservable_per_s: Amounts,
    best_effort: BestEffort,
}

impl Node {
    /// Creates a node with these resources.
    ///
    /// # Errors
    /// [`NodeError`] for none, for more than [`MAX_RESOURCES`](crate::MAX_RESOURCES), and for best-effort packets with another
    /// number of resources.
    pub fn new(resources: &[Resource], best_effort: BestEffort) -> Result<Self, NodeError> {
        let amounts = |of: fn(&Resource) -> Amount| {
            let amounts: Vec<_> = resources.iter().map(of).collect();
            Amounts::from_amounts(&amounts).map_err(|_| NodeError::Resources(resources.len()))
        };
        let node = Self {
            capacity_per_s: amounts(Resource::capacity_per_s)?,
            reservable_per_s: amounts(Resource::reservable_per_s)?,
            resources: resources.to_vec(),
            best_effort,
        };
        let other = node.best_effort.packets.iter().map(Amounts::resources).find(|&given| given != resources.len());
        match other {
            Some(given) => Err(NodeError::Packets(Mismatch { given, node: resources.len() })),
            None => Ok(node),
        }
    }

    /// The resources.
    #[must_use]
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The limits of best-effort flows.
    #[must_use]
    pub const fn best_effort(&self) -> &BestEffort {
        &self.best_effort
    }

    pub(super) const fn capacity_per_s(&self) -> &Amounts {
        &self.capacity_per_s
    }

    pub(super) const fn reservable_per_s(&self) -> &Amounts {
        &self.reservable_per_s
    }
}

/// Why a node cannot exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeError {
    /// The capacity is not a valid amount, or it is 0.
    Capacity(AmountError),
    /// The target is not over 0 and at most 1.
    Target,
    /// The wrong number of resources: not 1 to [`MAX_RESOURCES`](crate::MAX_RESOURCES).
    Resources(usize),
    /// Best-effort packets have another number of resources.
    Packets(Mismatch),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(AmountError::TooSmall) => f.write_str("a capacity is over 0, from 1e-9 on"),
            Self::Capacity(error) => write!(f, "capacity: {error}"),
            Self::Target => f.write_str("a target utilisation is over 0 and at most 1"),
            Self::Resources(given) => AmountError::Resources(*given).fmt(f),
            Self::Packets(mismatch) => write!(f, "best-effort packets: {mismatch}"),
        }
    }
}

impl core::error::Error for NodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_node_is_refused() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-10] {
            assert!(matches!(Resource::new(wrong, 0.5), Err(NodeError::Capacity(_))), "{wrong}");
            assert_eq!(Resource::new(1.0, wrong), Err(NodeError::Target), "{wrong}");
        }
        assert_eq!(Resource::new(1.0, 1.000_000_001), Err(NodeError::Target));
        let resource = Resource::new(1000.0, 0.95).expect("a resource");
        assert_eq!(Node::new(&[], BestEffort::default()), Err(NodeError::Resources(0)));
        assert_eq!(Node::new(&[resource; 9], BestEffort::default()), Err(NodeError::Resources(9)));
        let packets = alloc::vec![Amounts::new(&[1.0; 3]).expect("amounts")];
        let wrong = Node::new(&[resource; 2], BestEffort { packets, ..BestEffort::default() });
        assert_eq!(wrong, Err(NodeError::Packets(Mismatch { given: 3, node: 2 })));
    }
}
