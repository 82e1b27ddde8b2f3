//! Captures: pcap and pcapng, plain or gzip.
//!
//! Packets have their length on the wire; that a capture kept only the first bytes of each does not matter as long as these
//! include the headers. The first packet's time is 0. Irregular captures are read all the same: see
//! [`Capture::notices`](super::Workload::notices).

mod frame;
mod records;
mod steady;

use dovetail_sched::{
    FlowId, Nanos,
    cost::{ProgramId, ProgramTable},
    flow::FlowTable,
};

use self::{
    frame::{FlowKey, KNOWN_LINKS, Sight, flow_of},
    records::{End, Next, Record, Records, Skipped, Unopened},
};
use super::{
    Arrival, CaptureOptions, EMPTY, MAX_FLOWS, Notice, Workload, WorkloadError,
    input::{Bytes, peek, unpack},
    mix,
    random::Random,
};

/// A capture as a workload.
pub struct Capture {
    records: Option<Records>,
    file: String,
    options: CaptureOptions,
    flows: FlowTable<FlowKey>,
    class_of: Vec<u16>,
    clock: Clock,
    packets: u64,
    /// The last link type that was not supported.
    unknown_link: Option<i32>,
    odd: Odd,
}

/// Counts of irregularities.
#[derive(Debug, Default)]
struct Odd {
    earlier: u64,
    timeless: u64,
    truncated: u64,
    headers_cut: u64,
    undecodable: u64,
    empty: u64,
    shorter_than_captured: u64,
    damaged_blocks: u64,
    no_interface: u64,
    unknown_link: u64,
    obsolete: u64,
    cut_end: u64,
    damaged_end: u64,
}

/// Converts the file's time to the workload's.
#[derive(Debug, Default)]
struct Clock {
    first: Option<i128>,
    latest: i128,
}

impl Clock {
    /// Nanoseconds since the first packet, never decreasing; and whether the timestamp did decrease.
    #[inline]
    fn tell(&mut self, time: i128) -> (u64, bool) {
        let first = *self.first.get_or_insert(time);
        let since = time - first;
        let back = since < self.latest;
        self.latest = self.latest.max(since);
        (self.latest.min(i128::from(u64::MAX)) as u64, back)
    }
}

/// The contents of a record, without its bytes.
struct Seen {
    time: Option<i128>,
    bytes: u32,
    captured: usize,
    key: FlowKey,
    sight: Sight,
}

impl Seen {
    #[inline]
    fn of(record: &Record<'_>) -> Self {
        let (key, sight) = flow_of(record.link, record.data);
        Self { time: record.time, bytes: record.bytes, captured: record.data.len(), key, sight }
    }
}

impl Capture {
    /// Starts to read a capture. `file` is its name for messages.
    ///
    /// # Errors
    /// [`WorkloadError`] when the bytes cannot be read or are not a capture, or the capture's link type is not supported.
    pub fn open(read: Bytes, file: &str, options: CaptureOptions) -> Result<Self, WorkloadError> {
        let failed = |source| WorkloadError::Read { file: file.into(), source };
        let (head, read) = unpack(read).and_then(peek::<4>).map_err(failed)?;
        let what = match Records::open(&head, read) {
            Ok(records) => {
                let key = [mix(options.seed, 0), mix(options.seed, 1)].map(u64::to_le_bytes);
                let mut hash_key = [0; 16];
                hash_key[..8].copy_from_slice(&key[0]);
                hash_key[8..].copy_from_slice(&key[1]);
                // No timeout: a flow keeps its id, so that its records remain identifiable throughout.
                let flows = FlowTable::new(MAX_FLOWS, Nanos::MAX, hash_key).expect("the bound is in the table's range");
                return Ok(Self {
                    records: Some(records),
                    file: file.into(),
                    options,
                    flows,
                    class_of: Vec::new(),
                    clock: Clock::default(),
                    packets: 0,
                    unknown_link: None,
                    odd: Odd::default(),
                });
            }
            Err(Unopened::Failed(source)) => return Err(failed(source)),
            Err(Unopened::Empty) => "is empty: a capture in pcap or pcapng format is needed".to_string(),
            Err(Unopened::Unknown(magic)) => {
                let known = known_format(magic);
                format!("is not a capture: it starts with {magic:02x?}{known}, not as pcap or pcapng do")
            }
            Err(Unopened::BadHeader) => "is not a capture: its header is cut off or makes no sense".to_string(),
            Err(Unopened::UnknownLink(number)) => unknown_link(number),
        };
        Err(WorkloadError::File { file: file.into(), what })
    }

    fn arrival(&mut self, seen: &Seen) -> Result<Arrival, WorkloadError> {
        self.packets += 1;
        let odd = &mut self.odd;
        let since = match seen.time {
            Some(time) => {
                let (since, back) = self.clock.tell(time);
                odd.earlier += u64::from(back);
                since
            }
            None => {
                odd.timeless += 1;
                self.clock.latest.min(i128::from(u64::MAX)) as u64
            }
        };
        let cut = seen.captured < seen.bytes as usize;
        odd.truncated += u64::from(cut);
        odd.shorter_than_captured += u64::from(seen.captured > seen.bytes as usize);
        odd.empty += u64::from(seen.bytes == 0);
        match (seen.sight, cut) {
            (Sight::Whole, _) => {}
            (Sight::Partial, true) => odd.headers_cut += 1,
            (Sight::Partial, false) => odd.undecodable += 1,
        }
        let found = self.flows.lookup(seen.key, Nanos(since), |_| false);
        let flow = found.ok_or_else(|| self.error(format!("there are more than {MAX_FLOWS} flows")))?.flow;
        if flow.index() == self.class_of.len() {
            let hash = seen.key.hash(self.options.seed);
            let class = self.options.classes.of_flow(seen.key.tuple(), hash);
            self.class_of.push(class.map_err(|error| self.error(format!("{error} (flow {})", seen.key)))?);
        }
        let at = if self.options.time_scale == 1.0 {
            Nanos(since)
        } else {
            Nanos::from_f64(since as f64 * self.options.time_scale)
        };
        let class = self.class_of[flow.index()];
        let draw = || Random::new(self.options.seed, self.packets);
        let (demand, expansion) = self.options.classes.outcome(class, seen.bytes, draw);
        Ok(Arrival { at, flow, bytes: seen.bytes, demand, expansion, program: ProgramId(class.into()) })
    }

    fn error(&self, what: String) -> WorkloadError {
        WorkloadError::Packet { file: self.file.clone(), packet: self.packets, what }
    }
}

impl Workload for Capture {
    fn resources(&self) -> &[String] {
        self.options.classes.resource_names()
    }

    fn programs(&self) -> ProgramTable {
        self.options.classes.programs()
    }

    fn next(&mut self) -> Result<Option<Arrival>, WorkloadError> {
        loop {
            let Some(records) = &mut self.records else { return Ok(None) };
            let end = match records.next(Seen::of) {
                Next::Packet(seen) => match self.arrival(&seen) {
                    Ok(arrival) => return Ok(Some(arrival)),
                    Err(error) => Err(error),
                },
                Next::Skipped(skipped) => {
                    match skipped {
                        Skipped::Damaged => self.odd.damaged_blocks += 1,
                        Skipped::NoInterface => self.odd.no_interface += 1,
                        Skipped::Obsolete => self.odd.obsolete += 1,
                    }
                    continue;
                }
                Next::UnknownLink(number) => {
                    self.odd.unknown_link += 1;
                    self.unknown_link = Some(number);
                    continue;
                }
                Next::End(End::Clean) => Ok(None),
                Next::End(End::Cut) => {
                    self.odd.cut_end += 1;
                    Ok(None)
                }
                Next::End(End::Damaged) => {
                    self.odd.damaged_end += 1;
                    Ok(None)
                }
                Next::End(End::Failed(source)) => {
                    let file = format!("{}, after packet {}", self.file, self.packets);
                    Err(WorkloadError::Read { file, source })
                }
            };
            self.records = None;
            return match (end, self.unknown_link) {
                (Ok(None), Some(number)) if self.packets == 0 => {
                    Err(WorkloadError::File { file: self.file.clone(), what: unknown_link(number) })
                }
                (end, _) => end,
            };
        }
    }

    fn is_open_loop(&self) -> bool {
        true
    }

    fn label(&self, flow: FlowId) -> String {
        self.flows.key(flow).map_or_else(|| format!("flow {flow}"), ToString::to_string)
    }

    fn class(&self, flow: FlowId) -> Option<&str> {
        let class = *self.class_of.get(flow.index())?;
        Some(&self.options.classes.classes()[usize::from(class)].name)
    }

    fn packets_hint(&self) -> Option<u64> {
        self.options.packets
    }

    fn notices(&self) -> Vec<Notice> {
        let odd = &self.odd;
        // Of one, and of several.
        let counts = [
            (
                odd.earlier,
                "packet is stamped earlier than one before it; it arrives with that one",
                "packets are stamped earlier than one before them; they arrive with that one",
            ),
            (
                odd.timeless,
                "packet has no time; it arrives with the one before it",
                "packets have no time; they arrive with the one before them",
            ),
            (
                odd.truncated,
                "packet was captured only in part; it counts with its length on the wire",
                "packets were captured only in part; they count with their length on the wire",
            ),
            (
                odd.headers_cut,
                "packet was truncated before its ports or addresses; its flow is identified by the rest",
                "packets were truncated before their ports or addresses; their flow is identified by the rest",
            ),
            (
                odd.undecodable,
                "packet has invalid headers; its flow is identified by the rest",
                "packets have invalid headers; their flow is identified by the rest",
            ),
            (odd.empty, EMPTY.0, EMPTY.1),
            (
                odd.shorter_than_captured,
                "packet is shorter, by its record, than its captured part",
                "packets are shorter, by their record, than their captured part",
            ),
            (
                odd.damaged_blocks,
                "block contradicts its length and was passed over",
                "blocks contradict their length and were passed over",
            ),
            (
                odd.no_interface,
                "packet came through an undescribed interface and was skipped",
                "packets came through an undescribed interface and were skipped",
            ),
            (
                odd.unknown_link,
                "packet came through an interface with a link type that cannot be read, and was skipped",
                "packets came through interfaces with link types that cannot be read, and were skipped",
            ),
            (
                odd.obsolete,
                "packet is in the obsolete packet block and was passed over (editcap converts it)",
                "packets are in the obsolete packet block and were passed over (editcap converts them)",
            ),
            (
                odd.cut_end,
                "capture ends within a record, which was ignored",
                "captures end within a record, which was ignored",
            ),
            (
                odd.damaged_end,
                "capture has a damaged record; everything after it was skipped",
                "captures have a damaged record; everything after it was skipped",
            ),
        ];
        counts.into_iter().filter_map(|(count, one, several)| Notice::counted(count, one, several)).collect()
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("file", &self.file).field("packets", &self.packets).finish_non_exhaustive()
    }
}

fn unknown_link(number: i32) -> String {
    format!("link type {number} cannot be read: {KNOWN_LINKS} can")
}

/// Description of file formats often mistaken for captures, by their first bytes.
fn known_format(magic: [u8; 4]) -> &'static str {
    match magic {
        [0x89, b'P', b'N', b'G'] => " (a PNG image)",
        [b'P', b'K', 3, 4] => " (a zip archive: unpack it first)",
        [0x28, 0xb5, 0x2f, 0xfd] => " (zstd: unpack it first, or use gzip)",
        [0xfd, b'7', b'z', b'X'] => " (xz: unpack it first, or use gzip)",
        [0x04, 0x22, 0x4d, 0x18] => " (lz4: unpack it first, or use gzip)",
        [b'B', b'Z', b'h', _] => " (bzip2: unpack it first, or use gzip)",
        [0xa1, 0xb2, 0xcd, 0x34] => " (modified pcap of a big-endian machine: editcap converts it)",
        [b'a', b'r', b'r', b'i'] => " (a CSV table: it is read as a workload, not as a capture)",
        _ => "",
    }
}
