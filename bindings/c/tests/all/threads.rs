//! With one handle per thread, threads do not affect each other. With one handle for two threads, the second gets an error.
#![allow(unsafe_code)]

use std::{
    fs,
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};

use dovetail::{border::*, structs::*};
use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet};

use crate::through_c::{Scheduler, Sized0, last_error, setup_to_c};

/// The order in which packets leave, of a fixed sequence.
fn order(scheduler: &mut Scheduler) -> Vec<u64> {
    let mut order = Vec::new();
    for handle in 0..20_000_u64 {
        let now = Nanos(handle * 100);
        let (flow, bytes) = (FlowId((handle * 7 % 13) as u32), (handle * 31 % 1400) as u32 + 60);
        let demand = Demand::new(&[Nanos(u64::from(bytes)), Nanos(900)]).unwrap();
        assert!(scheduler.enqueue(&Packet { flow, bytes, arrival: now, handle, demand }, now).is_queued());
        if handle % 3 != 0 {
            order.extend(scheduler.dequeue(now).map(|next| next.packet.handle));
        }
    }
    order
}

#[test]
fn a_handle_a_thread() {
    let setup = setup_to_c(2, Limits::UNLIMITED, 0);
    let alone = order(&mut Scheduler::new("drr", &setup));
    let together = Barrier::new(2);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut scheduler = Scheduler::new("drr", &setup_to_c(2, Limits::UNLIMITED, 0));
                together.wait();
                assert_eq!(order(&mut scheduler), alone);
            });
        }
    });
}

/// The calling thread's processor time in nanoseconds, and how often it yielded the processor to wait.
fn spent() -> Option<(u64, u64)> {
    let first_number = |text: &str| text.split_whitespace().next()?.parse().ok();
    let used = first_number(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)?;
    let status = fs::read_to_string("/proc/thread-self/status").ok()?;
    Some((used, first_number(status.split_once("\nvoluntary_ctxt_switches:")?.1)?))
}

/// Two handles are independent: neither thread ever waits for the other, and neither needs more processor time than alone.
/// Other work on the machine does not affect the first, and hardly the second; the second is retried.
#[test]
fn two_threads_with_a_handle_each_do_twice_the_work() {
    if spent().is_none() {
        return dovetail_skip::skipped("what threads have had of processors is read in /proc");
    }
    let work = |together: &Barrier| {
        let run = || order(&mut Scheduler::new("drr", &setup_to_c(2, Limits::UNLIMITED, 0))).len();
        // Warms up memory.
        run();
        together.wait();
        let (used, waited) = spent().unwrap();
        (0..20).for_each(|_| assert!(run() > 0));
        let (used_now, waited_now) = spent().unwrap();
        (used_now - used, waited_now - waited)
    };
    let most = |threads: usize| {
        let together = Barrier::new(threads);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&together))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .fold((0, 0), |(used, waited), (more, longer)| (used.max(more), waited.max(longer)))
        })
    };
    let mut tries = Vec::new();
    for _ in 0..10 {
        let ((alone, _), (two, waited)) = (most(1), most(2));
        assert!(waited < 1_000, "a thread waited {waited} times in 600,000 calls");
        let ratio = two as f64 / alone as f64;
        if ratio < 1.25 {
            return;
        }
        tries.push(ratio);
    }
    panic!("each of two threads needs {tries:.2?} times the processor time of one");
}

#[test]
fn a_handle_goes_to_another_thread() {
    let mut scheduler = Scheduler::new("drr", &setup_to_c(2, Limits::UNLIMITED, 0));
    let first = order(&mut scheduler);
    let waiting = scheduler.backlog().packets;
    let scheduler = thread::spawn(move || {
        let mut scheduler = scheduler;
        while scheduler.dequeue(Nanos(10_000_000)).is_some() {}
        scheduler
    });
    assert_eq!(scheduler.join().unwrap().backlog().packets, 0);
    assert_eq!(first.len() as u64 + waiting, 20_000);
}

/// Whatever the timing: of two simultaneous calls, one succeeds and the other gets an error, and no packet is lost.
#[test]
fn a_checked_handle_for_two_threads() {
    let scheduler = Scheduler::new("drr", &setup_to_c(1, Limits::UNLIMITED, DVT_CHECKED));
    let handle = scheduler.0.expose_provenance();
    let (queued, told) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for thread in 0..2_u64 {
            let (queued, told) = (&queued, &told);
            scope.spawn(move || {
                let handle = std::ptr::with_exposed_provenance_mut(handle);
                let mut admission = dvt_admission::sized();
                for at in 0..50_000 {
                    let packet = dvt_packet { resources: 1, handle: 2 * at + thread, ..dvt_packet::sized() };
                    // SAFETY: a checked handle, and values.
                    match unsafe { dvt_enqueue(handle, &packet, 0, &raw mut admission) } {
                        dvt_status::DVT_OK => queued.fetch_add(1, Ordering::Relaxed),
                        dvt_status::DVT_ERROR_BUSY => told.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{other:?}: {}", last_error()),
                    };
                }
            });
        }
    });
    let (queued, told) = (queued.into_inner(), told.into_inner());
    assert_eq!(queued + told, 100_000);
    assert_eq!(scheduler.backlog().packets, u64::from(queued));
}
