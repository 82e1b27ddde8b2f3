//! One transfer, and a single mishap.

use dovetail_sched::Nanos;

use crate::{
    comparison::Comparison,
    not_yet,
    path::{Flow, run},
    recorded::{Event, Recorded, config},
};

#[test]
fn events() {
    let mut comparison = Comparison::new(not_yet::EVENTS);
    for kernel in &Recorded::read().events {
        let row = format!("{}, {}", kernel.congestion, kernel.name);
        let Event { segments, pauses_us, mark_above, .. } = *kernel;
        let mut config = config(&kernel.congestion, kernel.receive_buffer_bytes);
        config.ecn = mark_above < 1000;
        let flow = Flow { begins: Nanos::ZERO, bytes: segments * 1460, pauses: Nanos::from_micros(pauses_us), config };
        let got = run(&kernel.path(), &kernel.mishaps(), &[flow], Nanos::from_secs(20));
        let [got] = &got[..] else { panic!("one flow") };
        let took = got.took.map_or(f64::INFINITY, |took| took.as_secs_f64() * 1e3);
        let took = comparison.ratio(&row, "took", took, kernel.took_us as f64 / 1e3, 0.05);
        println!(
            "{row}: {took}, retransmissions {} / {}, timeouts {} / {}",
            got.retransmissions, kernel.retransmissions, got.timeouts, kernel.timeouts
        );
    }
    comparison.end();
}
