//! The kernel's figures, as recorded by `kernel/record.sh`.

use dovetail_sched::Nanos;
use dovetail_tcp::{Config, Congestion};
use serde::Deserialize;

use crate::path::{Mishaps, Path};

/// The recorded file.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    pub rows: Vec<Goodput>,
    pub bucket: Vec<Goodput>,
    pub paths: Vec<Goodput>,
    pub short: Vec<Short>,
    pub sizes: Vec<Short>,
    pub bbr: Vec<Goodput>,
    pub rows_installed: Vec<Goodput>,
    pub events: Vec<Event>,
    pub crowd: Vec<Crowd>,
}

impl Recorded {
    pub fn read() -> Self {
        toml::from_str(include_str!("linux-6.12.toml")).unwrap()
    }
}

/// A run of unlimited flows; lists have one entry per flow.
#[derive(Debug, Clone, Deserialize)]
pub struct Goodput {
    pub congestion: String,
    pub bits_per_s: u64,
    pub delay_us: u64,
    pub buffer_packets: usize,
    pub receive_buffer_bytes: u64,
    pub bucket_bytes: u64,
    pub flows: usize,
    pub stagger: u64,
    /// Bytes read in the first five seconds, and from then until second 20.
    pub early_bytes: Vec<u64>,
    pub late_bytes: Vec<u64>,
    pub drops: Vec<u64>,
    pub retransmissions: Vec<u64>,
    /// The largest windows advertised by receivers.
    pub window_bytes: Vec<u64>,
}

impl Goodput {
    pub fn path(&self) -> Path {
        let path = path(self.bits_per_s, self.delay_us, self.buffer_packets);
        Path { bucket_bytes: self.bucket_bytes, ..path }
    }
}

/// A run of many unlimited flows that begin together.
#[derive(Debug, Clone, Deserialize)]
pub struct Crowd {
    pub congestion: String,
    pub bits_per_s: u64,
    pub delay_us: u64,
    pub buffer_packets: usize,
    pub receive_buffer_bytes: u64,
    pub flows: u64,
    pub stagger: u64,
    pub seconds: u64,
    pub bytes: u64,
    pub without_a_byte: u64,
}

impl Crowd {
    pub fn path(&self) -> Path {
        path(self.bits_per_s, self.delay_us, self.buffer_packets)
    }
}

/// A run of short transfers together with unlimited flows.
#[derive(Debug, Clone, Deserialize)]
pub struct Short {
    pub congestion: String,
    pub bits_per_s: u64,
    pub delay_us: u64,
    pub buffer_packets: usize,
    pub receive_buffer_bytes: u64,
    pub flows: usize,
    pub segments: u64,
    pub transfers: u64,
    pub gap_ms: u64,
    pub took_us: Vec<u64>,
}

impl Short {
    pub fn path(&self) -> Path {
        path(self.bits_per_s, self.delay_us, self.buffer_packets)
    }
}

/// One transfer with a mishap.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    pub name: String,
    pub congestion: String,
    pub bits_per_s: u64,
    pub delay_us: u64,
    pub buffer_packets: usize,
    pub receive_buffer_bytes: u64,
    pub mark_above: usize,
    pub segments: u64,
    pub lost_syns: u32,
    pub lost_syn_acks: u32,
    pub lost: Vec<(u32, u32)>,
    pub late: Vec<u32>,
    pub pauses_us: u64,
    pub took_us: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
}

impl Event {
    pub fn path(&self) -> Path {
        Path { mark_above: self.mark_above, ..path(self.bits_per_s, self.delay_us, self.buffer_packets) }
    }
    pub fn mishaps(&self) -> Mishaps {
        Mishaps { syns: self.lost_syns, syn_acks: self.lost_syn_acks, lost: self.lost.clone(), late: self.late.clone() }
    }
}

fn path(bits_per_s: u64, delay_us: u64, buffer_packets: usize) -> Path {
    let delay = Nanos::from_micros(delay_us);
    Path { bits_per_s, delay, buffer_packets, mark_above: usize::MAX, bucket_bytes: 0 }
}

/// A host with the settings of the recorded ones. Its window grows up to a limit set by the receiver's buffer, part of which
/// is the kernel's overhead; if the buffer size was not fixed, it grows up to `tcp_rmem`.
pub fn config(congestion: &str, receive_buffer_bytes: u64) -> Config {
    let mut config = Config::linux();
    config.congestion = match congestion {
        "reno" => Congestion::Reno,
        "cubic" => Congestion::Cubic,
        "bbr" => Congestion::Bbr,
        other => panic!("{other}"),
    };
    config.receive_grows = receive_buffer_bytes == 0;
    let buffer = if receive_buffer_bytes == 0 { 6_291_456 } else { receive_buffer_bytes };
    let window = buffer * 162 / 256;
    config.receive_bytes = u32::try_from(window).unwrap();
    // `tcp_wmem`; a segment takes 2,304 bytes of it.
    config.send_bytes = 4_194_304_u64.div_ceil(2304) * 1460;
    config
}
