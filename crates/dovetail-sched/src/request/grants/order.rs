//! Which of a class's requests goes first.
//!
//! A candidate's [`Rank`] is a key in units, then a number in order of arrival. It changes only with events of the request
//! itself, since waiting requests age alike ([`age`](super::age)).

use super::response::Response;
use crate::{PolicyError, entry::Knobs};

/// The order within a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Shortest remaining first, as far as lengths are known.
    ShortestRemaining,
    /// Least attained first.
    LeastAttained,
    /// The first units of every response before all others, in order of arrival; the rest in turn.
    FirstUnits { units: u64 },
    /// All in turn.
    InTurn,
}

/// A candidate's rank: the least goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Rank {
    pub(super) key: u64,
    pub(super) number: u64,
    // Units until the response's end, as far as known. Numbers differ, so this never decides.
    pub(super) left: u64,
}

impl Rank {
    /// The rank as if the request were larger by `units`.
    pub(super) const fn later(self, units: u64) -> Self {
        Self { key: self.key.saturating_add(units), ..self }
    }
}

impl Order {
    pub(super) fn read(knobs: &Knobs<'_>) -> Result<Self, PolicyError> {
        let units = knobs.bytes("first", 0, 1_000_000_000)?;
        match knobs.text("order") {
            "srpt" => Ok(Self::ShortestRemaining),
            "las" => Ok(Self::LeastAttained),
            "first" => Ok(Self::FirstUnits { units }),
            "fair" => Ok(Self::InTurn),
            _ => Err(knobs.wrong("order", format_args!("srpt, las, first or fair"))),
        }
    }

    /// The candidate's rank; overdue ones come before all others. `presumed` is the size of a response of which nothing is
    /// known.
    pub(super) fn rank(self, response: &Response, presumed: u64) -> Rank {
        let left = response.left(presumed);
        let (key, number) = match self {
            _ if response.overdue => (0, response.served),
            Self::ShortestRemaining => (left.saturating_add(response.age), response.number),
            Self::LeastAttained => (response.granted.saturating_add(response.age), response.number),
            Self::FirstUnits { units } if response.granted < units => (0, response.number),
            Self::FirstUnits { .. } => (1, response.served),
            Self::InTurn => (0, response.served),
        };
        Rank { key, number, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(age: u64, total: Option<u64>) -> Response {
        Response { age, total, ..Response::default() }
    }

    #[test]
    fn a_long_response_that_has_waited_goes_before_a_short_one() {
        let rank = |age, total| Order::ShortestRemaining.rank(&waiting(age, total), 5000);
        assert!(rank(0, Some(100_000)) > rank(90_000, Some(9_000)));
        assert!(rank(0, Some(100_000)) < rank(92_000, Some(9_000)));
        // 5,000 units are expected of a response of which nothing is known.
        assert_eq!(rank(0, None).key, rank(0, Some(5_000)).key);
    }

    #[test]
    fn what_is_left_counts_where_it_is_known_and_what_was_had_where_it_is_not() {
        let of = |total| Response { granted: 30_000, window: 10_000, total, ..Response::default() };
        let rank = |order: Order, total| order.rank(&of(total), 5000).key;
        let shortest = Order::ShortestRemaining;
        assert_eq!([rank(shortest, Some(50_000)), rank(shortest, None)], [10_000, 30_000]);
        assert_eq!(rank(Order::LeastAttained, Some(50_000)), 30_000);
        assert_eq!(rank(Order::FirstUnits { units: 30_001 }, None), 0);
        assert_eq!(rank(Order::FirstUnits { units: 30_000 }, None), 1);
    }

    #[test]
    fn ages_at_the_end_of_time_do_not_overflow() {
        assert_eq!(Order::ShortestRemaining.rank(&waiting(u64::MAX, Some(u64::MAX)), 0).key, u64::MAX);
    }
}
