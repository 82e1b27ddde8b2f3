//! Records as Apache Parquet: a row group every 65,536 rows, so that memory stays bounded.

use std::{
    fs::File,
    io::{self, BufWriter},
    sync::Arc,
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, Int64Type},
    errors::ParquetError,
    file::{metadata::KeyValue, properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};

use super::row::{Row, Sink};

const ROWS_A_GROUP: usize = 1 << 16;

pub(super) struct ParquetSink {
    writer: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Column>,
    // For optional columns: 1 for rows with a value, which are Parquet's definition levels.
    present: Vec<i16>,
}

/// The values of one column that are buffered for their row group.
enum Column {
    Text(Vec<ByteArray>),
    Number(Vec<i64>),
    Optional(Vec<i64>),
}

impl ParquetSink {
    pub(super) fn new(file: BufWriter<File>, resources: &[String], about: &[(&str, &str)]) -> io::Result<Self> {
        let number = || Column::Number(Vec::new());
        let text = || Column::Text(Vec::new());
        let mut named = vec![
            ("packet".to_owned(), number()),
            ("flow".to_owned(), text()),
            ("bytes".to_owned(), number()),
            ("arrival_ns".to_owned(), number()),
        ];
        for name in resources {
            named.push((format!("{name}_start_ns"), Column::Optional(Vec::new())));
            named.push((format!("{name}_end_ns"), Column::Optional(Vec::new())));
        }
        named.push(("outcome".to_owned(), text()));
        let about = about.iter().map(|&(key, value)| KeyValue::new(key.to_owned(), value.to_owned())).collect();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = properties.set_key_value_metadata(Some(about)).build();
        let fields = named.iter().map(|(name, column)| column.field(name).map(Arc::new)).collect::<Result<_, _>>();
        let schema = fields.and_then(|fields| Type::group_type_builder("record").with_fields(fields).build());
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(io::Error::other)?;
        Ok(Self { writer, columns: named.into_iter().map(|(_, column)| column).collect(), present: Vec::new() })
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            let Some(mut writer) = group.next_column()? else { break };
            match column {
                Column::Text(values) => {
                    writer.typed::<ByteArrayType>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::Number(values) => {
                    writer.typed::<Int64Type>().write_batch(values, None, None)?;
                    values.clear();
                }
                Column::Optional(values) => {
                    writer.typed::<Int64Type>().write_batch(values, Some(&self.present), None)?;
                    values.clear();
                }
            }
            writer.close()?;
        }
        group.close()?;
        self.present.clear();
        Ok(())
    }
}

impl Column {
    fn field(&self, name: &str) -> Result<Type, ParquetError> {
        match self {
            Self::Text(_) => Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_repetition(Repetition::REQUIRED),
            Self::Number(_) => {
                Type::primitive_type_builder(name, PhysicalType::INT64).with_repetition(Repetition::REQUIRED)
            }
            Self::Optional(_) => {
                Type::primitive_type_builder(name, PhysicalType::INT64).with_repetition(Repetition::OPTIONAL)
            }
        }
        .build()
    }
}

impl Sink for ParquetSink {
    fn write(&mut self, row: &Row<'_>) -> io::Result<()> {
        let mut texts = [row.label, row.outcome()].into_iter();
        let mut numbers = [row.packet.handle, row.packet.bytes.into(), row.packet.arrival.0].into_iter();
        let passage = row.passage().into_iter().flat_map(|passage| passage.start().iter().zip(passage.end()));
        let mut times = passage.flat_map(|(start, end)| [start.0, end.0]);
        // Parquet's integers are signed; no run produces times beyond 292 years.
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        for column in &mut self.columns {
            match column {
                Column::Text(values) => values.extend(texts.next().map(ByteArray::from)),
                Column::Number(values) => values.extend(numbers.next().map(signed)),
                Column::Optional(values) => values.extend(times.next().map(signed)),
            }
        }
        self.present.push(i16::from(row.passage().is_some()));
        if self.present.len() == ROWS_A_GROUP { self.write_group().map_err(io::Error::other) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if !self.present.is_empty() {
            self.write_group().map_err(io::Error::other)?;
        }
        self.writer.close().map_err(io::Error::other)?;
        Ok(())
    }
}
