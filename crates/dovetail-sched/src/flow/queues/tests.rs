//! The queues, against plain ones.

use alloc::collections::VecDeque;

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Op {
    Push { flow: u32, bytes: u32, times: [u64; 3] },
    Pop { flow: u32, youngest: bool },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let bytes = || prop_oneof![Just(1), Just(u32::MAX), any::<u32>()];
    let time = || prop_oneof![20 => 0u64..1000, 1 => Just(u64::from(u32::MAX)), 1 => Just(1 << 32), 1 => any::<u64>()];
    let op = prop_oneof![
        3 => (0u32..3, bytes(), [time(), time(), time()])
            .prop_map(|(flow, bytes, times)| Op::Push { flow, bytes, times }),
        2 => (0u32..3, any::<bool>()).prop_map(|(flow, youngest)| Op::Pop { flow, youngest }),
    ];
    prop::collection::vec(op, 1..200)
}

proptest! {
    /// Packets of any length and time, more than 2^32 bytes in a queue, against plain queues.
    #[test]
    fn what_waits_is_as_it_came(ops in ops(), resources in 1usize..=3) {
        let limits = Limits { packets: Some(1000), on_full: DropPolicy::Longest, ..Limits::UNLIMITED };
        let mut queues = Queues::new(resources, limits);
        let mut model: [VecDeque<Packet>; 3] = Default::default();
        for (handle, op) in (0..).zip(ops) {
            match op {
                Op::Push { flow, bytes, times } => {
                    let demand = Demand::new(&times.map(Nanos)[..resources]).expect("1 to 3");
                    let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos(handle * 3), handle, demand };
                    prop_assert_eq!(queues.admit(&packet), Ok(()));
                    queues.push(&packet);
                    queues.tag_tail(FlowId(flow), handle);
                    model[flow as usize].push_back(packet);
                }
                Op::Pop { flow, youngest } if !model[flow as usize].is_empty() => {
                    let known = &mut model[flow as usize];
                    let (packet, expected) = if youngest {
                        (queues.pop_tail(FlowId(flow)), known.pop_back())
                    } else {
                        (queues.pop(FlowId(flow)), known.pop_front())
                    };
                    prop_assert_eq!(Some(packet), expected);
                }
                Op::Pop { .. } => {}
            }
            let mut longest = None;
            for (flow, known) in (0..).map(FlowId).zip(&model) {
                let bytes: u64 = known.iter().map(|packet| u64::from(packet.bytes)).sum();
                prop_assert_eq!(queues.flow_backlog(flow), Backlog { packets: known.len() as u64, bytes });
                if !known.is_empty() && longest.is_none_or(|(most, _)| bytes > most) {
                    longest = Some((bytes, flow));
                }
                let mut waiting = queues.head(flow);
                for packet in known {
                    let Some(found) = waiting else { panic!("a packet is missing") };
                    prop_assert_eq!((found.bytes(), found.arrival()), (packet.bytes, packet.arrival));
                    prop_assert_eq!((found.demand(), found.tag()), (packet.demand, packet.handle));
                    let times: Vec<Nanos> = (0..resources).map(|resource| found.time(resource)).collect();
                    prop_assert_eq!(&times, packet.demand.times());
                    waiting = found.next();
                }
                prop_assert!(waiting.is_none());
            }
            prop_assert_eq!(queues.longest(), longest.map(|(_, flow)| flow));
        }
    }
}

#[test]
fn a_queue_takes_a_quarter_of_a_cache_line_and_a_packet_half_of_one() {
    assert_eq!((size_of::<Flow>(), size_of::<Node>()), (16, 32));
}
