//! Records as comma-separated values.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
};

use super::row::{Row, Sink};

pub(super) struct CsvSink {
    writer: csv::Writer<BufWriter<File>>,
    resources: usize,
    number: Vec<u8>,
}

impl CsvSink {
    pub(super) fn new(file: BufWriter<File>, resources: &[String]) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(file);
        let columns = resources.iter().flat_map(|name| [format!("{name}_start_ns"), format!("{name}_end_ns")]);
        let fixed = |name: &str| name.to_owned();
        let header = ["packet", "flow", "bytes", "arrival_ns"].map(fixed).into_iter().chain(columns);
        writer.write_record(header.chain(["outcome".to_owned()]))?;
        Ok(Self { writer, resources: resources.len(), number: Vec::new() })
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        self.number.clear();
        write!(self.number, "{number}")?;
        self.writer.write_field(&self.number)?;
        Ok(())
    }
}

impl Sink for CsvSink {
    fn write(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.number(row.packet.handle)?;
        self.writer.write_field(row.label)?;
        self.number(row.packet.bytes.into())?;
        self.number(row.packet.arrival.0)?;
        for j in 0..self.resources {
            match row.passage() {
                Some(passage) => {
                    self.number(passage.start()[j].0)?;
                    self.number(passage.end()[j].0)?;
                }
                None => {
                    self.writer.write_field("")?;
                    self.writer.write_field("")?;
                }
            }
        }
        self.writer.write_field(row.outcome())?;
        self.writer.write_record(None::<&[u8]>)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}
