//! The far queue from the round-trip times of connections, where there is nothing to probe.
//!
//! The times are noted unless the probe is off. Told is, tick by tick, the least queue that any of them had, if the probe is
//! `tcp` or silent.

use std::{rc::Rc, time::Duration};

use tokio::time::sleep;

use super::probes::{IDLE, Probes};

/// How often the least of the samples is told.
const TICK: Duration = Duration::from_millis(100);
/// After so long without a sample nothing is known.
const SILENT: Duration = Duration::from_secs(2);

/// Tells the scheduler while it is for these times to tell.
pub(super) async fn tell(probes: Rc<Probes>) {
    let trips = probes.round_trips();
    loop {
        let is_asked = probes.tells_round_trips();
        sleep(if is_asked { TICK } else { IDLE }).await;
        let queue = trips.take_queue();
        if !probes.tells_round_trips() {
            trips.tell_nothing();
        } else if let Some(queue) = queue.filter(|_| is_asked) {
            trips.tell(queue);
            probes.tell_again();
        } else if trips.told().is_some_and(|(_, at)| at.elapsed() >= SILENT) {
            trips.tell_nothing();
            probes.dispatcher().far_queue(None);
        }
    }
}
