//! Random events through C and directly give the same results: request schedulers, for all policies, and the far queue.

use dovetail_sched::{Nanos, request::FarDelay};
use proptest::prelude::*;

use crate::both_requests::{CLASSES, Event, IDS, USERS, play, policies};

fn event() -> impl Strategy<Value = Event> {
    let units = 0u64..60_000;
    // One more of each than there are, as a careless caller might use.
    let (ids, users, classes) = (0..IDS + 1, 0..USERS + 1, 0..CLASSES + 1);
    let far = (0u64..400_000_000, prop::option::of(0u64..400_000_000));
    prop_oneof![
        8 => (0u64..200_000_000).prop_map(Event::Wait),
        2 => (classes.clone(), 0.1f64..9.0).prop_map(|(class, weight)| Event::Class(class, weight)),
        4 => (users.clone(), classes.clone()).prop_map(|(user, class)| Event::User(user, class)),
        1 => users.clone().prop_map(Event::Forget),
        1 => (1e3f64..1e7).prop_map(Event::Rate),
        1 => (classes.clone(), prop::option::of(1e3f64..1e6)).prop_map(|(class, rate)| Event::Cap(class, rate)),
        10 => (ids.clone(), users, prop::option::of(units.clone())).prop_map(|(id, user, length)| Event::Enqueue(id, user, length)),
        3 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Length(id, units)),
        10 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Received(id, units)),
        4 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Unread(id, units)),
        2 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Offers(id, units)),
        2 => (ids.clone(), units.clone()).prop_map(|(id, ns)| Event::RoundTrip(id, ns)),
        2 => (ids.clone(), units.clone()).prop_map(|(id, units)| Event::Distance(id, units * 20_000)),
        6 => ids.clone().prop_map(Event::Ready),
        5 => ids.clone().prop_map(Event::Ended),
        2 => ids.prop_map(Event::Cancel),
        1 => any::<bool>().prop_map(Event::Uplink),
        1 => (prop::option::of(classes), units).prop_map(|(class, units)| Event::Stray(class, units)),
        2 => Just(Event::Probe),
        2 => (0u64..20).prop_map(Event::Back),
        1 => Just(Event::AnotherPath),
        2 => prop::option::of(far).prop_map(|far| Event::Far(far.map(|(delay, room)| {
            FarDelay { delay: Nanos(delay), room: room.map(Nanos) }
        }))),
        1 => (0usize..8).prop_map(Event::Retune),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn random_events_have_the_same_answers(events in prop::collection::vec(event(), 1..250)) {
        let policies = policies();
        for policy in &policies {
            play(policy, &events, &policies);
        }
    }
}
