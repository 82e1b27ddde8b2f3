//! Random calls through C and directly give the same results: the window that a connection offers.

use dovetail_sched::{Nanos, request::Offer};
use proptest::prelude::*;

use crate::through_c;

#[derive(Debug, Clone)]
enum Call {
    Establish(Option<Nanos>),
    DrawsNear(Nanos),
    Turn(u64),
}

fn call() -> impl Strategy<Value = Call> {
    let trip = || (0u64..900).prop_map(Nanos::from_millis);
    prop_oneof![
        1 => prop::option::of(trip()).prop_map(Call::Establish),
        1 => trip().prop_map(Call::DrawsNear),
        3 => (0u64..60_000).prop_map(Call::Turn),
    ]
}

proptest! {
    #[test]
    fn random_calls_have_the_same_answers(
        first in 1u64..20_000,
        longest in 20_000u64..50_000,
        begins in prop_oneof![4 => 0u64..30_000, 1 => Just(u64::MAX)],
        calls in prop::collection::vec(call(), 1..30),
    ) {
        let mut ours = if begins == u64::MAX { Offer::UNLIMITED } else { Offer::new(first, longest, begins) };
        let mut theirs = through_c::Offer::new(first, longest, begins);
        for call in calls {
            let wider = match call {
                Call::Establish(trip) => [ours.establish(trip), theirs.establish(trip)],
                Call::DrawsNear(least) => {
                    ours.draws_near(least);
                    theirs.draws_near(least);
                    [None; 2]
                }
                Call::Turn(window) => [ours.wider(window), theirs.wider(window)],
            };
            prop_assert_eq!(wider[0], wider[1]);
            if let Some(window) = wider[0] {
                ours.offers(window);
                theirs.offers(window);
            }
            prop_assert_eq!(ours.bytes(), theirs.bytes());
            prop_assert_eq!(ours.farthest(), theirs.farthest());
            prop_assert_eq!(ours.is_grown(), theirs.is_grown());
        }
    }
}
