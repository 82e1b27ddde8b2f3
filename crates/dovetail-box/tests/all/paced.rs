//! A node in virtual time before a device that reports when it has room, and a link that changes under way.

use dovetail_box::node::{Action, Cause, Link, Node, Outcome, Pace, Passage, Room};
use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup, units::Rate};

const BYTES: u32 = 1_000;
/// At 8 Mbit/s.
const LINK_TIME: Nanos = Nanos::from_millis(1);

fn link(pace: Pace) -> Link {
    Link { rate: Rate::from_bps(8e6).unwrap(), overhead_bytes: 0, pace }
}

/// A node that holds this many packets since the start, none of which takes time on the CPU.
fn node(pace: Pace, room: Room, packets: u64) -> Node {
    let scheduler = "fifo".parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
    let mut node = Node::new(scheduler, link(pace), room);
    let demand = Demand::new(&[Nanos(1), LINK_TIME]).unwrap();
    for handle in 0..packets {
        let packet = Packet { flow: FlowId(0), bytes: BYTES, arrival: Nanos::ZERO, handle, demand };
        assert!(node.enqueue(&packet, 0, Nanos::ZERO).is_queued());
    }
    node
}

/// Does everything that is due; returns what was sent.
fn settle(node: &mut Node, now: Nanos) -> Vec<Passage> {
    let mut sent = Vec::new();
    while let Some(action) = node.poll(now) {
        match action {
            Action::Work(_) => node.worked(Nanos::ZERO, Outcome::Forward { bytes: BYTES }),
            Action::Send(passage) => sent.push(passage),
        }
    }
    sent
}

fn starts(sent: &[Passage]) -> Vec<(u64, Nanos)> {
    sent.iter().map(|passage| (passage.handle, passage.link_start)).collect()
}

#[test]
fn the_device_says_when_the_next_packet_leaves() {
    let mut node = node(Pace::Device, Room::Packets(1), 4);
    assert_eq!(starts(&settle(&mut node, Nanos::ZERO)), [(0, Nanos::ZERO)]);
    assert_eq!(node.poll_at(), None, "only the device knows");
    assert!(settle(&mut node, Nanos::from_millis(40)).is_empty());
    for (handle, at) in [(1, 3), (2, 4)] {
        let at = Nanos::from_millis(at + 40);
        node.link_freed(at);
        assert_eq!(starts(&settle(&mut node, at)), [(handle, at)]);
    }
    assert_eq!(node.figures().link_busy, Nanos::from_millis(44), "as long as the device had them");
    // The third blocked the CPU, for want of room, until the second left, and then the fourth until the third did.
    assert_eq!(node.figures().cpu_blocked, Nanos::from_millis(44));
    // An instant before the packet was handed over does not let its time on the link run backwards.
    node.link_freed(Nanos::from_millis(1));
    assert_eq!(starts(&settle(&mut node, Nanos::from_millis(44))), [(3, Nanos::from_millis(44))]);
    assert_eq!(node.figures().link_busy, Nanos::from_millis(44));
}

#[test]
fn a_link_that_the_node_paces_is_not_freed_by_the_device() {
    let mut node = node(Pace::Own, Room::Packets(1), 2);
    assert_eq!(settle(&mut node, Nanos::ZERO).len(), 1);
    node.link_freed(Nanos(5));
    assert!(settle(&mut node, Nanos(5)).is_empty());
    assert_eq!(starts(&settle(&mut node, LINK_TIME)), [(1, LINK_TIME)]);
}

/// Nobody reports any more when the device has room: the packet that it has leaves at the link's rate.
#[test]
fn a_link_that_is_paced_by_the_node_from_now_on_goes_on() {
    let mut node = node(Pace::Device, Room::Packets(1), 2);
    assert_eq!(settle(&mut node, Nanos::ZERO).len(), 1);
    node.set_link(link(Pace::Own), Room::Packets(1));
    assert_eq!(node.poll_at(), Some(LINK_TIME));
    // The caller is late, and the packet behind waits for it from when the link was free.
    let late = Nanos::from_millis(21);
    assert_eq!(starts(&settle(&mut node, late)), [(1, Nanos::from_millis(16))]);
    assert_eq!(node.figures().late, Nanos::from_millis(15));
    let waited = node.waited();
    let causes = [Cause::Class(0), Cause::Late].map(|cause| waited.before_link(0, cause) as u64);
    assert_eq!(causes, [LINK_TIME.0, Nanos::from_millis(15).0]);
}

/// A packet that is being processed when the link changes takes the time of the new one.
#[test]
fn a_link_of_another_rate_takes_what_is_processed_later_at_that_rate() {
    let mut node = node(Pace::Own, Room::Packets(4), 3);
    assert!(matches!(node.poll(Nanos::ZERO), Some(Action::Work(_))));
    node.worked(Nanos::ZERO, Outcome::Forward { bytes: BYTES });
    let half = Link { rate: Rate::from_bps(4e6).unwrap(), ..link(Pace::Own) };
    node.set_link(half, Room::Packets(4));
    let ends: Vec<_> = settle(&mut node, Nanos::from_millis(5)).iter().map(|passage| passage.link_end).collect();
    assert_eq!(ends, [1, 3, 5].map(Nanos::from_millis));
}

#[test]
fn a_packet_takes_the_link_as_long_as_its_new_length_does() {
    let mut node = node(Pace::Own, Room::DEFAULT, 1);
    assert!(matches!(node.poll(Nanos::ZERO), Some(Action::Work(_))));
    node.worked(Nanos::ZERO, Outcome::Forward { bytes: 3 * BYTES });
    let [sent] = settle(&mut node, Nanos::ZERO)[..] else { panic!("one packet") };
    assert_eq!((sent.bytes, sent.link_end), (3 * BYTES, Nanos::from_millis(3)));
    assert_eq!(node.poll_at(), Some(sent.link_end));
}

#[test]
fn what_is_with_workers_changes_its_class_too_and_takes_the_link_by_its_new_length() {
    let scheduler = "fifo".parse::<PolicySpec>().unwrap().build(&Setup::new(2, Limits::UNLIMITED)).unwrap();
    let mut node = Node::with_workers(scheduler, link(Pace::Own), Room::DEFAULT, 2);
    assert!(!node.passes_at_once(), "a worker reports later");
    let demand = Demand::new(&[Nanos(1), LINK_TIME]).unwrap();
    let packet = Packet { flow: FlowId(0), bytes: BYTES, arrival: Nanos::ZERO, handle: 0, demand };
    assert!(node.enqueue(&packet, 0, Nanos::ZERO).is_queued());
    let Some(Action::Work(work)) = node.poll(Nanos::ZERO) else { panic!("both are free") };
    node.change_classes(&[1], &[None, Some(0)]);
    node.worked_by(work.worker, Nanos(5), Outcome::Forward { bytes: 2 * BYTES });
    let Some(Action::Send(sent)) = node.poll(Nanos(5)) else { panic!("the link is free") };
    assert_eq!((sent.bytes, sent.link_end), (2 * BYTES, Nanos(5) + Nanos::from_millis(2)));
    assert_eq!([0, 1].map(|class| node.waited().on_cpu(class)), [Nanos::ZERO, Nanos(5)]);
}
