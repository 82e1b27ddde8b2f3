//! Conversions between the structs of C and the core's types.

use std::{ffi::c_char, mem::size_of};

use dovetail_sched::{
    Admission, Backlog, Demand, DropPolicy, DropReason, Feedback, FlowId, Limits, MAX_RESOURCES, Nanos, Packet, Stage,
    Weight,
    cost::{Processing, Program},
    flow::FiveTuple,
    request::{ClassId, Request, RequestId, RequestSetup, Turn, UserId},
};

use crate::{
    border::{alone, nanos},
    failure::{Failure, write_text},
    structs::*,
};

const _: () = assert!(DVT_MAX_RESOURCES == MAX_RESOURCES);

/// A struct's size, for its first field.
pub(crate) const fn size<T>() -> u32 {
    size_of::<T>() as u32
}

/// Converts a packet over one or two resources, the usual case: without a call, and built in place.
#[inline(always)]
pub(crate) fn short_packet(given: &dvt_packet) -> Option<Packet> {
    // Only the declared fields are read: the rest may be uninitialised.
    let [one, two, ..] = &given.demand_ns;
    let demand = match given.resources {
        1 => Demand::of_one(Nanos(alone(one))),
        2 => Demand::new(&[Nanos(alone(one)), Nanos(alone(two))]).ok()?,
        _ => return None,
    };
    Some(packet_of(given, demand))
}

/// Converts a packet over any valid number of resources.
pub(crate) fn packet(given: &dvt_packet) -> Result<Packet, Failure> {
    let resources = given.resources as usize;
    let times = given.demand_ns.get(..resources).unwrap_or_default();
    Ok(packet_of(given, Demand::new(nanos(times)).map_err(|_| too_many(resources))?))
}

#[inline(always)]
fn packet_of(given: &dvt_packet, demand: Demand) -> Packet {
    let (flow, bytes) = (FlowId(alone(&given.flow)), alone(&given.bytes));
    let (arrival, handle) = (Nanos(alone(&given.arrival_ns)), alone(&given.handle));
    Packet { flow, bytes, arrival, handle, demand }
}

#[cold]
#[inline(never)]
pub(crate) fn too_many(resources: usize) -> Failure {
    Failure::range(format!("a packet crosses 1 to {MAX_RESOURCES} resources, not {resources}"))
}

#[inline]
pub(crate) fn admission_of(admission: Admission) -> dvt_admission {
    let refused = admission.refused.map_or(dvt_refusal::DVT_QUEUED, refusal_of) as u32;
    dvt_admission { size: size::<dvt_admission>(), refused, evicted: admission.evicted.into(), reserved: 0 }
}

#[cold]
#[inline(never)]
fn refusal_of(reason: DropReason) -> dvt_refusal {
    match reason {
        DropReason::FlowFull => dvt_refusal::DVT_FLOW_FULL,
        DropReason::BufferFull => dvt_refusal::DVT_BUFFER_FULL,
        DropReason::TooManyFlows => dvt_refusal::DVT_TOO_MANY_FLOWS,
        DropReason::WrongDemand => dvt_refusal::DVT_WRONG_DEMAND,
        _ => dvt_refusal::DVT_REFUSED_OTHERWISE,
    }
}

pub(crate) fn backlog_of(backlog: Backlog) -> dvt_backlog {
    let Backlog { packets, bytes } = backlog;
    dvt_backlog { size: size::<dvt_backlog>(), reserved: 0, packets, bytes }
}

#[inline]
fn stage(given: u32) -> Result<Stage, Failure> {
    stage_of(given).ok_or_else(|| not_a_stage(given))
}

/// The stage with this number, if there is one.
#[inline]
pub(crate) fn stage_of(given: u32) -> Option<Stage> {
    const STARTED: u32 = dvt_stage::DVT_STARTED as u32;
    const FINISHED: u32 = dvt_stage::DVT_FINISHED as u32;
    const DROPPED: u32 = dvt_stage::DVT_DROPPED as u32;
    const ABORTED: u32 = dvt_stage::DVT_ABORTED as u32;
    match given {
        STARTED => Some(Stage::Started),
        FINISHED => Some(Stage::Finished),
        DROPPED => Some(Stage::Dropped),
        ABORTED => Some(Stage::Aborted),
        _ => None,
    }
}

#[cold]
#[inline(never)]
fn not_a_stage(given: u32) -> Failure {
    Failure::range(format!("{given} is not a dvt_stage"))
}

/// Converts an event on a pipeline of this many resources.
#[inline]
pub(crate) fn event(given: &dvt_event, resources: u32) -> Result<Feedback, Failure> {
    let stage = stage(alone(&given.stage))?;
    let resource = resource(alone(&given.resource), 0, resources)? as u8;
    let (flow, ticket) = (FlowId(alone(&given.flow)), alone(&given.ticket));
    Ok(Feedback { flow, ticket, resource, stage, took: Nanos(alone(&given.took_ns)) })
}

/// Checks that a resource is at least `least` and less than `resources`.
#[inline]
pub(crate) fn resource(given: u32, least: u32, resources: u32) -> Result<usize, Failure> {
    if (least..resources).contains(&given) {
        return Ok(given as usize);
    }
    Err(no_such_resource(given, least, resources))
}

#[cold]
#[inline(never)]
fn no_such_resource(given: u32, least: u32, resources: u32) -> Failure {
    Failure::range(format!("resources here are numbered from {least} to {}, not {given}", resources.saturating_sub(1)))
}

pub(crate) fn weight(given: f64) -> Result<Weight, Failure> {
    Weight::new(given).ok_or_else(|| Failure::range(format!("a weight is from 1e-6 to 1e6, not {given}")))
}

/// Checks that a reserved field is 0, so that a later version may give other numbers a meaning.
#[inline]
pub(crate) fn reserved(given: u32) -> Result<(), Failure> {
    if given == 0 { Ok(()) } else { Err(not_reserved(given)) }
}

#[cold]
#[inline(never)]
fn not_reserved(given: u32) -> Failure {
    Failure::range(format!("reserved must be 0, not {given}: initialise the struct with zeros"))
}

/// Checks the rate of a link.
pub(crate) fn rate(units_per_s: f64) -> Result<f64, Failure> {
    if RequestSetup::is_rate(units_per_s) {
        return Ok(units_per_s);
    }
    Err(Failure::range(format!("a link carries from 0.001 to 10^15 units a second, not {units_per_s:?}")))
}

/// A limit; 0 means none.
fn bound<T: PartialEq + From<u8>>(given: T) -> Option<T> {
    (given != T::from(0)).then_some(given)
}

pub(crate) fn limits(setup: &dvt_setup) -> Result<Limits, Failure> {
    const RULES: [(dvt_drop_policy, DropPolicy); 3] = [
        (dvt_drop_policy::DVT_TAIL, DropPolicy::Tail),
        (dvt_drop_policy::DVT_HEAD, DropPolicy::Head),
        (dvt_drop_policy::DVT_LONGEST, DropPolicy::Longest),
    ];
    let on_full = RULES.iter().find(|(rule, _)| *rule as u32 == setup.on_full).map(|&(_, rule)| rule);
    let most = Limits::UNLIMITED.flows;
    if setup.flows > most {
        return Err(Failure::range(format!("a scheduler takes at most {most} flows, not {}", setup.flows)));
    }
    Ok(Limits {
        flow_packets: bound(setup.flow_packets),
        flow_bytes: bound(setup.flow_bytes),
        packets: bound(setup.packets),
        bytes: bound(setup.bytes),
        flows: bound(setup.flows).unwrap_or(most),
        on_full: on_full.ok_or_else(|| Failure::range(format!("{} is not a dvt_drop_policy", setup.on_full)))?,
    })
}

/// A program with this name and cost.
pub(crate) fn program(name: &str, cost: Option<&str>, given: &dvt_program) -> Result<Program, Failure> {
    let cost = cost.map(|cost| cost.parse().map_err(|error| Failure::range(format!("{error}")))).transpose()?;
    let processing = match given.processing {
        at if at == dvt_processing::DVT_PAYLOAD as u32 => Processing::Payload,
        at if at == dvt_processing::DVT_HEADER as u32 => Processing::Header,
        at => return Err(Failure::range(format!("{at} is not a dvt_processing"))),
    };
    let expansion = given.expansion;
    if !Program::is_expansion(expansion) {
        return Err(Failure::range(format!("an expansion is a number above 0, not {expansion}")));
    }
    Ok(Program { processing, cost, expansion, ..Program::new(name) })
}

pub(crate) fn learnt_of(program: &Program) -> dvt_learnt {
    let processing = match program.processing {
        Processing::Payload => dvt_processing::DVT_PAYLOAD,
        Processing::Header => dvt_processing::DVT_HEADER,
    };
    dvt_learnt {
        size: size::<dvt_learnt>(),
        processing: processing as u32,
        has_cost: program.cost.is_some().into(),
        reserved: 0,
        per_byte_ns: program.cost.map_or(0.0, |cost| cost.per_byte_ns()),
        per_packet_ns: program.cost.map_or(0.0, |cost| cost.per_packet_ns()),
        expansion: program.expansion,
        name: text(&program.name),
    }
}

/// The text, truncated to fit.
pub(crate) fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut bytes = [0; N];
    write_text(text, &mut bytes);
    bytes.map(|byte| byte as c_char)
}

pub(crate) fn figure_of(name: &str, value: f64) -> dvt_figure {
    dvt_figure { size: size::<dvt_figure>(), reserved: 0, value, name: text(name) }
}

pub(crate) fn request_setup(given: &dvt_request_setup) -> Result<RequestSetup, Failure> {
    let &dvt_request_setup { rate, quantum, window, longest_window, overhead, .. } = given;
    let rate = self::rate(rate)?;
    reserved(given.reserved)?;
    if quantum == 0 || window > longest_window {
        let text =
            format!("quantum is at least 1, and window at most longest_window: {quantum}, {window}, {longest_window}");
        return Err(Failure::range(text));
    }
    Ok(RequestSetup { rate, quantum, window, longest_window, overhead })
}

pub(crate) fn request_setup_of(setup: &RequestSetup) -> Result<dvt_request_setup, Failure> {
    let &RequestSetup { rate, quantum, window, longest_window, overhead } = setup;
    let (size, rate) = (size::<dvt_request_setup>(), self::rate(rate)?);
    Ok(dvt_request_setup { size, flags: 0, rate, quantum, window, longest_window, overhead, ids: 0, reserved: 0 })
}

#[inline]
pub(crate) fn request(given: &dvt_request) -> Result<Request, Failure> {
    reserved(given.reserved)?;
    Ok(Request { id: RequestId(given.id), user: UserId(given.user), length: known(given.length) })
}

/// A number; `DVT_UNKNOWN` means that it is not known.
#[inline]
pub(crate) fn known(given: u64) -> Option<u64> {
    (given != DVT_UNKNOWN).then_some(given)
}

pub(crate) fn class(given: u32) -> Option<ClassId> {
    (given != DVT_NO_CLASS).then_some(ClassId(given))
}

#[inline]
pub(crate) fn turn_of(turn: Turn) -> dvt_turn {
    let Turn { request, releases, units, window } = turn;
    let size = size::<dvt_turn>();
    dvt_turn { size, request: request.0, releases: releases.into(), reserved: 0, units, window }
}

pub(crate) fn five_tuple(given: &dvt_five_tuple) -> Result<FiveTuple, Failure> {
    let &dvt_five_tuple {
        source_port,
        destination_port,
        source,
        destination,
        protocol,
        reserved: [one, two, three],
        ..
    } = given;
    reserved((one | two | three).into())?;
    Ok(FiveTuple { protocol, source, destination, source_port, destination_port })
}

pub(crate) fn five_tuple_of(tuple: &FiveTuple) -> dvt_five_tuple {
    let &FiveTuple { protocol, source, destination, source_port, destination_port } = tuple;
    let size = size::<dvt_five_tuple>();
    dvt_five_tuple { size, source_port, destination_port, source, destination, protocol, reserved: [0; 3] }
}
