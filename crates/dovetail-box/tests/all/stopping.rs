//! A box that is kept from running while it sends what is queued at its end.

use std::{thread, time::Duration};

use dovetail_box::{
    live::{
        Spawned,
        lab::{Place, datagram},
        watch::{Arrived, Watch},
    },
    node::Passage,
};

use crate::live::{config, lab};

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
    let prepare = |live: &mut dovetail_box::live::Live| live.watch(Box::new(SleepsAt(SENT * 3 / 4)));
    let spawned = Spawned::start(config(&lab, settings), prepare).unwrap();
    let control = spawned.control().clone();
    while control.told_at().0 == 0 {
        assert!(!spawned.has_ended());
        thread::sleep(Duration::from_millis(1));
    }
    let source = lab.raw(Place::Inside).unwrap();
    for number in 0..SENT {
        source.send(std::iter::once(&*datagram::frame(Place::Inside, 0, number, 1200))).unwrap();
    }
    spawned.stop().unwrap();
    let status = control.status();
    let counted = status.classes[0].1;
    assert!(status.oddities.lapses >= 1 && counted.lapsed > 0, "{status:#?}");
    assert_eq!(status.backlog.packets, 0);
    assert_eq!(counted.arrived, counted.sent + counted.lapsed, "{counted:?}");
}
