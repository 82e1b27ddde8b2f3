//! Segments that no honest peer sends: nothing panics, and memory is bounded by windows.

mod driver;

use dovetail_sched::Nanos;
use dovetail_tcp::{Blocks, Config, Congestion, Connection, Ecn, Flags, Options, Segment};
use proptest::prelude::*;

use self::driver::{Step, drive};

/// Numbers near those in use, and arbitrary ones.
fn near(base: u32) -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => (-3_000i64..200_000).prop_map(move |off| base.wrapping_add(off as u32)),
        1 => any::<u32>(),
    ]
}

fn segments(theirs: u32, ours: u32) -> impl Strategy<Value = Segment> {
    let blocks = prop::collection::vec((near(ours), near(ours)), 0..5);
    let options = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<(u32, u32)>>(), blocks);
    let flags = prop_oneof![4 => Just(Flags::ACK), 1 => any::<u8>().prop_map(Flags)];
    let ecn = prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable), Just(Ecn::Marked)];
    let payload = prop_oneof![4 => 0u32..1500, 1 => any::<u32>()];
    (near(theirs), near(ours), any::<u16>(), flags, ecn, payload, options).prop_map(
        |(sequence, acknowledgement, window, flags, ecn, payload_bytes, options)| {
            let mut sack = Blocks::default();
            options.4.iter().for_each(|block| {
                sack.push(*block);
            });
            let options = Options {
                maximum_segment_size: options.0,
                window_scale: options.1,
                sack_permitted: options.2,
                timestamps: options.3,
                sack,
            };
            Segment { sequence, acknowledgement, window, flags, ecn, payload_bytes, options }
        },
    )
}

fn congestions() -> impl Strategy<Value = Congestion> {
    prop_oneof![Just(Congestion::Reno), Just(Congestion::Cubic), Just(Congestion::Bbr)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_and_memory_is_bounded(
        opens: bool,
        old: bool,
        knobs in any::<[bool; 4]>(),
        congestion in congestions(),
        steps in prop::collection::vec((segments(500, 100), 0u64..400_000_000, any::<u8>()), 1..80),
    ) {
        let preset = if old { Config::year_2005() } else { Config::linux() };
        let [ecn, timestamps, sack, pacing] = knobs;
        let config = Config { ecn, timestamps, sack, pacing, congestion, ..preset };
        let steps = steps.into_iter().map(|(segment, later, does)| Step { segment, later: Nanos(later), does });
        drive(&config, opens, steps);
    }

    /// The first segment is a SYN with arbitrary options, followed by data.
    #[test]
    fn whatever_is_offered_a_connection_comes_of_it(
        offer in segments(500, 100),
        congestion in congestions(),
        steps in prop::collection::vec((segments(501, 101), 0u64..400_000_000), 1..60),
    ) {
        let config = Config { ecn: true, timestamps: true, congestion, ..Config::linux() };
        let mut end = Connection::listen(&config, 100);
        let syn = Segment { sequence: 500, flags: Flags::SYN | Flags::ECE | Flags::CWR, payload_bytes: 0, ..offer };
        end.receive(&syn, Nanos::ZERO);
        prop_assert!(end.poll_transmit(Nanos::ZERO).is_some_and(|answer| answer.flags.has(Flags::SYN | Flags::ACK)));
        let mut now = Nanos::ZERO;
        for (segment, later) in steps {
            now += Nanos(later);
            end.write(5_000);
            end.receive(&segment, now);
            end.read(700, now);
            let mut sent = 0;
            while end.poll_transmit(now).is_some() {
                sent += 1;
                prop_assert!(sent < 100_000, "an end that never stops sending");
            }
        }
    }
}
