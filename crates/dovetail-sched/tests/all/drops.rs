//! Which packets are dropped when the buffer is full, against plain queues.

use std::collections::VecDeque;

use crate::{memory::allocations, single::build};
use dovetail_sched::{Admission, Demand, DropPolicy, FlowId, Limits, Nanos, Packet, Scheduler};
use proptest::prelude::*;

proptest! {
    /// The flow with the most bytes loses its youngest packet, the flow of the lower id if two have equally many; an arriving
    /// packet of that flow is refused. A policy without its own rule behaves the same if its rule is configured.
    #[test]
    fn the_longest_queue_loses_its_youngest_packet(
        steps in prop::collection::vec(prop_oneof![
            4 => (0u32..5, 1u32..1600).prop_map(Some),
            1 => Just(None),
        ], 1..300),
        packets in 1u32..20,
        bytes in prop::option::of(1000u64..9000),
        on_full in prop::sample::select(&[DropPolicy::Longest, DropPolicy::Policy][..]),
    ) {
        let limits = Limits { packets: Some(packets), bytes, on_full, ..Limits::UNLIMITED };
        let mut scheduler = build("fifo", 1, limits, &[]);
        let mut plain = vec![VecDeque::<(u32, u64)>::new(); 5];
        let length = |queue: &VecDeque<(u32, u64)>| queue.iter().map(|&(bytes, _)| u64::from(bytes)).sum::<u64>();
        for (handle, step) in (0..).zip(steps) {
            let Some((flow, size)) = step else {
                let oldest = plain.iter_mut().filter(|queue| !queue.is_empty()).min_by_key(|queue| queue[0].1);
                let expected = oldest.and_then(VecDeque::pop_front).map(|(_, handle)| handle);
                prop_assert_eq!(scheduler.dequeue(Nanos(handle)).map(|out| out.packet.handle), expected);
                continue;
            };
            let mut lost = Vec::new();
            let mut taken = bytes.is_none_or(|most| u64::from(size) <= most);
            let full = |plain: &[VecDeque<(u32, u64)>]| {
                plain.iter().map(VecDeque::len).sum::<usize>() >= packets as usize
                    || bytes.is_some_and(|most| plain.iter().map(length).sum::<u64>() + u64::from(size) > most)
            };
            while taken && full(&plain) {
                let longest = (0..5).rev().max_by_key(|&at| length(&plain[at])).expect("five flows");
                taken = longest != flow as usize && !plain[longest].is_empty();
                if !taken {
                    break;
                }
                lost.extend(plain[longest].pop_back().map(|(_, handle)| handle));
            }
            if taken {
                plain[flow as usize].push_back((size, handle));
            }
            let demand = Demand::new(&[Nanos(1)]).expect("one resource");
            let packet = Packet { flow: FlowId(flow), bytes: size, arrival: Nanos(handle), handle, demand };
            let admission = scheduler.enqueue(&packet, Nanos(handle));
            prop_assert_eq!(admission.is_queued(), taken);
            let evicted: Vec<u64> = std::iter::from_fn(|| scheduler.poll_evicted()).map(|lost| lost.handle).collect();
            prop_assert_eq!(evicted, lost);
        }
    }
}

/// Nothing is evicted for a packet that the whole buffer could not hold.
#[test]
fn a_packet_longer_than_the_buffer_is_refused_and_evicts_nobody() {
    let demand = Demand::new(&[Nanos(1)]).expect("one resource");
    let packet = |flow, bytes, handle| Packet { flow: FlowId(flow), bytes, arrival: Nanos(handle), handle, demand };
    for entry in dovetail_sched::registry::REGISTRY {
        for on_full in [DropPolicy::Tail, DropPolicy::Head, DropPolicy::Longest, DropPolicy::Policy] {
            let limits = Limits { bytes: Some(5000), on_full, ..Limits::UNLIMITED };
            let mut scheduler = build(entry.name, 1, limits, &[]);
            for handle in 0..5 {
                assert_eq!(scheduler.enqueue(&packet(handle as u32, 1000, handle), Nanos(handle)), Admission::QUEUED);
            }
            let admission = scheduler.enqueue(&packet(0, 5001, 9), Nanos(9));
            assert!(!admission.is_queued(), "{}: {admission:?}", entry.name);
            assert_eq!(scheduler.poll_evicted(), None, "{}", entry.name);
            assert_eq!(scheduler.backlog().packets, 5, "{}", entry.name);
        }
    }
}

/// A buffer full of flows with one packet each, which keep losing it: a drop allocates nothing, and no flow is in the policy's
/// order twice.
#[test]
fn a_flow_that_loses_its_only_packet_costs_no_memory() {
    const FLOWS: u32 = 500;
    for policy in ["drr", "drr-sff", "mr3", "gmr3", "sfq", "drfq", "las"] {
        for on_full in [DropPolicy::Head, DropPolicy::Longest] {
            let limits = Limits { packets: Some(FLOWS), on_full, ..Limits::UNLIMITED };
            let mut scheduler = build(policy, 2, limits, &[]);
            let demand = Demand::of_two(Nanos(10), Nanos(10));
            let mut put = |flow: u32, bytes| {
                let packet = Packet { flow: FlowId(flow), bytes, arrival: Nanos::ZERO, handle: 0, demand };
                let _ = scheduler.enqueue(&packet, Nanos::ZERO);
                while scheduler.poll_evicted().is_some() {}
            };
            // With `Longest` the flows with even ids lose to those with odd ids, and the other way round.
            let mut round = |bytes: u32| {
                for flow in
                    (0..2 * FLOWS).filter(|flow| on_full == DropPolicy::Head || (flow + bytes).is_multiple_of(2))
                {
                    put(flow, 2000 - bytes);
                }
            };
            for bytes in 0..8 {
                round(bytes);
            }
            let before = allocations();
            for bytes in 8..16 {
                round(bytes);
            }
            assert_eq!(allocations() - before, 0, "{policy} allocates, {on_full}");
        }
    }
}

/// A flow whose only packet is replaced by a newer one again and again, as `Head` does, keeps its turn, without credit.
#[test]
fn drr_serves_a_flow_whose_packets_keep_being_replaced() {
    let limits = Limits { flow_packets: Some(1), on_full: DropPolicy::Head, ..Limits::UNLIMITED };
    let mut drr = build("drr:quantum=1000", 1, limits, &[]);
    let put = |drr: &mut dyn Scheduler, flow| {
        let demand = Demand::new(&[Nanos(1)]).expect("one resource");
        let packet = Packet { flow: FlowId(flow), bytes: 1000, arrival: Nanos::ZERO, handle: 0, demand };
        let _ = drr.enqueue(&packet, Nanos::ZERO);
        while drr.poll_evicted().is_some() {}
    };
    for flow in 0..4 {
        put(&mut *drr, flow);
    }
    let mut order = Vec::new();
    for _ in 0..8 {
        put(&mut *drr, 3);
        let sent = drr.dequeue(Nanos::ZERO).expect("a packet is queued").packet.flow;
        order.push(sent.0);
        put(&mut *drr, sent.0);
    }
    assert_eq!(order, [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(std::iter::from_fn(|| drr.dequeue(Nanos::ZERO)).count(), 4, "a flow is in the ring twice");
}
