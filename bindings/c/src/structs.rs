//! Every type that C sees.
//!
//! All structs are plain numbers without padding, and begin with their size, so that a later version can append fields and still
//! know which version a program was compiled with. Enums from C are read as numbers and checked. The names follow C's style.
#![allow(non_camel_case_types)]

use std::ffi::c_char;

/// The version of the binary interface that this header describes. dvt_abi_version() returns the library's.
pub const DVT_ABI_VERSION: u32 = 1;
/// The maximum number of resources.
pub const DVT_MAX_RESOURCES: usize = 8;
/// The size of the array for a name, including the terminating zero.
pub const DVT_NAME_LENGTH: usize = 64;
/// The size of the array for a summary, including the terminating zero.
pub const DVT_SUMMARY_LENGTH: usize = 256;
/// A flag: also detect mistakes that are expensive to detect. A packet scheduler checks that no packet is queued twice;
/// a request scheduler, that the users, classes and requests it is given exist and that no id is in use; all of them,
/// and a flow table, that time does not go backwards and, reliably, that no two threads use the handle at once.
pub const DVT_CHECKED: u32 = 1;
/// A length or time that is not known.
pub const DVT_UNKNOWN: u64 = u64::MAX;
/// No class, or an unknown one.
pub const DVT_NO_CLASS: u32 = u32::MAX;

/// The result of a call.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_status {
    /// Success; any output has been written.
    DVT_OK = 0,
    /// There is nothing to return now, or the call is not possible now. Nothing has been written.
    DVT_NONE = 1,
    /// A pointer is misaligned, or null where that is not allowed.
    DVT_ERROR_POINTER = -1,
    /// The `size` of a struct is not the one that the library expects.
    DVT_ERROR_SIZE = -2,
    /// Not a handle, or a handle of another kind.
    DVT_ERROR_HANDLE = -3,
    /// The handle has been freed.
    DVT_ERROR_FREED = -4,
    /// Another call is using the handle.
    DVT_ERROR_BUSY = -5,
    /// An earlier call with the handle returned DVT_ERROR_INTERNAL: it can only be freed.
    DVT_ERROR_POISONED = -6,
    /// Internal error: a bug in the library. From now on the handle can only be freed.
    DVT_ERROR_INTERNAL = -7,
    /// The policy string is invalid, or asks for a change that a running scheduler cannot make.
    DVT_ERROR_POLICY = -8,
    /// A number is out of range.
    DVT_ERROR_RANGE = -9,
    /// A string is not UTF-8, or is longer than 4096 bytes.
    DVT_ERROR_TEXT = -10,
    /// The scheduler does not support this: it does not learn costs, or does not order packets before later resources.
    DVT_ERROR_UNSUPPORTED = -11,
    /// The packet is already queued, or the request's id is in use (with DVT_CHECKED).
    DVT_ERROR_DUPLICATE = -12,
    /// Time goes backwards (with DVT_CHECKED).
    DVT_ERROR_TIME = -13,
    /// There is no such user, class or request (with DVT_CHECKED).
    DVT_ERROR_UNKNOWN = -14,
}

/// An event of a packet on a resource. The last event of a packet is DVT_FINISHED on the last resource, DVT_DROPPED or
/// DVT_ABORTED.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_stage {
    /// The packet started on the resource.
    DVT_STARTED = 0,
    /// The packet finished on the resource.
    DVT_FINISHED = 1,
    /// The packet left the pipeline after the previous resource, and will never start on this one.
    DVT_DROPPED = 2,
    /// The packet left the pipeline while it was on the resource.
    DVT_ABORTED = 3,
}

/// Which packet is dropped when a limit is reached. Policies with a rule of their own ignore this.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_drop_policy {
    /// The arriving packet is refused.
    DVT_TAIL = 0,
    /// The oldest packet of the arriving packet's flow is evicted.
    DVT_HEAD = 1,
    /// When the whole buffer is full, the newest packet of the flow with the most bytes is evicted.
    DVT_LONGEST = 2,
}

/// Why a packet was refused.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_refusal {
    /// It was not refused: it is queued.
    DVT_QUEUED = 0,
    /// The flow's queue is full.
    DVT_FLOW_FULL = 1,
    /// The scheduler's buffer is full.
    DVT_BUFFER_FULL = 2,
    /// The flow's id is not below the setup's `flows`.
    DVT_TOO_MANY_FLOWS = 3,
    /// The packet's number of resources is not the scheduler's.
    DVT_WRONG_DEMAND = 4,
    /// A reason added by a later version.
    DVT_REFUSED_OTHERWISE = 255,
}

/// Which part of a packet a program reads.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_processing {
    /// The whole packet: the cost grows with its length.
    DVT_PAYLOAD = 0,
    /// Only the header.
    DVT_HEADER = 1,
}

/// What a policy schedules.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum dvt_orders {
    /// Packets in front of a pipeline of resources: dvt_scheduler_new().
    DVT_PACKETS = 0,
    /// Requests whose responses arrive over a narrow link: dvt_requests_new().
    DVT_REQUESTS = 1,
}

/// A packet scheduler.
pub struct dvt_scheduler {
    _private: [u8; 0],
}

/// A request scheduler. It ignores calls that name an unknown user, class or request; with DVT_CHECKED they return
/// DVT_ERROR_UNKNOWN.
pub struct dvt_requests {
    _private: [u8; 0],
}

/// A flow table: maps 5-tuples to flow ids.
pub struct dvt_flows {
    _private: [u8; 0],
}

/// Estimates the queue at the far end of a link from probes.
pub struct dvt_far {
    _private: [u8; 0],
}

/// The receive window that a connection to a server offers.
pub struct dvt_offer {
    _private: [u8; 0],
}

/// A program that processes packets, for policies that learn the costs of packets.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_program {
    /// sizeof(dvt_program)
    pub size: u32,
    /// Which part of a packet it reads: a dvt_processing.
    pub processing: u32,
    /// Its name.
    pub name: *const c_char,
    /// The cost of a packet on the first resource, such as "15ns*bytes + 84.5us", or null if it is not known.
    pub cost: *const c_char,
    /// The average ratio of the length after processing to the length before: above 0, and 1 for most programs.
    pub expansion: f64,
}

/// The parameters of a packet scheduler. A limit of 0 means no limit.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_setup {
    /// sizeof(dvt_setup)
    pub size: u32,
    /// The number of resources that each packet crosses: 1 to DVT_MAX_RESOURCES.
    pub resources: u32,
    /// 0 or DVT_CHECKED.
    pub flags: u32,
    /// Which packet is dropped when a limit is reached: a dvt_drop_policy.
    pub on_full: u32,
    /// The maximum number of queued packets per flow.
    pub flow_packets: u32,
    /// The maximum number of queued packets of all flows together.
    pub packets: u32,
    /// Flow ids must be below this, because they index tables. 0 means 2^26, the maximum.
    pub flows: u32,
    /// The number of programs.
    pub program_count: u32,
    /// The maximum number of queued bytes per flow.
    pub flow_bytes: u64,
    /// The maximum number of queued bytes of all flows together.
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
    /// The id of its flow, from a dvt_flows or assigned by the caller, starting at 0: ids should be dense.
    pub flow: u32,
    /// Its length on the wire, in bytes.
    pub bytes: u32,
    /// The number of entries used in `demand_ns`: the setup's number of resources. In a packet that the library writes,
    /// the remaining entries are left unchanged.
    pub resources: u32,
    /// When it arrived.
    pub arrival_ns: u64,
    /// The caller's index or address for the packet, which the library does not interpret.
    pub handle: u64,
    /// The time it needs on each resource, as far as that is known.
    pub demand_ns: [u64; DVT_MAX_RESOURCES],
}

/// What happened to an offered packet, and to others because of it. Check both fields: a packet can be refused even
/// though others were evicted.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_admission {
    /// sizeof(dvt_admission)
    pub size: u32,
    /// DVT_QUEUED, or why the packet was refused: a dvt_refusal. A refused packet still belongs to the caller.
    pub refused: u32,
    /// Whether other packets were evicted: collect them with dvt_poll_evicted().
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
    /// The number of entries written to `demand_ns`; the rest are left unchanged.
    pub resources: u32,
    /// When it arrived.
    pub arrival_ns: u64,
    /// The caller's index or address for it.
    pub handle: u64,
    /// The policy's ticket for it, to be passed in every dvt_event about it.
    pub ticket: u64,
    /// The time it needs on each resource.
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
    /// The resource, counting from 0.
    pub resource: u32,
    /// What happened: a dvt_stage.
    pub stage: u32,
    /// The ticket from the packet's dvt_dispatch.
    pub ticket: u64,
    /// The time that the packet actually took on the resource: for DVT_FINISHED and, up to the interruption, for
    /// DVT_ABORTED; otherwise 0.
    pub took_ns: u64,
}

/// What is queued.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_backlog {
    /// sizeof(dvt_backlog)
    pub size: u32,
    /// 0
    pub reserved: u32,
    /// The number of packets.
    pub packets: u64,
    /// Their total length in bytes.
    pub bytes: u64,
}

/// A figure that a policy reports about itself.
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

/// What has been learnt about a program.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_learnt {
    /// sizeof(dvt_learnt)
    pub size: u32,
    /// Which part of a packet it reads: a dvt_processing.
    pub processing: u32,
    /// Whether its cost is known.
    pub has_cost: u32,
    /// 0
    pub reserved: u32,
    /// Nanoseconds per byte on the first resource.
    pub per_byte_ns: f64,
    /// Nanoseconds per packet on the first resource.
    pub per_packet_ns: f64,
    /// The average ratio of the length after processing to the length before.
    pub expansion: f64,
    /// Its name.
    pub name: [c_char; DVT_NAME_LENGTH],
}

/// An entry in the list of policies.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct dvt_policy {
    /// sizeof(dvt_policy)
    pub size: u32,
    /// What it schedules: a dvt_orders.
    pub orders: u32,
    /// Its name in policy strings.
    pub name: [c_char; DVT_NAME_LENGTH],
    /// Work per packet or per event, where n is the number of backlogged flows.
    pub cost: [c_char; DVT_NAME_LENGTH],
    /// What it does, in a few words.
    pub summary: [c_char; DVT_SUMMARY_LENGTH],
}

/// The parameters of a request scheduler. dvt_request_setup_for_bytes() fills them in for HTTP over TCP. Units are
/// whatever the narrow resource carries: bytes for HTTP, tokens for an inference server.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct dvt_request_setup {
    /// sizeof(dvt_request_setup)
    pub size: u32,
    /// 0 or DVT_CHECKED.
    pub flags: u32,
    /// The link's capacity in units per second, 0.001 to 1e15: its goodput, not its raw rate.
    pub rate: f64,
    /// Units of a response that one turn permits: at least 1.
    pub quantum: u64,
    /// The initial window: units that may be in flight beyond those that may be read.
    pub window: u64,
    /// The largest window: at least `window`.
    pub longest_window: u64,
    /// Units that arrive with every response and are not part of its length, such as a header.
    pub overhead: u64,
    /// Ids of requests, users and classes must be below this, because they index tables. 0 means 2^20; the maximum is
    /// 2^26.
    pub ids: u32,
    /// Must be 0.
    pub reserved: u32,
}

/// A request.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_request {
    /// sizeof(dvt_request)
    pub size: u32,
    /// Its id, chosen by the caller: ids should be dense. It can be reused after dvt_requests_ended() or
    /// dvt_requests_cancel().
    pub id: u32,
    /// The id of its user.
    pub user: u32,
    /// Must be 0.
    pub reserved: u32,
    /// The response's length in units, or DVT_UNKNOWN.
    pub length: u64,
}

/// What to do next with a request.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_turn {
    /// sizeof(dvt_turn)
    pub size: u32,
    /// The id of the request.
    pub request: u32,
    /// 1 if the request is to be sent to its server now; 0 if it was sent before.
    pub releases: u32,
    /// 0
    pub reserved: u32,
    /// How many more units of the response may be read; UINT64_MAX for all of them.
    pub units: u64,
    /// How many units may be in flight beyond those that may be read: the receive window.
    pub window: u64,
}

/// The parameters of a flow table.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_flows_setup {
    /// sizeof(dvt_flows_setup)
    pub size: u32,
    /// The maximum number of flows: 1 to 2^26. Ids are below this.
    pub most: u32,
    /// 0 or DVT_CHECKED.
    pub flags: u32,
    /// Must be 0.
    pub reserved: u32,
    /// How long after its last packet a flow may be retired.
    pub timeout_ns: u64,
    /// The key of the hash. It should be random and secret if packets come from a network, so that no sender can choose
    /// flows that collide.
    pub hash_key: [u8; 16],
}

/// One direction of a conversation. IPv4 addresses are IPv4-mapped: ten bytes of 0, two bytes of 0xff, then the
/// address.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_five_tuple {
    /// sizeof(dvt_five_tuple)
    pub size: u32,
    /// The source port, or 0 if the protocol has none.
    pub source_port: u16,
    /// The destination port, or 0 if the protocol has none.
    pub destination_port: u16,
    /// The source address.
    pub source: [u8; 16],
    /// The destination address.
    pub destination: [u8; 16],
    /// The IP protocol number.
    pub protocol: u8,
    /// Must be 0.
    pub reserved: [u8; 3],
}

/// The result of a lookup.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_lookup {
    /// sizeof(dvt_lookup)
    pub size: u32,
    /// The id of the flow.
    pub flow: u32,
    /// 1 if the flow is new, else 0. The id of a new flow may have belonged to a retired one.
    pub is_new: u32,
    /// 0
    pub reserved: u32,
}

/// The counters of a flow table.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct dvt_flow_counts {
    /// sizeof(dvt_flow_counts)
    pub size: u32,
    /// The number of flows in the table.
    pub flows: u32,
    /// Flows evicted before their timeout.
    pub evictions: u64,
}
