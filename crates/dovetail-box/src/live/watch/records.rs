//! Writes a row per packet, in the files that `dovetail compare` reads and writes.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
    sync::Arc,
};

use dovetail_sched::Nanos;

use super::{Arrived, Watch, create::create, window::Window};
use crate::node::Passage;

/// Two files in a folder: `workload.csv`, which the simulator can replay, and one named after the policy, with the outcome
/// of each packet here.
///
/// ```text
/// workload.csv   arrival_ns,flow,bytes,cpu_ns,link_ns
/// drfq….csv      packet,flow,bytes,arrival_ns,cpu_start_ns,cpu_end_ns,link_start_ns,link_end_ns,outcome
/// ```
///
/// Times are relative to the first packet's arrival. What a dropped packet would have cost on the CPU is not known: the
/// workload contains the cost of the last one of its class.
pub struct Records {
    workload: BufWriter<File>,
    records: BufWriter<File>,
    window: Window<Row>,
    usual: HashMap<Arc<str>, Nanos>,
    begin: Option<Nanos>,
    written: u64,
    failed: Option<io::Error>,
}

struct Row {
    flow: u32,
    class: Arc<str>,
    bytes: u32,
    arrival: Nanos,
    link: Nanos,
    passage: Option<Passage>,
}

impl Records {
    /// Creates the files in a folder, which is created if it does not exist.
    ///
    /// # Errors
    /// The system's error.
    pub fn begin(folder: &Path, policy: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || ".-".contains(letter) { letter } else { '_' };
        let policy: String = policy.chars().map(plain).collect();
        let mut workload = BufWriter::new(create(&folder.join("workload.csv"))?);
        writeln!(workload, "arrival_ns,flow,bytes,cpu_ns,link_ns")?;
        let mut records = BufWriter::new(create(&folder.join(format!("{policy}.csv")))?);
        writeln!(records, "packet,flow,bytes,arrival_ns,cpu_start_ns,cpu_end_ns,link_start_ns,link_end_ns,outcome")?;
        let (window, usual) = (Window::default(), HashMap::new());
        Ok(Self { workload, records, window, usual, begin: None, written: 0, failed: None })
    }

    fn class(&mut self, name: &str) -> Arc<str> {
        match self.usual.get_key_value(name) {
            Some((known, _)) => known.clone(),
            None => {
                let name: Arc<str> = name.into();
                self.usual.insert(name.clone(), Nanos::ZERO);
                name
            }
        }
    }

    fn write_settled(&mut self) {
        while let Some(row) = self.window.pop() {
            self.write(&row);
        }
    }

    fn write(&mut self, row: &Row) {
        if self.failed.is_none()
            && let Err(wrong) = self.try_write(row)
        {
            tracing::warn!("records: {wrong}: no more are written");
            self.failed = Some(wrong);
        }
    }

    fn try_write(&mut self, row: &Row) -> io::Result<()> {
        let begin = *self.begin.get_or_insert(row.arrival);
        let since = |at: Nanos| at.0.saturating_sub(begin.0);
        let Row { flow, bytes, link, .. } = *row;
        let (arrival, number) = (since(row.arrival), self.written);
        self.written += 1;
        match &row.passage {
            Some(passage) => {
                let cpu = passage.cpu_end - passage.cpu_start;
                self.usual.insert(row.class.clone(), cpu);
                writeln!(self.workload, "{arrival},{flow},{bytes},{},{}", cpu.0, link.0)?;
                let times = [passage.cpu_start, passage.cpu_end, passage.link_start, passage.link_end].map(since);
                let [cpu_start, cpu_end, link_start, link_end] = times;
                writeln!(
                    self.records,
                    "{number},{flow},{bytes},{arrival},{cpu_start},{cpu_end},{link_start},{link_end},sent"
                )
            }
            None => {
                let cpu = self.usual.get(&row.class).copied().unwrap_or_default();
                writeln!(self.workload, "{arrival},{flow},{bytes},{},{}", cpu.0, link.0)?;
                writeln!(self.records, "{number},{flow},{bytes},{arrival},,,,,dropped")
            }
        }
    }
}

impl Watch for Records {
    fn arrived(&mut self, packet: &Arrived<'_>) {
        let class = self.class(packet.class);
        let Arrived { flow, bytes, arrival, link, .. } = *packet;
        self.window.push(Row { flow: flow.0, class, bytes, arrival, link, passage: None });
    }

    fn left(&mut self, number: u64, passage: &Passage, _: &[u8]) {
        self.window.settle(number, |row| row.passage = Some(*passage));
        self.write_settled();
    }

    fn dropped(&mut self, number: u64) {
        self.window.settle(number, |_| ());
        self.write_settled();
    }
}

impl Drop for Records {
    /// Packets whose outcome is open count as dropped.
    fn drop(&mut self) {
        while let Some(row) = self.window.pop_any() {
            self.write(&row);
        }
        for file in [&mut self.workload, &mut self.records] {
            if let Err(wrong) = file.flush() {
                tracing::warn!("records: {wrong}");
            }
        }
    }
}
