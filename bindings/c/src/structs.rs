//! Every type that C sees.
//!
//! All are plain numbers without padding, and begin with their size, so that a later version can append fields to a struct and
//! still know which version a program was compiled with. Enums from C are read as numbers and checked. Their names are C's.
#![allow(non_camel_case_types)]

use std::ffi::c_char;

/// The version of the binary interface that this header describes. dvt_abi_version() has that of the library.
pub const DVT_ABI_VERSION: u32 = 1;
/// The largest number of resources.
pub const DVT_MAX_RESOURCES: usize = 8;
/// The longest name that the library writes, its end included.
pub const DVT_NAME_LENGTH: usize = 64;
/// The longest sentence that the library writes into a struct, its end included.
pub const DVT_SUMMARY_LENGTH: usize = 256;
/// A flag: examine what costs time to examine. Of a packet scheduler, whether a packet is queued already; of every handle,
/// whether time runs back, and with certainty whether two threads use it at once.
pub const DVT_CHECKED: u32 = 1;
/// A length or a time that is not known.
pub const DVT_UNKNOWN: u64 = u64::MAX;
/// No class, or an unknown one.
pub const DVT_NO_CLASS: u32 = u32::MAX;

/// What a call came to.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_status {
    /// Yes: it is done, and what was asked for is written.
    DVT_OK = 0,
    /// No: there is nothing now, or it cannot be now. Nothing is written.
    DVT_NONE = 1,
    /// A pointer is null where it may not be, or is not aligned.
    DVT_ERROR_POINTER = -1,
    /// A struct's size is not the one that the library knows.
    DVT_ERROR_SIZE = -2,
    /// The handle is none, or of another kind.
    DVT_ERROR_HANDLE = -3,
    /// The handle was freed.
    DVT_ERROR_FREED = -4,
    /// Another call uses the handle at this moment.
    DVT_ERROR_BUSY = -5,
    /// An earlier call with the handle ended in DVT_ERROR_INTERNAL: it can only be freed.
    DVT_ERROR_POISONED = -6,
    /// The library failed within, which is a bug of it. The handle can only be freed from now on.
    DVT_ERROR_INTERNAL = -7,
    /// The policy string names nothing, sets what cannot be set, or cannot take the place of the one that runs.
    DVT_ERROR_POLICY = -8,
    /// A number is out of its range.
    DVT_ERROR_RANGE = -9,
    /// A text is not UTF-8, or has more than 4096 bytes.
    DVT_ERROR_TEXT = -10,
    /// The scheduler has no such part: it does not learn, or has no later stages.
    DVT_ERROR_UNSUPPORTED = -11,
    /// The packet is already queued, or the request's id is in use (with DVT_CHECKED).
    DVT_ERROR_DUPLICATE = -12,
    /// Time runs backwards (with DVT_CHECKED).
    DVT_ERROR_TIME = -13,
    /// There is no such user, class or request (with DVT_CHECKED).
    DVT_ERROR_UNKNOWN = -14,
}

/// What happened to a packet on a resource. A packet's life ends with DVT_FINISHED on the last resource, or with one of
/// DVT_DROPPED and DVT_ABORTED.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_stage {
    /// It started on the resource.
    DVT_STARTED = 0,
    /// It finished on the resource.
    DVT_FINISHED = 1,
    /// It left the pipeline after the resource before, and will never start on this one.
    DVT_DROPPED = 2,
    /// It left the pipeline while it was on the resource.
    DVT_ABORTED = 3,
}

/// Who loses a packet when a limit is reached. Policies with a rule of their own go by that.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_drop_policy {
    /// The arriving packet is refused.
    DVT_TAIL = 0,
    /// The oldest packet of the arriving packet's flow goes.
    DVT_HEAD = 1,
    /// When the whole buffer is full, the flow with the most bytes loses its youngest packet.
    DVT_LONGEST = 2,
}

/// Why a packet was refused.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_refusal {
    /// It was not: it is queued.
    DVT_QUEUED = 0,
    /// Its flow's queue is full.
    DVT_FLOW_FULL = 1,
    /// The scheduler's buffer is full.
    DVT_BUFFER_FULL = 2,
    /// Its flow's id is not below the setup's `flows`.
    DVT_TOO_MANY_FLOWS = 3,
    /// Its demand is not over the scheduler's number of resources.
    DVT_WRONG_DEMAND = 4,
    /// Another reason, of a later version.
    DVT_REFUSED_OTHERWISE = 255,
}

/// What of a packet a program reads.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_processing {
    /// All of it: the cost grows with the length.
    DVT_PAYLOAD = 0,
    /// Its header only.
    DVT_HEADER = 1,
}

/// What a policy orders.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_orders {
    /// Packets before a pipeline of resources: dvt_scheduler_new().
    DVT_PACKETS = 0,
    /// Requests whose responses come over a narrow link: dvt_requests_new().
    DVT_REQUESTS = 1,
}

/// A packet scheduler.
pub struct dvt_scheduler {
    _private: [u8; 0],
}

/// A request scheduler.
pub struct dvt_requests {
    _private: [u8; 0],
}

/// A flow table: from 5-tuples to flow ids.
pub struct dvt_flows {
    _private: [u8; 0],
}

/// The queue at the far end of a link, as probes see it.
pub struct dvt_far {
    _private: [u8; 0],
}

/// A program that packets reference, for policies that learn what packets cost.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_program {
    /// sizeof(dvt_program)
    pub size: u32,
    /// What it reads: a dvt_processing.
    pub processing: u32,
    /// Its name.
    pub name: *const c_char,
    /// What a packet costs on the first resource, such as "15ns*bytes + 84.5us"; null where that is not known.
    pub cost: *const c_char,
    /// Length after processing over length before, on average: more than 0, and 1 for most.
    pub expansion: f64,
}

/// What a packet scheduler is built with. Limits that are 0 are no limits.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_setup {
    /// sizeof(dvt_setup)
    pub size: u32,
    /// How many resources a packet crosses: 1 to DVT_MAX_RESOURCES.
    pub resources: u32,
    /// 0 or DVT_CHECKED.
    pub flags: u32,
    /// Who loses a packet when a limit is reached: a dvt_drop_policy.
    pub on_full: u32,
    /// The most packets of a flow that wait.
    pub flow_packets: u32,
    /// The most packets of all flows that wait.
    pub packets: u32,
    /// Flow ids are below this: tables are indexed by them. 0 is 2^26, the most.
    pub flows: u32,
    /// How many programs there are.
    pub program_count: u32,
    /// The most bytes of a flow that wait.
    pub flow_bytes: u64,
    /// The most bytes of all flows that wait.
    pub bytes: u64,
    /// The programs, numbered from 0; null if there are none.
    pub programs: *const dvt_program,
}

/// A packet.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_packet {
    /// sizeof(dvt_packet)
    pub size: u32,
    /// Its flow, a dense id: from a dvt_flows, or given out by the caller from 0.
    pub flow: u32,
    /// Its length on the wire, in bytes.
    pub bytes: u32,
    /// How many of `demand_ns` are given: the setup's number of resources.
    pub resources: u32,
    /// When it arrived.
    pub arrival_ns: u64,
    /// The caller's name for it, which the library does not look at: an index or an address.
    pub handle: u64,
    /// What it takes on each resource, as far as that is known.
    pub demand_ns: [u64; DVT_MAX_RESOURCES],
}

/// What became of a packet that was offered, and of others because of it. Examine both: a packet can be refused after
/// others had to go.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_admission {
    /// sizeof(dvt_admission)
    pub size: u32,
    /// DVT_QUEUED, or why it was refused: a dvt_refusal. A refused packet is the caller's.
    pub refused: u32,
    /// Whether others lost their places: collect them with dvt_poll_evicted().
    pub evicted: u32,
    /// 0
    pub reserved: u32,
}

/// A packet that was released to the first resource.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_dispatch {
    /// sizeof(dvt_dispatch)
    pub size: u32,
    /// The packet's flow.
    pub flow: u32,
    /// Its length in bytes.
    pub bytes: u32,
    /// How many of `demand_ns` are written; those behind are not touched.
    pub resources: u32,
    /// When it arrived.
    pub arrival_ns: u64,
    /// The caller's name for it.
    pub handle: u64,
    /// The policy's note on it, for every dvt_event about it.
    pub ticket: u64,
    /// What it takes on each resource.
    pub demand_ns: [u64; DVT_MAX_RESOURCES],
}

/// Something that happened to a released packet.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_event {
    /// sizeof(dvt_event)
    pub size: u32,
    /// The packet's flow.
    pub flow: u32,
    /// The resource, from 0.
    pub resource: u32,
    /// What happened there: a dvt_stage.
    pub stage: u32,
    /// The ticket that came with the packet.
    pub ticket: u64,
    /// The time that the packet really took there, for DVT_FINISHED and, as far as it came, DVT_ABORTED; else 0.
    pub took_ns: u64,
}

/// Packets that are queued.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_backlog {
    /// sizeof(dvt_backlog)
    pub size: u32,
    /// 0
    pub reserved: u32,
    /// How many.
    pub packets: u64,
    /// How many bytes they are.
    pub bytes: u64,
}

/// One of a policy's own figures.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_figure {
    /// sizeof(dvt_figure)
    pub size: u32,
    /// 0
    pub reserved: u32,
    /// Its value.
    pub value: f64,
    /// Its name.
    pub name: [c_char; DVT_NAME_LENGTH],
}

/// What was learnt of a program.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_learnt {
    /// sizeof(dvt_learnt)
    pub size: u32,
    /// What it reads: a dvt_processing.
    pub processing: u32,
    /// Whether its cost is known.
    pub has_cost: u32,
    /// 0
    pub reserved: u32,
    /// Nanoseconds for each byte on the first resource.
    pub per_byte_ns: f64,
    /// Nanoseconds for each packet there.
    pub per_packet_ns: f64,
    /// Length after processing over length before, on average.
    pub expansion: f64,
    /// Its name.
    pub name: [c_char; DVT_NAME_LENGTH],
}

/// A line of the list of policies.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_policy {
    /// sizeof(dvt_policy)
    pub size: u32,
    /// What it orders: a dvt_orders.
    pub orders: u32,
    /// Its name in policy strings.
    pub name: [c_char; DVT_NAME_LENGTH],
    /// Work per packet or per event, n being the number of backlogged flows.
    pub cost: [c_char; DVT_NAME_LENGTH],
    /// What it does.
    pub summary: [c_char; DVT_SUMMARY_LENGTH],
}

/// What a request scheduler is built with. dvt_request_setup_for_bytes() fills it in for HTTP over TCP. Units are what the
/// narrow resource carries: bytes for HTTP, tokens for an inference server.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct dvt_request_setup {
    /// sizeof(dvt_request_setup)
    pub size: u32,
    /// 0 or DVT_CHECKED.
    pub flags: u32,
    /// The link's capacity in units a second: its goodput, not its raw rate.
    pub rate: f64,
    /// Units of a response that one turn permits.
    pub quantum: u64,
    /// Units that may be in flight at first beyond those that may be read.
    pub window: u64,
    /// The largest window.
    pub longest_window: u64,
    /// What arrives with every response and is not part of its length.
    pub overhead: u64,
    /// Ids of requests, users and classes are below this: tables are indexed by them. 0 is 2^20; the most is 2^26.
    pub ids: u32,
    /// 0
    pub reserved: u32,
}

/// A request that arrived.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_request {
    /// sizeof(dvt_request)
    pub size: u32,
    /// Its id, dense, chosen by the caller. It is free again after dvt_requests_ended() or dvt_requests_cancel().
    pub id: u32,
    /// Its user, a dense id.
    pub user: u32,
    /// 0
    pub reserved: u32,
    /// The response's length in units if it is known, else DVT_UNKNOWN.
    pub length: u64,
}

/// What to do next with a request.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_turn {
    /// sizeof(dvt_turn)
    pub size: u32,
    /// The request.
    pub request: u32,
    /// Whether to send it to its server now. Otherwise it was sent before.
    pub releases: u32,
    /// 0
    pub reserved: u32,
    /// So many more units of the response may be read; UINT64_MAX for all of them.
    pub units: u64,
    /// So many units may be in flight beyond those that may be read: the receive window.
    pub window: u64,
}

/// What a flow table is built with.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_flows_setup {
    /// sizeof(dvt_flows_setup)
    pub size: u32,
    /// The most flows: 1 to 2^26. Ids are below this.
    pub most: u32,
    /// 0 or DVT_CHECKED.
    pub flags: u32,
    /// 0
    pub reserved: u32,
    /// A flow is forgotten so long after its last packet.
    pub timeout_ns: u64,
    /// Random and secret where packets come from a network, so that a sender cannot choose flows that collide.
    pub hash_key: [u8; 16],
}

/// One direction of a conversation. IPv4 addresses are IPv4-mapped: ten bytes 0, two bytes 0xff, then the address.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_five_tuple {
    /// sizeof(dvt_five_tuple)
    pub size: u32,
    /// Source port, 0 where the protocol has none.
    pub source_port: u16,
    /// Destination port, 0 where the protocol has none.
    pub destination_port: u16,
    /// Who sent it.
    pub source: [u8; 16],
    /// To whom.
    pub destination: [u8; 16],
    /// IP protocol number.
    pub protocol: u8,
    /// 0
    pub reserved: [u8; 3],
}

/// What a look-up found.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_lookup {
    /// sizeof(dvt_lookup)
    pub size: u32,
    /// The flow's id.
    pub flow: u32,
    /// Whether the flow is new. Its id may have been another's, which was retired.
    pub is_new: u32,
    /// 0
    pub reserved: u32,
}

/// What is in a flow table.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_flow_counts {
    /// sizeof(dvt_flow_counts)
    pub size: u32,
    /// How many flows are known.
    pub flows: u32,
    /// How many flows made way for others before their timeout.
    pub evictions: u64,
}
