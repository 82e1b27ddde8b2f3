//! A caller's mistakes result in an error and a message, and change nothing.
#![allow(unsafe_code)]

use std::{
    ffi::CString,
    mem::size_of,
    ptr::{self, null, null_mut},
    thread,
};

use dovetail::{
    border::*,
    structs::{dvt_status::*, *},
};
use dovetail_sched::{Demand, FlowId, Limits, Nanos, Packet, request::RequestSetup};

use crate::through_c::{Flows, Requests, Scheduler, Sized0, last_error, packet_to_c, setup_to_c, text};

fn make(policy: &str, setup: &dvt_setup) -> dvt_status {
    let policy = CString::new(policy).unwrap();
    let mut handle = null_mut();
    // SAFETY: all pointers point to values.
    let status = unsafe { dvt_scheduler_new(policy.as_ptr(), setup, &raw mut handle) };
    assert_eq!(handle.is_null(), status != DVT_OK);
    // SAFETY: null or a handle.
    unsafe { dvt_scheduler_free(handle) };
    status
}

/// Checks that a status is this error, with a message that contains these words.
#[track_caller]
fn is(status: dvt_status, error: dvt_status, words: &str) {
    assert_eq!(status, error, "{}", last_error());
    assert!(last_error().contains(words), "'{words}' is not in: {}", last_error());
}

fn two(handle: u64) -> Packet {
    let demand = Demand::new(&[Nanos(10), Nanos(20)]).unwrap();
    Packet { flow: FlowId(0), bytes: 100, arrival: Nanos::ZERO, handle, demand }
}

#[test]
fn a_setup_that_cannot_be_is_refused() {
    let setup = setup_to_c(2, Limits::UNLIMITED, 0);
    is(make("drrr", &setup), DVT_ERROR_POLICY, "did you mean drr?");
    is(make("drr:quantum=0", &setup), DVT_ERROR_POLICY, "quantum=0");
    is(make("grants", &setup), DVT_ERROR_POLICY, "orders requests");
    is(make("drr", &dvt_setup { resources: 0, ..setup }), DVT_ERROR_RANGE, "1 to 8 resources, not 0");
    is(make("drr", &dvt_setup { resources: 9, ..setup }), DVT_ERROR_RANGE, "not 9");
    is(
        make("drr", &dvt_setup { size: setup.size - 4, ..setup }),
        DVT_ERROR_SIZE,
        "not 56: set it to sizeof(dvt_setup)",
    );
    is(make("drr", &dvt_setup { size: 0, ..setup }), DVT_ERROR_SIZE, "setup has size 0");
    is(make("drr", &dvt_setup { on_full: 3, ..setup }), DVT_ERROR_RANGE, "dvt_drop_policy");
    is(make("drr", &dvt_setup { flags: 2, ..setup }), DVT_ERROR_RANGE, "DVT_CHECKED");
    is(make("drr", &dvt_setup { flows: u32::MAX, ..setup }), DVT_ERROR_RANGE, "flows");
    is(make("drr", &dvt_setup { program_count: 1, ..setup }), DVT_ERROR_POINTER, "programs is null");
    is(make(&"x".repeat(5000), &setup), DVT_ERROR_TEXT, "policy has more than 4096 bytes");
    let not_utf8 = CString::new([0xff_u8]).unwrap();
    let mut handle = null_mut();
    // SAFETY: all pointers are null or point to values.
    unsafe {
        is(dvt_scheduler_new(not_utf8.as_ptr(), &setup, &raw mut handle), DVT_ERROR_TEXT, "policy is not UTF-8");
        is(dvt_scheduler_new(null(), &setup, &raw mut handle), DVT_ERROR_POINTER, "policy is null");
        is(dvt_scheduler_new(c"drr".as_ptr(), null(), &raw mut handle), DVT_ERROR_POINTER, "setup is null");
        is(dvt_scheduler_new(c"drr".as_ptr(), &setup, null_mut()), DVT_ERROR_POINTER, "scheduler is null");
    }
    assert_eq!(make("drr", &setup), DVT_OK);
}

#[test]
fn programs_are_read_and_learnt_of() {
    let (names, cost) = ([c"small", c"large"], c"15ns*bytes + 84.5us");
    let of = |at: usize| dvt_program { name: names[at].as_ptr(), expansion: 1.5, ..dvt_program::sized() };
    let programs = [of(0), dvt_program { cost: cost.as_ptr(), ..of(1) }];
    let setup = setup_to_c(2, Limits::UNLIMITED, 0);
    let with = |programs: &[dvt_program; 2]| dvt_setup { programs: programs.as_ptr(), program_count: 2, ..setup };
    let scheduler = Scheduler::new("drfq:estimator=ses", &with(&programs));
    let (cost, expansion) = ([15.0_f64.to_bits(), 84_500.0_f64.to_bits()], 1.5_f64.to_bits());
    assert_eq!(scheduler.learnt(), [("small".into(), None, expansion), ("large".into(), Some(cost), expansion)]);
    // SAFETY: a handle.
    unsafe {
        assert_eq!(dvt_set_program(scheduler.0, 0, 1), DVT_OK);
        is(dvt_set_program(scheduler.0, 0, 2), DVT_ERROR_RANGE, "no program 2: the setup has 2");
    }
    let first = |wrong: dvt_program| make("drfq:estimator=ses", &with(&[wrong, of(1)]));
    is(first(dvt_program { cost: c"a lot".as_ptr(), ..of(0) }), DVT_ERROR_RANGE, "'a lot' is not a cost");
    is(first(dvt_program { expansion: 0.0, ..of(0) }), DVT_ERROR_RANGE, "expansion");
    is(first(dvt_program { processing: 2, ..of(0) }), DVT_ERROR_RANGE, "dvt_processing");
    is(first(dvt_program { size: 4, ..of(0) }), DVT_ERROR_SIZE, "a program has size 4");
    is(first(dvt_program { name: null(), ..of(0) }), DVT_ERROR_POINTER, "a program's name is null");
}

#[test]
fn a_call_that_cannot_be_is_refused() {
    let setup = dvt_setup { flows: 8, ..setup_to_c(2, Limits::UNLIMITED, 0) };
    let mut scheduler = Scheduler::new("drr", &setup);
    let (packet, mut admission) = (packet_to_c(&two(1)), dvt_admission::sized());
    let handle = scheduler.0;
    let mut offer = |packet: &dvt_packet| unsafe { dvt_enqueue(handle, packet, 0, &raw mut admission) };
    is(offer(&dvt_packet { size: 95, ..packet }), DVT_ERROR_SIZE, "dvt_packet");
    is(offer(&dvt_packet { resources: 0, ..packet }), DVT_ERROR_RANGE, "1 to 8 resources, not 0");
    is(offer(&dvt_packet { resources: u32::MAX, ..packet }), DVT_ERROR_RANGE, "1 to 8 resources");
    let event = dvt_event::sized();
    let (mut learnt, mut backlog, mut at) = (dvt_learnt::sized(), dvt_backlog::sized(), 0);
    // SAFETY: all pointers are null or point to values.
    unsafe {
        is(dvt_enqueue(handle, &packet, 0, null_mut()), DVT_ERROR_POINTER, "admission is null");
        is(dvt_enqueue(handle, null(), 0, &raw mut admission), DVT_ERROR_POINTER, "packet is null");
        is(
            dvt_enqueue(handle, ptr::without_provenance(1), 0, &raw mut admission),
            DVT_ERROR_POINTER,
            "packet is not aligned",
        );
        admission.size = 0;
        is(dvt_enqueue(handle, &packet, 0, &raw mut admission), DVT_ERROR_SIZE, "dvt_admission");
        is(dvt_enqueue(null_mut(), &packet, 0, &raw mut admission), DVT_ERROR_POINTER, "scheduler is null");
        is(dvt_feedback(handle, &dvt_event { resource: 2, ..event }, 0), DVT_ERROR_RANGE, "from 0 to 1, not 2");
        is(dvt_feedback(handle, &dvt_event { stage: 4, ..event }, 0), DVT_ERROR_RANGE, "dvt_stage");
        is(dvt_feedback(handle, &dvt_event { flow: 8, ..event }, 0), DVT_ERROR_RANGE, "below 8");
        is(dvt_set_weight(handle, 0, f64::NAN), DVT_ERROR_RANGE, "weight");
        is(dvt_set_weight(handle, u32::MAX, 1.0), DVT_ERROR_RANGE, "below 8");
        is(dvt_set_resource_weights(handle, 0, [1.0; 3].as_ptr(), 3), DVT_ERROR_RANGE, "not 3");
        is(dvt_set_resource_weights(handle, 0, null(), 2), DVT_ERROR_POINTER, "weights is null");
        is(dvt_poll_at(handle, null_mut()), DVT_ERROR_POINTER, "at_ns is null");
        is(dvt_set_resource_weights(handle, 0, null(), u32::MAX), DVT_ERROR_RANGE, "weights has at most 4096");
        is(dvt_forget(handle, 8), DVT_ERROR_RANGE, "below 8");
        is(dvt_discard(handle, 8), DVT_ERROR_RANGE, "below 8");
        is(dvt_flow_backlog(handle, 8, &raw mut backlog), DVT_ERROR_RANGE, "below 8");
        is(dvt_retune(handle, c"mr3".as_ptr(), 0), DVT_ERROR_POLICY, "cannot become");
        is(dvt_set_program(handle, 0, 0), DVT_ERROR_UNSUPPORTED, "estimator");
        is(dvt_learnt_at(handle, 0, &raw mut learnt), DVT_ERROR_UNSUPPORTED, "estimator");
        is(dvt_poll_at_before(handle, 1, &raw mut at), DVT_ERROR_UNSUPPORTED, "later resources");
        let mut policy = dvt_policy::sized();
        is(dvt_policy_at(2, 0, &raw mut policy), DVT_ERROR_RANGE, "dvt_orders");
    }
    assert_eq!(scheduler.backlog().packets, 0);
    let split = Scheduler::new("wfq-split", &setup);
    // SAFETY: as above.
    unsafe {
        is(dvt_backlog_before(split.0, 0, &raw mut backlog), DVT_ERROR_RANGE, "from 1 to 1, not 0");
        is(dvt_backlog_before(split.0, 2, &raw mut backlog), DVT_ERROR_RANGE, "not 2");
    }
    // An error is not sticky: the next call works as usual.
    assert!(scheduler.enqueue(&two(1), Nanos::ZERO).is_queued());
    assert_eq!(scheduler.dequeue(Nanos::ZERO).map(|next| next.packet.handle), Some(1));
}

#[test]
fn an_id_that_would_take_the_memory_is_refused() {
    let requests = Requests::new("grants", &RequestSetup::for_bytes(1e5));
    let far = 1 << 20;
    let request = dvt_request { length: DVT_UNKNOWN, ..dvt_request::sized() };
    // SAFETY: all pointers point to values.
    unsafe {
        is(
            dvt_requests_set_class(requests.0, far, 1.0, 0),
            DVT_ERROR_RANGE,
            "the class's id must be below 1048576, not 1048576",
        );
        is(dvt_requests_set_user(requests.0, far, 0, 0), DVT_ERROR_RANGE, "the user's");
        is(dvt_requests_set_user(requests.0, 0, far, 0), DVT_ERROR_RANGE, "the class's");
        is(dvt_requests_forget_user(requests.0, far), DVT_ERROR_RANGE, "the user's");
        is(dvt_requests_enqueue(requests.0, &dvt_request { id: far, ..request }, 0), DVT_ERROR_RANGE, "the request's");
        is(dvt_requests_enqueue(requests.0, &dvt_request { user: far, ..request }, 0), DVT_ERROR_RANGE, "the user's");
        is(dvt_requests_cancel(requests.0, far, 0), DVT_ERROR_RANGE, "the request's");
        is(dvt_requests_received(requests.0, far, 1, 0), DVT_ERROR_RANGE, "the request's");
        is(dvt_requests_stray(requests.0, far, 1, 0), DVT_ERROR_RANGE, "the class's");
        is(dvt_requests_set_rate(requests.0, f64::NAN, 0), DVT_ERROR_RANGE, "units a second");
        is(dvt_requests_set_cap(requests.0, 0, -1.0, 0), DVT_ERROR_RANGE, "0 for no limit");
        is(dvt_requests_set_cap(requests.0, far, 1.0, 0), DVT_ERROR_RANGE, "the class's");
        is(dvt_requests_retune(requests.0, c"drr".as_ptr(), 0), DVT_ERROR_POLICY, "orders packets");
        let (mut setup, mut handle) = (dvt_request_setup::sized(), null_mut());
        assert_eq!(dvt_request_setup_for_bytes(1e5, &raw mut setup), DVT_OK);
        setup.ids = u32::MAX;
        is(dvt_requests_new(c"grants".as_ptr(), &setup, &raw mut handle), DVT_ERROR_RANGE, "ids");
        let mut flows = null_mut();
        is(dvt_flows_new(&dvt_flows_setup::sized(), &raw mut flows), DVT_ERROR_RANGE, "not 0");
        assert!(handle.is_null() && flows.is_null());
    }
}

#[test]
fn a_rate_that_no_link_has_is_refused() {
    let mut setup = dvt_request_setup::sized();
    // SAFETY: all pointers point to values.
    unsafe {
        for rate in [f64::NAN, f64::INFINITY, 1e30, -1.0, 0.0] {
            is(dvt_request_setup_for_bytes(rate, &raw mut setup), DVT_ERROR_RANGE, "units a second");
            is(dvt_request_setup_for_uplink(rate, &raw mut setup), DVT_ERROR_RANGE, "units a second");
        }
        assert_eq!(setup, dvt_request_setup::sized(), "nothing is written");
        assert_eq!(dvt_request_setup_for_uplink(1e5, &raw mut setup), DVT_OK);
        assert_eq!(dvt_request_setup_for_bytes(1e5, &raw mut setup), DVT_OK);
        let refused = |setup: &dvt_request_setup, words: &str| {
            let mut handle = null_mut();
            is(dvt_requests_new(c"grants".as_ptr(), setup, &raw mut handle), DVT_ERROR_RANGE, words);
            assert!(handle.is_null());
        };
        refused(&dvt_request_setup { rate: f64::NAN, ..setup }, "units a second, not NaN");
        refused(&dvt_request_setup { quantum: 0, ..setup }, "quantum is at least 1");
        refused(&dvt_request_setup { window: setup.longest_window + 1, ..setup }, "window at most longest_window");
    }
}

/// So that a later version can give them a meaning.
#[test]
fn a_reserved_field_is_zero() {
    let mut setup = dvt_request_setup::sized();
    let flows_setup = dvt_flows_setup { most: 4, ..dvt_flows_setup::sized() };
    let (mut handle, mut table, mut lookup) = (null_mut(), null_mut(), dvt_lookup::sized());
    let requests = Requests::new("grants", &RequestSetup::for_bytes(1e5));
    let flows = Flows::new(4, Nanos(1), [0; 16]);
    let words = "reserved must be 0, not 1";
    // SAFETY: all pointers are null or point to values.
    unsafe {
        assert_eq!(dvt_request_setup_for_bytes(1e5, &raw mut setup), DVT_OK);
        setup.reserved = 1;
        is(dvt_requests_new(c"grants".as_ptr(), &setup, &raw mut handle), DVT_ERROR_RANGE, words);
        let request = dvt_request { reserved: 1, ..dvt_request::sized() };
        is(dvt_requests_enqueue(requests.0, &request, 0), DVT_ERROR_RANGE, words);
        is(dvt_flows_new(&dvt_flows_setup { reserved: 1, ..flows_setup }, &raw mut table), DVT_ERROR_RANGE, words);
        let tuple = dvt_five_tuple { reserved: [0, 0, 1], ..dvt_five_tuple::sized() };
        is(dvt_flows_lookup(flows.0, null_mut(), &tuple, 0, &raw mut lookup), DVT_ERROR_RANGE, words);
    }
    assert!(handle.is_null() && table.is_null());
    assert_eq!(flows.counts(), (0, 0));
}

/// With `DVT_CHECKED` a name for nothing is an error; without, the call is ignored.
#[test]
fn a_checked_request_scheduler_knows_what_exists() {
    let mut setup = dvt_request_setup::sized();
    // SAFETY: all pointers point to values.
    let make = |setup: &dvt_request_setup| unsafe {
        let mut handle = null_mut();
        assert_eq!(dvt_requests_new(c"grants".as_ptr(), setup, &raw mut handle), DVT_OK);
        Requests(handle)
    };
    let request = dvt_request { length: DVT_UNKNOWN, ..dvt_request::sized() };
    // SAFETY: as above.
    unsafe {
        assert_eq!(dvt_request_setup_for_bytes(1e5, &raw mut setup), DVT_OK);
        let plain = make(&setup);
        let checked = make(&dvt_request_setup { flags: DVT_CHECKED, ..setup });
        let ignored = |call: &dyn Fn(*mut dvt_requests) -> dvt_status, error: dvt_status, words: &str| {
            is(call(checked.0), error, words);
            assert_eq!(call(plain.0), DVT_OK);
        };
        let both = |call: &dyn Fn(*mut dvt_requests) -> dvt_status| {
            assert_eq!((call(checked.0), call(plain.0)), (DVT_OK, DVT_OK));
        };
        let (no_class, no_user, no_request) = ("there is no class 3", "there is no user 0", "there is no request 0");
        ignored(&|to| dvt_requests_set_user(to, 0, 3, 0), DVT_ERROR_UNKNOWN, no_class);
        ignored(&|to| dvt_requests_set_cap(to, 3, 1e4, 0), DVT_ERROR_UNKNOWN, no_class);
        ignored(&|to| dvt_requests_stray(to, 3, 100, 0), DVT_ERROR_UNKNOWN, no_class);
        ignored(&|to| dvt_requests_enqueue(to, &request, 0), DVT_ERROR_UNKNOWN, no_user);
        ignored(&|to| dvt_requests_forget_user(to, 0), DVT_ERROR_UNKNOWN, no_user);
        both(&|to| dvt_requests_set_class(to, 3, 1.0, 0));
        both(&|to| dvt_requests_set_cap(to, 3, 1e4, 0));
        both(&|to| dvt_requests_set_user(to, 0, 3, 0));
        let events: [&dyn Fn(*mut dvt_requests) -> dvt_status; 9] = [
            &|to| dvt_requests_length(to, 0, 1, 0),
            &|to| dvt_requests_received(to, 0, 1, 0),
            &|to| dvt_requests_unread(to, 0, 1, 0),
            &|to| dvt_requests_offers(to, 0, 1, 0),
            &|to| dvt_requests_round_trip(to, 0, 1, 0),
            &|to| dvt_requests_distance(to, 0, 1, 0),
            &|to| dvt_requests_ready(to, 0, 0),
            &|to| dvt_requests_ended(to, 0, 0),
            &|to| dvt_requests_cancel(to, 0, 0),
        ];
        for event in events {
            ignored(event, DVT_ERROR_UNKNOWN, no_request);
        }
        both(&|to| dvt_requests_enqueue(to, &request, 0));
        ignored(&|to| dvt_requests_enqueue(to, &request, 0), DVT_ERROR_DUPLICATE, "the request 0 is already waiting");
        assert_eq!(dvt_requests_forget_user(checked.0, 0), DVT_NONE, "they have a request");
        assert_eq!(dvt_requests_forget_user(plain.0, 0), DVT_OK);
        for event in events.iter().take(8) {
            both(event);
        }
        ignored(&|to| dvt_requests_cancel(to, 0, 0), DVT_ERROR_UNKNOWN, no_request);
        both(&|to| dvt_requests_forget_user(to, 0));
        ignored(&|to| dvt_requests_enqueue(to, &request, 0), DVT_ERROR_UNKNOWN, no_user);
    }
}

/// How long a freed handle is recognised is tested next to the handles.
#[test]
fn a_handle_that_was_freed_is_known() {
    let setup = setup_to_c(2, Limits::UNLIMITED, 0);
    let (freed, mut at) = (Scheduler::new("drr", &setup).0, 0);
    // SAFETY: a former handle may be read; null is no handle.
    unsafe {
        is(dvt_poll_at(freed, &raw mut at), DVT_ERROR_FREED, "was freed");
        is(dvt_scheduler_free(freed), DVT_ERROR_FREED, "was freed");
        assert_eq!(dvt_scheduler_free(null_mut()), DVT_OK);
    }
}

#[test]
fn a_handle_of_another_kind_is_known() {
    let requests = Requests::new("msf-rs", &RequestSetup::for_bytes(1e5));
    let flows = Flows::new(4, Nanos(1), [0; 16]);
    let (mut at, tuple, mut lookup) = (0, dvt_five_tuple::sized(), dvt_lookup::sized());
    // SAFETY: handles, though not of this kind.
    unsafe {
        is(dvt_poll_at(requests.0.cast(), &raw mut at), DVT_ERROR_HANDLE, "not a dvt_scheduler");
        is(dvt_requests_poll_at(flows.0.cast(), &raw mut at), DVT_ERROR_HANDLE, "not a dvt_requests");
        is(dvt_scheduler_free(flows.0.cast()), DVT_ERROR_HANDLE, "not a dvt_scheduler");
        is(dvt_poll_at(ptr::without_provenance_mut(12), &raw mut at), DVT_ERROR_POINTER, "scheduler is not aligned");
        // A number that is no handle, in readable memory.
        let mut other = [0x1234_u64; 64];
        is(dvt_poll_at(other.as_mut_ptr().cast(), &raw mut at), DVT_ERROR_HANDLE, "not a dvt_scheduler");
        // The table asks the scheduler only when a flow has to be retired, but nothing changes before it could.
        let (mut gone, other) = (0, requests.0.cast());
        is(dvt_flows_lookup(flows.0, other, &tuple, 0, &raw mut lookup), DVT_ERROR_HANDLE, "not a dvt_scheduler");
        is(dvt_flows_expire(flows.0, other, 0, 1, &raw mut gone), DVT_ERROR_HANDLE, "not a dvt_scheduler");
    }
    assert_eq!(flows.counts(), (0, 0));
}

/// A table may have more flows than the scheduler, which refuses their packets.
#[test]
fn a_flow_that_the_scheduler_cannot_know_may_go() {
    let mut scheduler = Scheduler::new("drr", &dvt_setup { flows: 1, ..setup_to_c(2, Limits::UNLIMITED, 0) });
    let mut flows = Flows::new(2, Nanos(1), [0; 16]);
    let tuple = |source_port| dovetail_sched::flow::FiveTuple {
        protocol: 6,
        source: [0; 16],
        destination: [0; 16],
        source_port,
        destination_port: 80,
    };
    let found = [1, 2].map(|port| flows.lookup(&mut scheduler, &tuple(port), Nanos::ZERO).unwrap().flow.0);
    assert_eq!(found, [0, 1]);
    assert!(scheduler.enqueue(&two(1), Nanos::ZERO).is_queued());
    assert_eq!(flows.expire(&mut scheduler, Nanos(9), 5), 1, "the first has a packet, and is seen now");
    assert_eq!(flows.expire(&mut scheduler, Nanos(9), 5), 0);
}

#[test]
fn an_offer_whose_first_window_is_over_the_longest_is_refused() {
    let mut offer = null_mut();
    // SAFETY: all pointers are null or point to values.
    unsafe {
        is(
            dvt_offer_new(9000, 8000, 9000, &raw mut offer),
            DVT_ERROR_RANGE,
            "first window, 9000, is over the longest, 8000",
        );
        assert!(offer.is_null());
        is(dvt_offer_new(8000, 9000, 8000, null_mut()), DVT_ERROR_POINTER, "offer is null");
        // What is left to the system has no windows that could be wrong.
        assert_eq!(dvt_offer_new(9000, 8000, u64::MAX, &raw mut offer), DVT_OK);
        assert_eq!(dvt_offer_free(offer), DVT_OK);
    }
}

#[test]
fn a_call_that_fails_does_not_advance_the_checked_time() {
    let scheduler = Scheduler::new("drr", &setup_to_c(2, Limits::UNLIMITED, DVT_CHECKED));
    let (mut dispatch, mut packet, mut turn) = (dvt_dispatch::sized(), dvt_packet::sized(), dvt_turn::sized());
    let (mut setup, mut requests) = (dvt_request_setup::sized(), null_mut());
    // SAFETY: all pointers point to values.
    unsafe {
        assert_eq!(dvt_request_setup_for_bytes(1e5, &raw mut setup), DVT_OK);
        setup.flags = DVT_CHECKED;
        assert_eq!(dvt_requests_new(c"grants".as_ptr(), &setup, &raw mut requests), DVT_OK);
        is(dvt_retune(scheduler.0, c"mr3".as_ptr(), 9), DVT_ERROR_POLICY, "cannot become");
        is(dvt_dequeue_before(scheduler.0, 1, 9, &raw mut packet), DVT_ERROR_UNSUPPORTED, "later resources");
        assert_eq!(dvt_dequeue(scheduler.0, 5, &raw mut dispatch), DVT_NONE, "{}", last_error());
        is(dvt_requests_retune(requests, c"msf-rs".as_ptr(), 9), DVT_ERROR_POLICY, "cannot become");
        assert_eq!(dvt_requests_dequeue(requests, 5, &raw mut turn), DVT_NONE, "{}", last_error());
        assert_eq!(dvt_requests_free(requests), DVT_OK);
        // A call that succeeds does advance it.
        assert_eq!(dvt_retune(scheduler.0, c"drr:quantum=900".as_ptr(), 9), DVT_OK);
        is(dvt_dequeue(scheduler.0, 8, &raw mut dispatch), DVT_ERROR_TIME, "from 9ns to 8ns");
    }
}

/// With `DVT_CHECKED` a queued packet is not accepted again, and time must not go backwards.
#[test]
fn a_checked_handle_looks_after_its_caller() {
    let limits = Limits { packets: Some(2), on_full: dovetail_sched::DropPolicy::Head, ..Limits::UNLIMITED };
    let mut scheduler = Scheduler::new("wfq-split", &setup_to_c(2, limits, DVT_CHECKED));
    let (handle, packet, mut admission) = (scheduler.0, packet_to_c(&two(7)), dvt_admission::sized());
    let now = Nanos(5);
    assert!(scheduler.enqueue(&two(7), now).is_queued());
    // SAFETY: all pointers point to values.
    unsafe {
        is(dvt_enqueue(handle, &packet, 5, &raw mut admission), DVT_ERROR_DUPLICATE, "the packet 7 is already queued");
        is(
            dvt_enqueue(handle, &packet_to_c(&two(8)), 4, &raw mut admission),
            DVT_ERROR_TIME,
            "time goes backwards, from 5ns to 4ns",
        );
    }
    assert_eq!(scheduler.backlog().packets, 1);
    assert!(scheduler.peek(now).is_some());
    let next = scheduler.dequeue(now).unwrap().packet;
    assert!(scheduler.enqueue(&two(7), now).is_queued(), "it is not queued any more");
    // Before a later resource the packet counts separately.
    assert!(scheduler.enqueue_before(1, &next, now).is_queued());
    // SAFETY: as above.
    let again = unsafe { dvt_enqueue_before(handle, 1, &packet, 5, &raw mut admission) };
    is(again, DVT_ERROR_DUPLICATE, "already queued");
    assert!(scheduler.dequeue_before(1, now).is_some());
    // An evicted packet can be queued again once it has been collected.
    assert!(scheduler.enqueue(&two(8), now).is_queued());
    assert!(scheduler.enqueue(&two(9), now).evicted);
    assert_eq!(scheduler.poll_evicted().map(|lost| lost.handle), Some(7));
    assert!(scheduler.enqueue(&two(7), now).is_queued());
}

#[test]
fn a_sentence_is_of_its_thread() {
    is(make("no-such", &setup_to_c(1, Limits::UNLIMITED, 0)), DVT_ERROR_POLICY, "unknown policy 'no-such'");
    thread::spawn(|| assert_eq!(last_error(), "")).join().unwrap();
    assert!(last_error().contains("no-such"));
    // The longest message, the list of all packet policies, is complete.
    for entry in dovetail_sched::registry::REGISTRY {
        assert!(last_error().contains(entry.name));
    }
}

#[test]
fn policies_are_listed_whole() {
    for (orders, names) in [
        (0, dovetail_sched::registry::REGISTRY.iter().map(|entry| (entry.name, entry.cost, entry.summary)).collect()),
        (1, dovetail_sched::registry::REQUESTS.iter().map(|entry| (entry.name, entry.cost, entry.summary)).collect()),
    ] as [(u32, Vec<_>); 2]
    {
        let mut listed = Vec::new();
        let mut policy = dvt_policy::sized();
        // SAFETY: the pointer points to a value.
        while unsafe { dvt_policy_at(orders, listed.len() as u32, &raw mut policy) } == DVT_OK {
            assert_eq!(policy.orders, orders);
            listed.push((text(&policy.name), text(&policy.cost), text(&policy.summary)));
        }
        let whole: Vec<_> = names
            .iter()
            .map(|&(name, cost, summary): &(&str, &str, &str)| (name.into(), cost.into(), summary.into()))
            .collect();
        assert_eq!(listed, whole);
    }
}

#[test]
fn interest_is_examined_as_the_core_does() {
    use dovetail_sched::{Interest, Stage};
    let bits = Interest::of(Stage::Started, 1).and(Interest::of(Stage::Finished, 0));
    for (number, stage) in [Stage::Started, Stage::Finished, Stage::Dropped, Stage::Aborted].into_iter().enumerate() {
        for resource in 0..8 {
            let wants = dvt_wants(bits.bits().into(), number as u32, resource as u32);
            assert_eq!(wants == 1, bits.has(stage, resource));
        }
        assert_eq!(dvt_wants(u32::MAX, number as u32, 8), 0);
    }
    assert_eq!(dvt_wants(u32::MAX, 4, 0), 0);
    assert_eq!(dvt_abi_version(), DVT_ABI_VERSION);
    assert_eq!(size_of::<dvt_packet>(), 96);
}
