use super::{super::testing::*, *};
use proptest::prelude::*;
use std::collections::HashMap;

fn near(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-9 * want.abs().max(1.0), "{got}, not {want}");
}

proptest! {
    #[test]
    fn counts_and_moments_are_those_of_the_packets(packets in prop::collection::vec(packet(), 1..200)) {
        let mut monitoring = Monitoring::new(1 << 14, [3; 16]);
        let mut sizes: HashMap<_, Vec<f64>> = HashMap::new();
        for packet in &packets {
            let mut frame = packet.frame();
            prop_assert_eq!(monitoring.process(&mut frame), Verdict::Forward);
            prop_assert_eq!(&frame, &packet.frame());
            let (source_port, destination_port) = packet.ports();
            let (protocol, source, destination) = (packet.protocol(), packet.source(), packet.destination());
            let tuple = FiveTuple { protocol, source, destination, source_port, destination_port };
            sizes.entry(tuple).or_default().push(frame.len() as f64);
        }
        prop_assert_eq!(monitoring.flows().count(), sizes.len());
        for (tuple, sizes) in sizes {
            let flow = monitoring.flow(&tuple).expect("a flow that was seen");
            let n = sizes.len() as f64;
            let mean = sizes.iter().sum::<f64>() / n;
            prop_assert_eq!(flow.packets, sizes.len() as u64);
            near(flow.bytes as f64, sizes.iter().sum());
            near(flow.mean(), mean);
            near(flow.variance(), sizes.iter().map(|size| (size - mean).powi(2)).sum::<f64>() / n);
            let mut below = 0.0;
            for (&end, &count) in BINS.iter().chain([&u32::MAX]).zip(&flow.sizes) {
                let within = |&&size: &&f64| size > below && size <= f64::from(end);
                prop_assert_eq!(count, sizes.iter().filter(within).count() as u64);
                below = f64::from(end);
            }
        }
    }
}

#[test]
fn a_flood_of_flows_stays_within_bounds_and_in_the_totals() {
    let mut monitoring = Monitoring::new(64, [0; 16]);
    let mut bytes = 0;
    for number in 0..10_000u32 {
        let mut frame = Packet::udp(b"flood").frame();
        frame[26..30].copy_from_slice(&number.to_be_bytes());
        bytes += frame.len() as u64;
        monitoring.process(&mut frame);
    }
    monitoring.process(&mut vec![0; 30]);
    assert!(monitoring.flows().count() <= 64);
    let known = monitoring.flows().fold(Totals::default(), |mut sum, flow| {
        sum.add(flow);
        sum
    });
    let forgotten = monitoring.forgotten();
    assert_eq!(known.packets + forgotten.packets, 10_000);
    assert_eq!(known.flows + forgotten.flows, 10_000);
    assert_eq!(known.bytes + forgotten.bytes, bytes);
    assert_eq!(monitoring.others(), Totals { flows: 0, packets: 1, bytes: 30 });
    // A flow that sends all the time is not evicted for flows of a single packet.
    let mut monitoring = Monitoring::new(8, [0; 16]);
    for number in 0..1000u32 {
        monitoring.process(&mut Packet::udp(b"steady").frame());
        let mut frame = Packet::udp(b"once").frame();
        frame[26..30].copy_from_slice(&number.to_be_bytes());
        monitoring.process(&mut frame);
    }
    assert_eq!(monitoring.flows().map(|flow| flow.packets).max(), Some(1000));
}
