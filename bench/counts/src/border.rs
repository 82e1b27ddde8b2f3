//! A packet from Rust and from C: the cost of passing through the functions of `dovetail.h`.
//!
//! A step is one packet: dequeue it, give the scheduler the feedback that it wants, enqueue another packet of its flow. One
//! subject does this in Rust, the other through C's functions, by pointers that the compiler cannot see through, as a
//! program in C calls them. All other work is the same: the structs are filled in beforehand except for the flow and the
//! time, and whether a call succeeded is one comparison.
#![allow(unsafe_code)]

use std::{ffi::CString, fmt, hint::black_box, mem::zeroed, ptr};

use dovetail::{border, structs::*};
use dovetail_sched::{
    Demand, Feedback, FlowId, Limits, Nanos, Packet, PolicyError, PolicySpec, Scheduler, Setup, Stage,
};

use crate::{
    subject::{SIZES, Subject, packets_of, sizes},
    traffic::cpu_and_link,
};

/// One policy that needs no feedback, with two calls per packet, and one that is told when each packet ends.
pub const POLICIES: [&str; 2] = ["drr", "drfq"];
const EVENTS: [(Stage, dvt_stage, u8); 4] = [
    (Stage::Started, dvt_stage::DVT_STARTED, 0),
    (Stage::Finished, dvt_stage::DVT_FINISHED, 0),
    (Stage::Started, dvt_stage::DVT_STARTED, 1),
    (Stage::Finished, dvt_stage::DVT_FINISHED, 1),
];

/// How a scheduler is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The scheduler's methods.
    Rust,
    /// The functions of `dovetail.h`.
    C,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Rust, Self::C];

    /// A scheduler called this way, with the packets of `flows` flows queued.
    ///
    /// # Errors
    /// When the policy is not suitable.
    pub fn filled(self, policy: &str, flows: u32) -> Result<Box<dyn Subject>, String> {
        Ok(match self {
            Self::Rust => Box::new(Direct::filled(policy, flows).map_err(|error| error.to_string())?),
            Self::C => Box::new(ThroughC::filled(policy, flows)?),
        })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rust => "Rust",
            Self::C => "C",
        })
    }
}

/// The packets to enqueue, one of each size for either kind of flow.
fn packets() -> [Vec<Packet>; 2] {
    [0, 1].map(|kind| {
        let packet = |bytes| {
            let demand = Demand::new(&cpu_and_link(FlowId(kind), bytes)).expect("two resources");
            Packet { flow: FlowId(kind), bytes, arrival: Nanos::ZERO, handle: 0, demand }
        };
        sizes().map(packet).to_vec()
    })
}

/// The flows of the initial packets: two or three per flow.
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

    #[inline(always)]
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

/// Whether a call succeeded: one comparison, as in a program in C.
#[inline(always)]
fn yes(status: dvt_status) -> Result<(), dvt_status> {
    if status == dvt_status::DVT_OK { Ok(()) } else { Err(status) }
}

#[cold]
fn in_words(status: dvt_status) -> String {
    format!("{status:?}")
}

impl ThroughC {
    fn filled(policy: &str, flows: u32) -> Result<Self, String> {
        let policy = CString::new(policy).map_err(|error| error.to_string())?;
        let (mut scheduler, mut interest) = (ptr::null_mut(), 0);
        let setup = sized!(dvt_setup { resources: 2 });
        // SAFETY: the pointers are those of values.
        unsafe {
            yes(border::dvt_scheduler_new(policy.as_ptr(), &setup, &raw mut scheduler)).map_err(in_words)?;
            yes(border::dvt_interest(scheduler, &raw mut interest)).map_err(in_words)?;
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
            through_c.put(flow).map_err(in_words)?;
        }
        Ok(through_c)
    }

    #[inline(always)]
    fn put(&mut self, flow: u32) -> Result<(), dvt_status> {
        let packet = &mut self.packets[flow as usize % 2][self.next];
        self.next = if self.next + 1 == SIZES { 0 } else { self.next + 1 };
        packet.flow = flow;
        packet.arrival_ns = self.now_ns;
        let mut admission =
            dvt_admission { size: size_of::<dvt_admission>() as u32, refused: 0, evicted: 0, reserved: 0 };
        // SAFETY: a handle and values.
        yes(unsafe { (self.enqueue)(self.scheduler, packet, self.now_ns, &raw mut admission) })?;
        // Without limits, no packet is refused.
        if admission.refused == 0 { Ok(()) } else { Err(dvt_status::DVT_NONE) }
    }

    #[inline(always)]
    fn packet(&mut self) -> Result<(), dvt_status> {
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
        self.packet().map_err(in_words)
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
