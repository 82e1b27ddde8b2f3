//! A box that is kept from running while it sends what is queued at its end.

use std::{thread, time::Duration};

use dovetail_box::{
    live::{
        lab::{Place, datagram},
        watch::{Arrived, Watch},
    },
    node::Passage,
};

use crate::live::{Running, lab};

/// Keeps the box from running, at this packet, for longer than the bridge waits.
struct SleepsAt(u64);

impl Watch for SleepsAt {
    fn arrived(&mut self, _: &Arrived<'_>) {}

    fn left(&mut self, number: u64, _: &Passage, _: &[u8]) {
        if number == self.0 {
            thread::sleep(Duration::from_millis(60));
        }
    }

    fn dropped(&mut self, _: u64) {}
}

#[test]
fn what_is_lost_at_the_end_is_in_the_last_status() {
    const SENT: u64 = 400;
    let Some(lab) = lab("ending") else { return };
    // Some 200 ms on the link.
    let settings = "policy = \"fifo\"\n[link]\nrate = \"20Mbps\"\n[queues]\npackets_per_flow = 500\n";
    for _ in 0..5 {
        let running = Running::prepared(&lab, settings, |live| live.watch(Box::new(SleepsAt(SENT * 3 / 4))));
        let source = lab.raw(Place::Inside).unwrap();
        for number in 0..SENT {
            source.send(std::iter::once(&*datagram::frame(Place::Inside, 0, number, 1200))).unwrap();
        }
        let status = running.stop();
        let counted = status.classes[0].1;
        assert_eq!(counted.arrived, counted.sent + counted.lapsed, "{counted:?}");
        assert_eq!(status.backlog.packets, 0);
        // Otherwise the bridge has forwarded some before.
        if counted.arrived >= SENT {
            assert!(status.oddities.lapses > 0 && counted.lapsed > 0, "{status:#?}");
            return;
        }
    }
    dovetail_skip::skipped("the machine is too busy: the box was kept from running for longer than 25 ms five times");
}
