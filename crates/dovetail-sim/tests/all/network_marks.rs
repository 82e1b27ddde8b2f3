//! Queues that mark packets when they are long, instead of dropping them when they are full.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use dovetail_sched::Nanos;
use dovetail_sim::network::{Datagrams, Kind, Network, Traffic};

use crate::dumbbell::{dumbbell, traffic};
use crate::recorded::records;
use crate::watch::{Run, check_books, lines, run};

const BUFFER: u32 = 100;
const MARK: u32 = 20;

/// Unlimited connections, and UDP packets at this interval, for a minute.
fn network(ecn: bool, mark: Option<u32>, connections: u32, udp_every: Nanos) -> Network {
    let datagrams = Datagrams { bytes: 500, gap: udp_every, random: true, on_off: None, flow_each: false };
    let udp = Traffic { name: "udp".into(), ..traffic(4, Kind::Datagrams(datagrams)) };
    let mut network = dumbbell(4, 3.0, BUFFER, vec![traffic(4, Kind::LongLived(connections)), udp]);
    network.stop_at = Some(Nanos::from_secs(60));
    network.transport.tcp.ecn = ecn;
    network.links[0].mark_packets = mark;
    network
}

/// Number of packets queued at the link over time: each arrival finds those that arrived before and have not started to
/// leave.
fn found(run: &Run) -> BTreeMap<u64, i64> {
    let arrivals = run.watch.arrived.iter().map(|(&handle, &at)| (at, 2, handle));
    let begins = run.watch.sent.iter().map(|sent| (sent.begun, 0, sent.handle));
    let drops = run.watch.dropped.iter().map(|&(handle, at)| (at, 3, handle));
    let mut events: Vec<_> = arrivals.chain(begins).chain(drops).collect();
    // A packet that arrives at an idle link starts at once, so its own arrival comes first.
    events.sort_by_key(|&(at, kind, handle)| {
        let is_at_once = kind == 0 && run.watch.arrived[&handle] == at;
        (at, if is_at_once { 4 } else { kind }, handle)
    });
    let mut waiting = 0;
    let mut found = BTreeMap::new();
    for (_, kind, handle) in events {
        if kind == 2 {
            found.insert(handle, waiting);
            waiting += 1;
        } else {
            waiting -= 1;
        }
    }
    found
}

fn mean_found(run: &Run) -> f64 {
    let late: Vec<_> =
        found(run).into_iter().filter(|(handle, _)| run.watch.arrived[handle] > Nanos::from_secs(10)).collect();
    late.iter().map(|(_, waiting)| *waiting as f64).sum::<f64>() / late.len() as f64
}

/// Protocol and ECN bits of each packet's IP header that left the link.
fn bits(run: &Run) -> Vec<(u8, u8)> {
    records(&run.capture).iter().map(|(_, bytes)| (bytes[9], bytes[1] & 3)).collect()
}

#[test]
fn marked_connections_lose_nothing_and_keep_the_queue_short() {
    let run = run(&network(true, Some(MARK), 4, Nanos::from_millis(100)), "fifo");
    check_books(&run).unwrap();
    assert_eq!(run.outcome.link.dropped, 0);
    let marked = run.outcome.marked.unwrap();
    let of_capture = bits(&run).iter().filter(|(_, bits)| *bits == 3).count() as u64;
    assert!(marked > 100 && marked - of_capture <= run.outcome.link.left, "{marked} and {of_capture}");
    assert!(bits(&run).iter().all(|&(protocol, bits)| protocol == 6 || bits == 0), "UDP is never marked");
    let waiting = mean_found(&run);
    println!("mean queue {waiting:.1} packets, {marked} marked");
    let longest = found(&run).into_iter().filter(|(handle, _)| run.watch.arrived[handle] > Nanos::from_secs(10));
    assert!(longest.map(|(_, waiting)| waiting).max().unwrap() < 2 * i64::from(MARK));
    assert!((f64::from(MARK) * 0.4..f64::from(MARK) * 1.2).contains(&waiting), "{waiting}");
    // The link is as busy as without marking.
    let plain = super::watch::run(&network(false, None, 4, Nanos::from_millis(100)), "fifo");
    println!("without: mean queue {:.1} packets, {} dropped", mean_found(&plain), plain.outcome.link.dropped);
    assert!(plain.outcome.link.dropped > 0 && mean_found(&plain) > 2.0 * waiting);
    assert!(run.outcome.link.sent as f64 > 0.97 * plain.outcome.link.sent as f64);
}

/// A packet is marked depending on the queue at its arrival: every packet that may be marked if the queue is long, and no
/// other.
#[test]
fn a_packet_is_marked_if_it_finds_a_long_queue() {
    for policy in ["fifo", "drr"] {
        let run = run(&network(true, Some(MARK), 4, Nanos::from_millis(100)), policy);
        let found = found(&run);
        let mut seen = [0; 2];
        for (sent, (_, bits)) in run.watch.sent.iter().zip(bits(&run)) {
            let is_long = found[&sent.handle] >= i64::from(MARK);
            // 2: may be marked; 0: may not, such as a retransmission.
            assert!(bits == 0 || (bits == 3) == is_long, "{policy}: {sent:?} found {}", found[&sent.handle]);
            seen[usize::from(is_long)] += u64::from(bits != 0);
        }
        assert!(seen[0] > 1000 && seen[1] > 100, "{policy}: {seen:?}");
    }
}

#[test]
fn what_cannot_be_marked_is_dropped_at_the_end_of_the_buffer() {
    // A flood of 1.3 times the link's rate.
    let flood = Nanos::from_micros(1000);
    let run = run(&network(true, Some(MARK), 2, flood), "fifo");
    check_books(&run).unwrap();
    let [udp] = run.outcome.streams.iter().filter(|stream| stream.traffic == 1).collect::<Vec<_>>()[..] else {
        panic!("one UDP stream")
    };
    assert!(udp.dropped > udp.packets / 5, "{udp:?}");
    let found = found(&run);
    assert!(
        run.watch.dropped.iter().all(|(handle, _)| found[handle] == i64::from(BUFFER)),
        "dropped before it is full"
    );
    assert!(bits(&run).iter().all(|&(protocol, bits)| protocol == 6 || bits == 0));
}

#[test]
fn without_ecn_marking_changes_nothing() {
    let [plain, marking] = [None, Some(MARK)].map(|mark| run(&network(false, mark, 4, Nanos::from_millis(5)), "drr"));
    assert!(plain.capture == marking.capture && lines(&plain.outcome) == lines(&marking.outcome));
    assert_eq!((plain.outcome.marked, marking.outcome.marked), (None, Some(0)));
    assert!(plain.outcome.link.dropped > 0);
}
