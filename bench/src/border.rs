//! What a call through C costs over a direct one.
//!
//! A step is a packet: dequeue it, tell the scheduler what it wants to hear, enqueue another of its flow. One subject does
//! this in Rust, the other through the functions of `dovetail.h`, by pointers that the compiler cannot see through, as a
//! program in C calls them. They take turns, and the difference is taken round by round. All other work is the same: the
//! structs are filled in beforehand but for the flow and the time.
//!
//! And how much more two threads do than one, each with a handle of its own, in the time that passes.
#![allow(unsafe_code)]

use std::{
    ffi::CString,
    hint::black_box,
    mem::zeroed,
    ptr,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use dovetail::{border, structs::*};
use dovetail_bench_counts::{
    subject::{SIZES, Subject, packets_of, sizes},
    traffic::cpu_and_link,
};
use dovetail_sched::{
    Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicyError, PolicySpec, Scheduler, Setup, Stage,
};

use rustix::thread::{CpuSet, sched_setaffinity};

use crate::{
    goals,
    operations::{ROUNDS, take_turns},
    row::{Row, Unit},
    spread::Spread,
};

const FLOWS: [u32; 3] = [10, 1_000, 100_000];
/// One that needs no feedback, so that two calls are made a packet, and one that is told when each packet ends.
const POLICIES: [&str; 2] = ["drr", "drfq"];
const EVENTS: [(Stage, dvt_stage, u8); 4] = [
    (Stage::Started, dvt_stage::DVT_STARTED, 0),
    (Stage::Finished, dvt_stage::DVT_FINISHED, 0),
    (Stage::Started, dvt_stage::DVT_STARTED, 1),
    (Stage::Finished, dvt_stage::DVT_FINISHED, 1),
];
const WAYS: [&str; 2] = ["Rust", "C"];
/// So many of each are made: where their tables are in memory makes more of a difference than the calls, where caches are too
/// small for them.
const PAIRS: usize = 6;

/// For every policy and number of flows: the two ways, and what the second takes more.
pub fn rows(mut failed: impl FnMut(String)) -> Vec<Row> {
    let mut rows = Vec::new();
    for policy in POLICIES {
        for flows in FLOWS {
            eprintln!("{policy} through C, {flows} flows");
            let mut pairs = [const { Vec::new() }; WAYS.len()];
            for pair in 0..PAIRS {
                let mut measured = take_turns(pair_of(policy, flows, pair, &mut failed), flows, &mut failed);
                measured.sort_by_key(|way| WAYS.iter().position(|name| *name == way.subject));
                for (all, way) in pairs.iter_mut().zip(measured) {
                    all.extend(way.nanos);
                }
            }
            let mut row = |benchmark: String, nanos: &[f64], goal| {
                let spread = Spread::of(nanos);
                let subject = policy.into();
                rows.extend(spread.map(|spread| Row { benchmark, subject, flows, spread, unit: Unit::Nanos, goal }));
            };
            let [direct, through_c] = &pairs;
            for (way, nanos) in WAYS.iter().zip(&pairs) {
                row(format!("a packet, from {way}"), nanos, None);
            }
            let more = through_c.iter().zip(direct).map(|(c, rust)| c - rust);
            row("what C takes more".into(), &more.collect::<Vec<_>>(), Some(goals::THROUGH_C));
        }
    }
    rows
}

/// One of either way. Which is made first changes, since it says where in memory they are.
fn pair_of(policy: &str, flows: u32, pair: usize, failed: &mut impl FnMut(String)) -> Vec<(String, Box<dyn Subject>)> {
    let mut subjects: Vec<(String, Box<dyn Subject>)> = Vec::new();
    for turn in 0..WAYS.len() {
        let way = WAYS[(pair + turn) % WAYS.len()];
        let made: Result<Box<dyn Subject>, String> = if way == WAYS[0] {
            Direct::filled(policy, flows).map(|direct| Box::new(direct) as _).map_err(|error| error.to_string())
        } else {
            ThroughC::filled(policy, flows).map(|through_c| Box::new(through_c) as _)
        };
        match made {
            Ok(made) => subjects.push((way.into(), made)),
            Err(error) => failed(format!("{policy} from {way}: {error}")),
        }
    }
    subjects
}

/// What two threads do beside one, a handle each; on any cores, wherever the rest is pinned to.
pub fn two_threads(mut failed: impl FnMut(String)) -> Vec<Row> {
    const FLOWS: u32 = 1_000;
    let subject = POLICIES[0];
    eprintln!("{subject} through C, two threads");
    let (mut one, mut two) = (Vec::new(), Vec::new());
    // The first of each is a warm-up.
    for round in 0..=ROUNDS {
        for (threads, rates) in [(1, &mut one), (2, &mut two)] {
            match rate_of(threads, subject, FLOWS) {
                Ok(rate) if round > 0 => rates.push(rate),
                Ok(_) => {}
                Err(error) => {
                    failed(format!("{subject}, threads through C: {error}"));
                    return Vec::new();
                }
            }
        }
    }
    let row = |benchmark: &str, spread: Option<Spread>, unit, goal| {
        spread.map(|spread| Row {
            benchmark: benchmark.into(),
            subject: subject.into(),
            flows: FLOWS,
            spread,
            unit,
            goal,
        })
    };
    [
        row("from C, one thread", Spread::of(&one), Unit::PacketsPerSecond, None),
        row("from C, two threads with a handle each", Spread::of(&two), Unit::PacketsPerSecond, None),
        row("two threads over one", Spread::of_ratios(&two, &one), Unit::Times, Some(goals::TWO_THREADS)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Packets a second of all threads together.
fn rate_of(threads: usize, policy: &str, flows: u32) -> Result<f64, String> {
    const STEPS: u32 = 3_000_000;
    let together = Barrier::new(threads);
    let work = || -> Result<Duration, String> {
        on_any_core()?;
        let mut made = ThroughC::filled(policy, flows);
        if let Ok(subject) = &mut made {
            // From the order of filling to that of the steady state.
            let _: Result<(), String> = (0..4 * flows).try_for_each(|_| subject.step());
        }
        together.wait();
        let mut subject = made?;
        let begun = Instant::now();
        for _ in 0..STEPS {
            subject.step()?;
        }
        Ok(begun.elapsed())
    };
    let took: Result<Vec<Duration>, String> = thread::scope(|scope| {
        // Collected first: all have to begin.
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?).collect()
    });
    let longest = took?.into_iter().max().unwrap_or_default();
    Ok(threads as f64 * f64::from(STEPS) / longest.as_secs_f64())
}

/// Lets this thread go wherever it may: `bench/run.sh` pins the others.
pub fn on_any_core() -> Result<(), String> {
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|core| all.set(core));
    sched_setaffinity(None, &all).map_err(|error| format!("sched_setaffinity: {error}"))
}

/// The packets that come, one of each size for either kind of flow.
fn packets() -> [Vec<Packet>; 2] {
    [0, 1].map(|kind| {
        let packet = |bytes| {
            let demand = Demand::new(&cpu_and_link(FlowId(kind), bytes)).expect("two resources");
            Packet { flow: FlowId(kind), bytes, arrival: Nanos::ZERO, handle: 0, demand }
        };
        sizes().map(packet).to_vec()
    })
}

/// The flows' packets as they come at first: two or three of each.
fn first(flows: u32) -> impl Iterator<Item = u32> {
    (0..3).flat_map(move |place| (0..flows).filter(move |&flow| place < packets_of(flow)))
}

struct Direct {
    scheduler: Box<dyn Scheduler>,
    wanted: Vec<(Stage, u8)>,
    packets: [Vec<Packet>; 2],
    next: usize,
    now: Nanos,
}

impl Direct {
    fn filled(policy: &str, flows: u32) -> Result<Self, PolicyError> {
        let scheduler = policy.parse::<PolicySpec>()?.build(&Setup::new(2, Limits::UNLIMITED))?;
        let interest = scheduler.interest();
        let wanted = EVENTS.iter().map(|&(stage, _, resource)| (stage, resource));
        let wanted = wanted.filter(|&(stage, resource)| interest.has(stage, resource.into())).collect();
        let mut direct = Self { scheduler, wanted, packets: packets(), next: 0, now: Nanos::ZERO };
        for flow in first(flows) {
            direct.put(FlowId(flow)).map_err(PolicyError::unfit)?;
        }
        Ok(direct)
    }

    #[inline]
    fn put(&mut self, flow: FlowId) -> Result<(), &'static str> {
        let packet = &mut self.packets[flow.index() % 2][self.next];
        self.next = if self.next + 1 == SIZES { 0 } else { self.next + 1 };
        packet.flow = flow;
        packet.arrival = self.now;
        if self.scheduler.enqueue(packet, self.now).is_queued() { Ok(()) } else { Err("a packet was refused") }
    }
}

impl Subject for Direct {
    #[inline]
    fn step(&mut self) -> Result<(), String> {
        let next = self.scheduler.dequeue(self.now);
        let Some(next) = &next else { return Err("nothing is released".into()) };
        let (flow, ticket) = (next.packet.flow, next.ticket);
        let times = next.packet.demand.times();
        for &(stage, resource) in &self.wanted {
            let took = if stage == Stage::Finished { times[usize::from(resource)] } else { Nanos::ZERO };
            self.scheduler.feedback(&Feedback { flow, ticket, resource, stage, took }, self.now);
        }
        self.now += times[1];
        Ok(self.put(flow)?)
    }

    fn is_as_filled(&self, flows: u32) -> bool {
        (0..flows).all(|flow| self.scheduler.flow_backlog(FlowId(flow)).packets == u64::from(packets_of(flow)))
    }
}

type Enqueue = unsafe extern "C" fn(*mut dvt_scheduler, *const dvt_packet, u64, *mut dvt_admission) -> dvt_status;
type Dequeue = unsafe extern "C" fn(*mut dvt_scheduler, u64, *mut dvt_dispatch) -> dvt_status;
type Tell = unsafe extern "C" fn(*mut dvt_scheduler, *const dvt_event, u64) -> dvt_status;

struct ThroughC {
    scheduler: *mut dvt_scheduler,
    enqueue: Enqueue,
    dequeue: Dequeue,
    tell: Tell,
    wanted: Vec<dvt_event>,
    packets: [Vec<dvt_packet>; 2],
    dispatch: dvt_dispatch,
    next: usize,
    now_ns: u64,
}

macro_rules! sized {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        // SAFETY: structs of numbers and pointers, of which zeros are a value.
        $name { size: size_of::<$name>() as u32, $($field: $value,)* ..unsafe { zeroed() } }
    };
}

/// Whether a call said yes; errors are words.
#[inline]
fn yes(status: dvt_status) -> Result<(), String> {
    if status == dvt_status::DVT_OK { Ok(()) } else { Err(format!("{status:?}")) }
}

impl ThroughC {
    fn filled(policy: &str, flows: u32) -> Result<Self, String> {
        let policy = CString::new(policy).map_err(|error| error.to_string())?;
        let (mut scheduler, mut interest) = (ptr::null_mut(), 0);
        let setup = sized!(dvt_setup { resources: 2 });
        // SAFETY: the pointers are those of values.
        unsafe {
            yes(border::dvt_scheduler_new(policy.as_ptr(), &setup, &raw mut scheduler))?;
            yes(border::dvt_interest(scheduler, &raw mut interest))?;
        }
        let wanted = EVENTS.iter().map(|&(_, stage, resource)| (stage as u32, u32::from(resource)));
        let wanted = wanted.filter(|&(stage, resource)| border::dvt_wants(interest, stage, resource) == 1);
        let wanted = wanted.map(|(stage, resource)| sized!(dvt_event { stage: stage, resource: resource })).collect();
        let packet = |packet: &Packet| {
            let times = packet.demand.times();
            let mut given = sized!(dvt_packet { bytes: packet.bytes, resources: 2 });
            given.demand_ns[..2].copy_from_slice(&[times[0].0, times[1].0]);
            given
        };
        let mut through_c = Self {
            scheduler,
            enqueue: black_box(border::dvt_enqueue),
            dequeue: black_box(border::dvt_dequeue),
            tell: black_box(border::dvt_feedback),
            wanted,
            packets: packets().map(|kind| kind.iter().map(packet).collect()),
            dispatch: sized!(dvt_dispatch {}),
            next: 0,
            now_ns: 0,
        };
        for flow in first(flows) {
            through_c.put(flow)?;
        }
        Ok(through_c)
    }

    #[inline]
    fn put(&mut self, flow: u32) -> Result<(), String> {
        let packet = &mut self.packets[flow as usize % 2][self.next];
        self.next = if self.next + 1 == SIZES { 0 } else { self.next + 1 };
        packet.flow = flow;
        packet.arrival_ns = self.now_ns;
        let mut admission =
            dvt_admission { size: size_of::<dvt_admission>() as u32, refused: 0, evicted: 0, reserved: 0 };
        // SAFETY: a handle and values.
        yes(unsafe { (self.enqueue)(self.scheduler, packet, self.now_ns, &raw mut admission) })?;
        if admission.refused == 0 { Ok(()) } else { Err("a packet was refused".into()) }
    }
}

impl Drop for ThroughC {
    fn drop(&mut self) {
        // SAFETY: a handle.
        unsafe { border::dvt_scheduler_free(self.scheduler) };
    }
}

impl Subject for ThroughC {
    #[inline]
    fn step(&mut self) -> Result<(), String> {
        // SAFETY: a handle and values.
        yes(unsafe { (self.dequeue)(self.scheduler, self.now_ns, &raw mut self.dispatch) })?;
        let dvt_dispatch { flow, ticket, demand_ns: times, .. } = &self.dispatch;
        for event in &mut self.wanted {
            event.flow = *flow;
            event.ticket = *ticket;
            event.took_ns =
                if event.stage == dvt_stage::DVT_FINISHED as u32 { times[event.resource as usize] } else { 0 };
            // SAFETY: as above.
            yes(unsafe { (self.tell)(self.scheduler, event, self.now_ns) })?;
        }
        let flow = *flow;
        self.now_ns += times[1];
        self.put(flow)
    }

    fn is_as_filled(&self, flows: u32) -> bool {
        (0..flows).all(|flow| {
            let mut backlog = sized!(dvt_backlog {});
            // SAFETY: as above.
            let status = unsafe { border::dvt_flow_backlog(self.scheduler, flow, &raw mut backlog) };
            status == dvt_status::DVT_OK && backlog.packets == u64::from(packets_of(flow))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways serve the same packets in the same order.
    #[test]
    fn both_ways_do_the_same() {
        for policy in POLICIES {
            let (mut direct, mut through_c) =
                (Direct::filled(policy, 50).unwrap(), ThroughC::filled(policy, 50).unwrap());
            for _ in 0..2_000 {
                direct.step().unwrap();
                through_c.step().unwrap();
                assert_eq!((direct.now.0, direct.next), (through_c.now_ns, through_c.next));
            }
            assert!(direct.is_as_filled(50) && through_c.is_as_filled(50));
        }
    }
}
