//! Discarding a flow's packets: against plain queues, and what it costs the flows that stay.

use std::collections::VecDeque;

use crate::{
    feasible::{DROPS, jobs, modes, policies},
    single::build,
    support::{assert_feasible, pass_on, play},
};
use dovetail_sched::{
    Admission, Demand, Dispatch, Feedback, FlowId, Limits, Nanos, Packet, Peekable, Scheduler, Stage,
    registry::REGISTRY,
};
use proptest::prelude::*;

/// A scheduler that is told to discard flows before some of its calls, and a plain queue for each flow to compare with.
#[derive(Debug)]
struct Discarding<'a> {
    inner: Box<dyn Scheduler>,
    plain: Vec<VecDeque<Packet>>,
    discards: &'a [(usize, u32)],
    calls: usize,
    lost: usize,
}

impl<'a> Discarding<'a> {
    fn new(inner: Box<dyn Scheduler>, discards: &'a [(usize, u32)]) -> Self {
        Self { inner, plain: vec![VecDeque::new(); 6], discards, calls: 0, lost: 0 }
    }

    fn collect(&mut self) {
        while let Some(lost) = self.inner.poll_evicted() {
            let queue = &mut self.plain[lost.flow.0 as usize];
            let at = queue.iter().position(|packet| *packet == lost).expect("it was queued, just as it is returned");
            queue.remove(at);
            self.lost += 1;
        }
    }

    fn discard_what_is_due(&mut self) {
        for &(at, flow) in self.discards {
            if at != self.calls {
                continue;
            }
            let queue = core::mem::take(&mut self.plain[flow as usize]);
            assert_eq!(self.inner.discard(FlowId(flow)), !queue.is_empty());
            self.lost += queue.len();
            for packet in queue {
                assert_eq!(self.inner.poll_evicted(), Some(packet));
            }
            assert_eq!(self.inner.poll_evicted(), None);
            assert!(!self.inner.discard(FlowId(flow)), "nothing is left of it");
            let waiting: usize = self.plain.iter().map(VecDeque::len).sum();
            assert_eq!(self.inner.backlog().packets, waiting as u64);
            assert_eq!(self.inner.flow_backlog(FlowId(flow)).packets, 0);
        }
        self.calls += 1;
    }
}

impl Scheduler for Discarding<'_> {
    pass_on!();

    fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        self.discard_what_is_due();
        let admission = self.inner.enqueue(packet, now);
        self.collect();
        if admission.is_queued() {
            self.plain[packet.flow.0 as usize].push_back(*packet);
        } else {
            self.lost += 1;
        }
        admission
    }

    fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        self.discard_what_is_due();
        let out = self.inner.dequeue(now)?;
        assert_eq!(self.plain[out.packet.flow.0 as usize].pop_front(), Some(out.packet));
        Some(out)
    }

    fn poll_evicted(&mut self) -> Option<Packet> {
        None
    }
}

proptest! {
    #[test]
    fn what_is_discarded_leaves_once_in_order_and_the_rest_is_served(
        jobs in jobs(),
        mode in modes(),
        limits in prop_oneof![
            2 => Just(Limits::UNLIMITED),
            1 => (prop::sample::select(DROPS), prop::option::of(1u32..5), prop::option::of(1500u64..6000))
                .prop_map(|(on_full, flow_packets, bytes)| Limits { flow_packets, bytes, on_full, ..Limits::UNLIMITED }),
        ],
        discards in prop::collection::vec((0usize..200, 0u32..6), 1..12),
    ) {
        for name in policies() {
            let scheduler = build(name, jobs[0].demand.len(), limits, &[2.0, 1.0, 0.3]);
            let mut scheduler = Discarding::new(scheduler, &discards);
            let sent = play(&mut scheduler, &jobs, mode);
            prop_assert_eq!(sent.len() + scheduler.lost, jobs.len(), "{}", name);
            assert_feasible(&jobs, &sent, mode);
        }
    }
}

fn packet(flow: u32, handle: u64) -> Packet {
    let demand = Demand::new(&[Nanos(100)]).expect("one resource");
    Packet { flow: FlowId(flow), bytes: 100, arrival: Nanos::ZERO, handle, demand }
}

/// Sends packets one after the other, and returns how many each flow had.
fn served(scheduler: &mut dyn Scheduler, packets: usize, now: &mut Nanos) -> [u32; 3] {
    let mut had = [0; 3];
    for _ in 0..packets {
        let out = loop {
            match scheduler.dequeue(*now) {
                Some(out) => break out,
                None => *now = scheduler.poll_at().expect("packets wait"),
            }
        };
        had[out.packet.flow.0 as usize] += 1;
        for (stage, took) in [(Stage::Started, Nanos::ZERO), (Stage::Finished, Nanos(100))] {
            *now += took;
            if scheduler.interest().has(stage, 0) {
                let event = Feedback { flow: out.packet.flow, ticket: out.ticket, resource: 0, stage, took };
                scheduler.feedback(&event, *now);
            }
        }
    }
    had
}

/// Three flows with equal packets; the first has a thousand queued, which are discarded after twelve packets were sent. The
/// other two then share equally, and when the first returns it has its third.
#[test]
fn neither_the_others_nor_the_flow_itself_pay_for_what_was_discarded() {
    // `las` lets it catch up, and the other two do not know of shares.
    let others = ["fifo", "las", "run2c"];
    for entry in REGISTRY.iter().filter(|entry| !others.contains(&entry.name)) {
        // A turn is a packet, and costs are known.
        let policy = match entry.name {
            "cbcs" => "cbcs:estimator=known",
            "wfq-split" => "wfq-split:estimator=known",
            "drr" => "drr:quantum=100",
            "drr-sff" => "drr-sff:quantum=100,threshold=1",
            name => name,
        };
        let mut scheduler = build(policy, 1, Limits::UNLIMITED, &[]);
        let mut now = Nanos::ZERO;
        for (flow, count) in [(0, 1000), (1, 90), (2, 90)] {
            for handle in 0..count {
                assert!(scheduler.enqueue(&packet(flow, handle), now).is_queued());
            }
        }
        let before = served(&mut scheduler, 12, &mut now);
        assert!(scheduler.discard(FlowId(0)));
        assert_eq!(core::iter::from_fn(|| scheduler.poll_evicted()).count() as u32, 1000 - before[0], "{policy}");
        let [none, one, two] = served(&mut scheduler, 60, &mut now);
        assert!(none == 0 && one.abs_diff(two) <= 3, "{policy}: {one} and {two}");
        for handle in 0..60 {
            assert!(scheduler.enqueue(&packet(0, handle), now).is_queued());
        }
        let thirds = served(&mut scheduler, 60, &mut now);
        assert!(thirds.iter().all(|third| third.abs_diff(20) <= 3), "{policy}: {thirds:?}");
    }
}

#[test]
fn a_packet_that_was_peeked_at_is_not_discarded() {
    let mut scheduler = Peekable::new(build("fifo", 1, Limits::UNLIMITED, &[]));
    for handle in 0..3 {
        assert!(scheduler.enqueue(&packet(0, handle), Nanos::ZERO).is_queued());
    }
    assert_eq!(scheduler.peek(Nanos::ZERO).map(|next| next.handle), Some(0));
    assert!(scheduler.discard(FlowId(0)));
    assert_eq!(core::iter::from_fn(|| scheduler.poll_evicted()).map(|lost| lost.handle).collect::<Vec<_>>(), [1, 2]);
    assert!(!scheduler.forget(FlowId(0)));
    assert_eq!(scheduler.dequeue(Nanos::ZERO).map(|out| out.packet.handle), Some(0));
    assert!(scheduler.forget(FlowId(0)));
}
