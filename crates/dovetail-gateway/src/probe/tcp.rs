//! Measures the far queue by the round-trip times of connections, where there is nothing to probe.
//!
//! Times are recorded unless the probe is off. At every tick, the smallest queue in any of them is reported if the probe is
//! `tcp` or silent.

use std::{rc::Rc, time::Duration};

use tokio::time::sleep;

use super::probes::{IDLE, Probes};

/// Interval at which the smallest sample is reported.
const TICK: Duration = Duration::from_millis(100);
/// After this long without a sample the queue is unknown.
const SILENT: Duration = Duration::from_secs(2);

/// Reports to the scheduler while these times count.
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
