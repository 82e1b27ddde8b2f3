//! The schedulers as used through the C functions, with results in the core's types.
//!
//! Each method passes what the header requires, and panics if the status is an error.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char},
    mem::zeroed,
    ptr,
};

use dovetail::{border::*, structs::*};
use dovetail_sched::{
    Admission, Backlog, Demand, Dispatch, DropPolicy, DropReason, Feedback, FlowId, Limits, Nanos, Packet, Stage,
    flow::{FiveTuple, Lookup},
    request::{FarDelay, Request, RequestId, RequestSetup, Turn},
};

/// A struct of zeros, whose size is set.
pub(crate) trait Sized0: Copy {
    fn sized() -> Self;
}

macro_rules! sized {
    ($($name:ident),+ $(,)?) => {
        $(impl Sized0 for $name {
            fn sized() -> Self {
                // SAFETY: structs of numbers and pointers, for which zeros are valid.
                Self { size: size_of::<Self>() as u32, ..unsafe { zeroed() } }
            }
        })+
    };
}

sized!(
    dvt_admission,
    dvt_backlog,
    dvt_dispatch,
    dvt_event,
    dvt_figure,
    dvt_five_tuple,
    dvt_flow_counts,
    dvt_flows_setup,
    dvt_learnt,
    dvt_lookup,
    dvt_packet,
    dvt_policy,
    dvt_program,
    dvt_request,
    dvt_request_setup,
    dvt_setup,
    dvt_turn,
);

pub(crate) fn last_error() -> String {
    // SAFETY: a text of this thread.
    unsafe { CStr::from_ptr(dvt_last_error()) }.to_str().unwrap().to_owned()
}

/// A text that the library wrote into a struct.
pub(crate) fn text(written: &[c_char]) -> String {
    let bytes: Vec<u8> = written.iter().map(|&byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8(bytes).unwrap()
}

/// Whether a status is `DVT_OK`; `DVT_NONE` is false.
#[track_caller]
pub(crate) fn yes(status: dvt_status) -> bool {
    match status {
        dvt_status::DVT_OK => true,
        dvt_status::DVT_NONE => false,
        error => panic!("{error:?}: {}", last_error()),
    }
}

/// What a call writes if its status is `DVT_OK`.
fn written<T: Sized0>(call: impl FnOnce(*mut T) -> dvt_status) -> Option<T> {
    let mut place = T::sized();
    yes(call(&raw mut place)).then_some(place)
}

fn number(call: impl FnOnce(*mut u64) -> dvt_status) -> Option<u64> {
    let mut place = 0;
    yes(call(&raw mut place)).then_some(place)
}

/// All items of a numbered list.
fn all<T: Sized0>(mut call: impl FnMut(u32, *mut T) -> dvt_status) -> Vec<T> {
    (0..).map_while(|at| written(|place| call(at, place))).collect()
}

fn figures(of: Vec<dvt_figure>) -> Vec<(String, u64)> {
    of.iter().map(|figure| (text(&figure.name), figure.value.to_bits())).collect()
}

pub(crate) fn packet_to_c(packet: &Packet) -> dvt_packet {
    let times = packet.demand.times();
    let mut given = dvt_packet {
        flow: packet.flow.0,
        bytes: packet.bytes,
        resources: times.len() as u32,
        arrival_ns: packet.arrival.0,
        handle: packet.handle,
        // Entries beyond the demand are not read.
        demand_ns: [0xdead; DVT_MAX_RESOURCES],
        ..dvt_packet::sized()
    };
    for (to, from) in given.demand_ns.iter_mut().zip(times) {
        *to = from.0;
    }
    given
}

fn packet_from_c(given: &dvt_packet) -> Packet {
    assert_eq!(given.size as usize, size_of::<dvt_packet>());
    let (times, rest) = given.demand_ns.split_at(given.resources as usize);
    assert!(rest.iter().all(|&time| time == 0), "what is behind the demand is not written");
    let times: Vec<Nanos> = times.iter().map(|&time| Nanos(time)).collect();
    let demand = Demand::new(&times).unwrap();
    Packet {
        flow: FlowId(given.flow),
        bytes: given.bytes,
        arrival: Nanos(given.arrival_ns),
        handle: given.handle,
        demand,
    }
}

fn dispatch_from_c(given: &dvt_dispatch) -> Dispatch {
    let &dvt_dispatch { flow, bytes, resources, arrival_ns, handle, ticket, demand_ns, .. } = given;
    let size = size_of::<dvt_packet>() as u32;
    let packet = dvt_packet { size, flow, bytes, resources, arrival_ns, handle, demand_ns };
    Dispatch { packet: packet_from_c(&packet), ticket }
}

fn admission_from_c(given: dvt_admission) -> Admission {
    let refused = match given.refused {
        0 => None,
        1 => Some(DropReason::FlowFull),
        2 => Some(DropReason::BufferFull),
        3 => Some(DropReason::TooManyFlows),
        4 => Some(DropReason::WrongDemand),
        other => panic!("an unknown reason {other}"),
    };
    Admission { refused, evicted: given.evicted == 1 }
}

fn backlog_from_c(given: dvt_backlog) -> Backlog {
    Backlog { packets: given.packets, bytes: given.bytes }
}

pub(crate) fn setup_to_c(resources: usize, limits: Limits, flags: u32) -> dvt_setup {
    dvt_setup {
        resources: resources as u32,
        flags,
        on_full: match limits.on_full {
            DropPolicy::Head => 1,
            DropPolicy::Longest => 2,
            _ => 0,
        },
        flow_packets: limits.flow_packets.unwrap_or(0),
        packets: limits.packets.unwrap_or(0),
        flows: limits.flows,
        flow_bytes: limits.flow_bytes.unwrap_or(0),
        bytes: limits.bytes.unwrap_or(0),
        ..dvt_setup::sized()
    }
}

pub(crate) struct Scheduler(pub(crate) *mut dvt_scheduler);

// SAFETY: as the header states for handles.
unsafe impl Send for Scheduler {}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: a handle.
        assert!(yes(unsafe { dvt_scheduler_free(self.0) }));
    }
}

// SAFETY of all calls: the handle lives as long as this, and the pointers point to values.
impl Scheduler {
    pub(crate) fn new(policy: &str, setup: &dvt_setup) -> Self {
        let policy = CString::new(policy).unwrap();
        let mut handle = ptr::null_mut();
        assert!(yes(unsafe { dvt_scheduler_new(policy.as_ptr(), setup, &raw mut handle) }));
        Self(handle)
    }

    pub(crate) fn enqueue(&mut self, packet: &Packet, now: Nanos) -> Admission {
        let packet = packet_to_c(packet);
        let answer = written(|place| unsafe { dvt_enqueue(self.0, &packet, now.0, place) });
        admission_from_c(answer.unwrap())
    }

    pub(crate) fn dequeue(&mut self, now: Nanos) -> Option<Dispatch> {
        written(|place| unsafe { dvt_dequeue(self.0, now.0, place) }).map(|next| dispatch_from_c(&next))
    }

    pub(crate) fn peek(&mut self, now: Nanos) -> Option<Packet> {
        written(|place| unsafe { dvt_peek(self.0, now.0, place) }).map(|next| packet_from_c(&next))
    }

    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        number(|place| unsafe { dvt_poll_at(self.0, place) }).map(Nanos)
    }

    pub(crate) fn poll_evicted(&mut self) -> Option<Packet> {
        written(|place| unsafe { dvt_poll_evicted(self.0, place) }).map(|lost| packet_from_c(&lost))
    }

    pub(crate) fn discard(&mut self, flow: FlowId) -> bool {
        yes(unsafe { dvt_discard(self.0, flow.0) })
    }

    pub(crate) fn feedback(&mut self, event: &Feedback, now: Nanos) {
        let given = dvt_event {
            flow: event.flow.0,
            resource: event.resource.into(),
            stage: match event.stage {
                Stage::Started => dvt_stage::DVT_STARTED,
                Stage::Finished => dvt_stage::DVT_FINISHED,
                Stage::Dropped => dvt_stage::DVT_DROPPED,
                Stage::Aborted => dvt_stage::DVT_ABORTED,
            } as u32,
            ticket: event.ticket,
            took_ns: event.took.0,
            ..dvt_event::sized()
        };
        assert!(yes(unsafe { dvt_feedback(self.0, &given, now.0) }));
    }

    pub(crate) fn interest(&self) -> u32 {
        let mut bits = 0;
        assert!(yes(unsafe { dvt_interest(self.0, &raw mut bits) }));
        bits
    }

    pub(crate) fn set_weight(&mut self, flow: FlowId, weight: f64) {
        assert!(yes(unsafe { dvt_set_weight(self.0, flow.0, weight) }));
    }

    pub(crate) fn set_resource_weights(&mut self, flow: FlowId, weights: &[f64]) {
        let count = weights.len() as u32;
        assert!(yes(unsafe { dvt_set_resource_weights(self.0, flow.0, weights.as_ptr(), count) }));
    }

    pub(crate) fn retune(&mut self, policy: &str, now: Nanos) -> Result<(), String> {
        let policy = CString::new(policy).unwrap();
        match unsafe { dvt_retune(self.0, policy.as_ptr(), now.0) } {
            dvt_status::DVT_ERROR_POLICY => Err(last_error()),
            other => {
                assert!(yes(other));
                Ok(())
            }
        }
    }

    pub(crate) fn forget(&mut self, flow: FlowId) -> bool {
        yes(unsafe { dvt_forget(self.0, flow.0) })
    }

    pub(crate) fn backlog(&self) -> Backlog {
        backlog_from_c(written(|place| unsafe { dvt_backlog_of(self.0, place) }).unwrap())
    }

    pub(crate) fn flow_backlog(&self, flow: FlowId) -> Backlog {
        backlog_from_c(written(|place| unsafe { dvt_flow_backlog(self.0, flow.0, place) }).unwrap())
    }

    pub(crate) fn figures(&self) -> Vec<(String, u64)> {
        figures(all(|at, place| unsafe { dvt_figure_at(self.0, at, place) }))
    }

    pub(crate) fn set_program(&mut self, flow: FlowId, program: u32) {
        assert!(yes(unsafe { dvt_set_program(self.0, flow.0, program) }));
    }

    /// Names, with cost and expansion as bits; `None` for an unknown cost.
    pub(crate) fn learnt(&self) -> Vec<(String, Option<[u64; 2]>, u64)> {
        let programs = all(|at, place: *mut dvt_learnt| unsafe { dvt_learnt_at(self.0, at, place) });
        let seen = |learnt: &dvt_learnt| {
            let cost = [learnt.per_byte_ns.to_bits(), learnt.per_packet_ns.to_bits()];
            (text(&learnt.name), (learnt.has_cost == 1).then_some(cost), learnt.expansion.to_bits())
        };
        programs.iter().map(seen).collect()
    }

    pub(crate) fn enqueue_before(&mut self, resource: usize, packet: &Packet, now: Nanos) -> Admission {
        let packet = packet_to_c(packet);
        let answer = written(|place| unsafe { dvt_enqueue_before(self.0, resource as u32, &packet, now.0, place) });
        admission_from_c(answer.unwrap())
    }

    pub(crate) fn dequeue_before(&mut self, resource: usize, now: Nanos) -> Option<Packet> {
        let next = written(|place| unsafe { dvt_dequeue_before(self.0, resource as u32, now.0, place) });
        next.map(|next| packet_from_c(&next))
    }

    pub(crate) fn poll_at_before(&self, resource: usize) -> Option<Nanos> {
        number(|place| unsafe { dvt_poll_at_before(self.0, resource as u32, place) }).map(Nanos)
    }

    pub(crate) fn backlog_before(&self, resource: usize) -> Backlog {
        backlog_from_c(written(|place| unsafe { dvt_backlog_before(self.0, resource as u32, place) }).unwrap())
    }
}

pub(crate) struct Requests(pub(crate) *mut dvt_requests);

impl Drop for Requests {
    fn drop(&mut self) {
        // SAFETY: a handle.
        assert!(yes(unsafe { dvt_requests_free(self.0) }));
    }
}

// SAFETY of all calls: as above.
impl Requests {
    pub(crate) fn new(policy: &str, setup: &RequestSetup) -> Self {
        let policy = CString::new(policy).unwrap();
        let &RequestSetup { rate, quantum, window, longest_window, overhead } = setup;
        let setup = dvt_request_setup { rate, quantum, window, longest_window, overhead, ..dvt_request_setup::sized() };
        let mut handle = ptr::null_mut();
        assert!(yes(unsafe { dvt_requests_new(policy.as_ptr(), &setup, &raw mut handle) }));
        Self(handle)
    }

    pub(crate) fn set_class(&mut self, class: u32, weight: f64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_set_class(self.0, class, weight, now.0) }));
    }

    pub(crate) fn set_user(&mut self, user: u32, class: u32, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_set_user(self.0, user, class, now.0) }));
    }

    pub(crate) fn forget_user(&mut self, user: u32) {
        assert!(yes(unsafe { dvt_requests_forget_user(self.0, user) }));
    }

    pub(crate) fn set_rate(&mut self, rate: f64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_set_rate(self.0, rate, now.0) }));
    }

    pub(crate) fn set_cap(&mut self, class: u32, rate: Option<f64>, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_set_cap(self.0, class, rate.unwrap_or(0.0), now.0) }));
    }

    pub(crate) fn enqueue(&mut self, request: &Request, now: Nanos) {
        let given = dvt_request {
            id: request.id.0,
            user: request.user.0,
            length: request.length.unwrap_or(DVT_UNKNOWN),
            ..dvt_request::sized()
        };
        assert!(yes(unsafe { dvt_requests_enqueue(self.0, &given, now.0) }));
    }

    pub(crate) fn length(&mut self, request: u32, units: u64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_length(self.0, request, units, now.0) }));
    }

    pub(crate) fn received(&mut self, request: u32, units: u64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_received(self.0, request, units, now.0) }));
    }

    pub(crate) fn unread(&mut self, request: u32, units: u64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_unread(self.0, request, units, now.0) }));
    }

    pub(crate) fn offers(&mut self, request: u32, window: u64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_offers(self.0, request, window, now.0) }));
    }

    pub(crate) fn round_trip(&mut self, request: u32, takes: Nanos, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_round_trip(self.0, request, takes.0, now.0) }));
    }

    pub(crate) fn distance(&mut self, request: u32, takes: Nanos, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_distance(self.0, request, takes.0, now.0) }));
    }

    pub(crate) fn ready(&mut self, request: u32, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_ready(self.0, request, now.0) }));
    }

    pub(crate) fn ended(&mut self, request: u32, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_ended(self.0, request, now.0) }));
    }

    pub(crate) fn cancel(&mut self, request: u32, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_cancel(self.0, request, now.0) }));
    }

    pub(crate) fn uplink(&mut self, is_busy: bool, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_uplink(self.0, is_busy.into(), now.0) }));
    }

    pub(crate) fn stray(&mut self, class: Option<u32>, units: u64, now: Nanos) {
        assert!(yes(unsafe { dvt_requests_stray(self.0, class.unwrap_or(DVT_NO_CLASS), units, now.0) }));
    }

    pub(crate) fn far_queue(&mut self, seen: Option<FarDelay>, now: Nanos) {
        let delay = seen.map_or(DVT_UNKNOWN, |seen| seen.delay.0);
        let room = seen.and_then(|seen| seen.room).map_or(DVT_UNKNOWN, |room| room.0);
        assert!(yes(unsafe { dvt_requests_far_queue(self.0, delay, room, now.0) }));
    }

    pub(crate) fn dequeue(&mut self, now: Nanos) -> Option<Turn> {
        let turn: dvt_turn = written(|place| unsafe { dvt_requests_dequeue(self.0, now.0, place) })?;
        let request = RequestId(turn.request);
        Some(Turn { request, releases: turn.releases == 1, units: turn.units, window: turn.window })
    }

    pub(crate) fn poll_at(&self) -> Option<Nanos> {
        number(|place| unsafe { dvt_requests_poll_at(self.0, place) }).map(Nanos)
    }

    pub(crate) fn first_window(&self) -> Option<u64> {
        number(|place| unsafe { dvt_requests_first_window(self.0, place) })
    }

    pub(crate) fn figures(&self) -> Vec<(String, u64)> {
        figures(all(|at, place| unsafe { dvt_requests_figure_at(self.0, at, place) }))
    }

    pub(crate) fn retune(&mut self, policy: &str, now: Nanos) -> Result<(), String> {
        let policy = CString::new(policy).unwrap();
        match unsafe { dvt_requests_retune(self.0, policy.as_ptr(), now.0) } {
            dvt_status::DVT_ERROR_POLICY => Err(last_error()),
            other => {
                assert!(yes(other));
                Ok(())
            }
        }
    }
}

pub(crate) struct Flows(pub(crate) *mut dvt_flows);

impl Drop for Flows {
    fn drop(&mut self) {
        // SAFETY: a handle.
        assert!(yes(unsafe { dvt_flows_free(self.0) }));
    }
}

// SAFETY of all calls: as above.
impl Flows {
    pub(crate) fn new(most: u32, timeout: Nanos, hash_key: [u8; 16]) -> Self {
        let setup = dvt_flows_setup { most, timeout_ns: timeout.0, hash_key, ..dvt_flows_setup::sized() };
        let mut handle = ptr::null_mut();
        assert!(yes(unsafe { dvt_flows_new(&setup, &raw mut handle) }));
        Self(handle)
    }

    pub(crate) fn lookup(&mut self, scheduler: &mut Scheduler, key: &FiveTuple, now: Nanos) -> Option<Lookup> {
        let &FiveTuple { protocol, source, destination, source_port, destination_port } = key;
        let given =
            dvt_five_tuple { source_port, destination_port, source, destination, protocol, ..dvt_five_tuple::sized() };
        let found: dvt_lookup =
            written(|place| unsafe { dvt_flows_lookup(self.0, scheduler.0, &given, now.0, place) })?;
        Some(Lookup { flow: FlowId(found.flow), new: found.is_new == 1 })
    }

    pub(crate) fn expire(&mut self, scheduler: &mut Scheduler, now: Nanos, most: u32) -> u32 {
        let mut gone = 0;
        assert!(yes(unsafe { dvt_flows_expire(self.0, scheduler.0, now.0, most, &raw mut gone) }));
        gone
    }

    pub(crate) fn key(&self, flow: FlowId) -> Option<FiveTuple> {
        let tuple: dvt_five_tuple = written(|place| unsafe { dvt_flows_tuple(self.0, flow.0, place) })?;
        let dvt_five_tuple { source_port, destination_port, source, destination, protocol, .. } = tuple;
        Some(FiveTuple { protocol, source, destination, source_port, destination_port })
    }

    pub(crate) fn counts(&self) -> (u32, u64) {
        let counts: dvt_flow_counts = written(|place| unsafe { dvt_flows_counts(self.0, place) }).unwrap();
        (counts.flows, counts.evictions)
    }
}

pub(crate) struct Offer(*mut dvt_offer);

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: a handle.
        assert!(yes(unsafe { dvt_offer_free(self.0) }));
    }
}

// SAFETY of all calls: as above.
impl Offer {
    pub(crate) fn new(first: u64, longest: u64, begins: u64) -> Self {
        let mut handle = ptr::null_mut();
        assert!(yes(unsafe { dvt_offer_new(first, longest, begins, &raw mut handle) }));
        Self(handle)
    }

    pub(crate) fn bytes(&self) -> u64 {
        number(|place| unsafe { dvt_offer_bytes(self.0, place) }).unwrap()
    }

    pub(crate) fn establish(&mut self, trip: Option<Nanos>) -> Option<u64> {
        let trip = trip.map_or(DVT_UNKNOWN, |trip| trip.0);
        number(|place| unsafe { dvt_offer_establish(self.0, trip, place) })
    }

    pub(crate) fn farthest(&self) -> Option<Nanos> {
        number(|place| unsafe { dvt_offer_farthest(self.0, place) }).map(Nanos)
    }

    pub(crate) fn draws_near(&mut self, least: Nanos) {
        assert!(yes(unsafe { dvt_offer_draws_near(self.0, least.0) }));
    }

    pub(crate) fn wider(&self, window: u64) -> Option<u64> {
        number(|place| unsafe { dvt_offer_wider(self.0, window, place) })
    }

    pub(crate) fn offers(&mut self, window: u64) {
        assert!(yes(unsafe { dvt_offer_offers(self.0, window) }));
    }

    pub(crate) fn is_grown(&self) -> bool {
        yes(unsafe { dvt_offer_is_grown(self.0) })
    }
}

pub(crate) struct Far(*mut dvt_far);

impl Drop for Far {
    fn drop(&mut self) {
        // SAFETY: a handle.
        assert!(yes(unsafe { dvt_far_free(self.0) }));
    }
}

// SAFETY of all calls: as above.
impl Far {
    pub(crate) fn new() -> Self {
        let mut handle = ptr::null_mut();
        assert!(yes(unsafe { dvt_far_new(&raw mut handle) }));
        Self(handle)
    }

    pub(crate) fn probe(&mut self, now: Nanos) -> u64 {
        number(|place| unsafe { dvt_far_probe(self.0, now.0, place) }).unwrap()
    }

    pub(crate) fn back(&mut self, probe: u64, now: Nanos) {
        assert!(yes(unsafe { dvt_far_back(self.0, probe, now.0) }));
    }

    pub(crate) fn delay(&self, now: Nanos) -> Option<FarDelay> {
        let (mut delay, mut room) = (0, 0);
        let known = yes(unsafe { dvt_far_delay(self.0, now.0, &raw mut delay, &raw mut room) });
        known.then(|| FarDelay { delay: Nanos(delay), room: (room != DVT_UNKNOWN).then_some(Nanos(room)) })
    }

    pub(crate) fn forget(&mut self) {
        assert!(yes(unsafe { dvt_far_forget(self.0) }));
    }
}
