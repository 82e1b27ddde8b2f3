//! Text as a policy, and a few packets through it.
#![no_main]

use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, PolicySpec, Setup};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(spec) = text.parse::<PolicySpec>() else { return };
    assert_eq!(spec.to_string().parse::<PolicySpec>(), Ok(spec.clone()), "it prints as it was read");
    for resources in 1..=dovetail_sched::MAX_RESOURCES {
        let Ok(mut scheduler) = spec.build(&Setup::new(resources, Limits::per_flow(3))) else { continue };
        let mut waiting = 0;
        for handle in 0..12u64 {
            let times: Vec<_> = (0..resources as u64).map(|at| Nanos(1_000 * (handle * 7 + at * 3) % 20_000)).collect();
            let demand = Demand::new(&times).expect("1 to 8 resources");
            let bytes = 64 + (handle as u32 * 397) % 1400;
            let packet = Packet { flow: FlowId(handle as u32 % 3), bytes, arrival: Nanos(handle), handle, demand };
            let admission = scheduler.enqueue(&packet, Nanos(handle));
            waiting += u64::from(admission.is_queued());
            while scheduler.poll_evicted().is_some() {
                waiting -= 1;
            }
        }
        assert_eq!(scheduler.backlog().packets, waiting);
        // A policy may hold packets back until it hears of others; it never makes any up.
        let mut now = Nanos(12);
        for _ in 0..100 {
            match scheduler.dequeue(now) {
                Some(_) => waiting -= 1,
                None => match scheduler.poll_at() {
                    Some(at) if at > now => now = at,
                    _ => break,
                },
            }
        }
        assert_eq!(scheduler.backlog().packets, waiting);
    }
});
