//! The table as Apache Parquet, in one row group: every column is optional and has the type of its values.

use std::{fs::File, io, sync::Arc};

use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as PhysicalType},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};

use super::table::{Cell, Kind, Summary};

pub(super) fn write(summary: &Summary, file: File) -> io::Result<()> {
    written(summary, file).map_err(io::Error::other)
}

fn written(summary: &Summary, file: File) -> Result<(), ParquetError> {
    let fields = summary.columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new));
    let schema = Type::group_type_builder("summary").with_fields(fields.collect::<Result<_, _>>()?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for &(ref column, kind) in &summary.columns {
        let Some(mut chunk) = group.next_column()? else { break };
        let cells: Vec<Option<&Cell>> =
            summary.rows.iter().map(|row| row.get(column).filter(|cell| Kind::of(cell) == kind)).collect();
        let present: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
        let cells = cells.into_iter().flatten();
        match kind {
            Kind::Text => {
                let texts =
                    cells.filter_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None });
                let texts: Vec<ByteArray> = texts.map(ByteArray::from).collect();
                chunk.typed::<ByteArrayType>().write_batch(&texts, Some(&present), None)?;
            }
            Kind::Truth => {
                let truths: Vec<bool> = cells.map(|cell| *cell == Cell::Truth(true)).collect();
                chunk.typed::<BoolType>().write_batch(&truths, Some(&present), None)?;
            }
            Kind::Whole => {
                let numbers = cells.filter_map(|cell| if let Cell::Whole(number) = cell { Some(number) } else { None });
                let numbers: Vec<i64> = numbers.map(|number| number.cast_signed()).collect();
                chunk.typed::<Int64Type>().write_batch(&numbers, Some(&present), None)?;
            }
            Kind::Number => {
                let numbers =
                    cells.filter_map(|cell| if let Cell::Number(number) = cell { Some(*number) } else { None });
                let numbers: Vec<f64> = numbers.collect();
                chunk.typed::<DoubleType>().write_batch(&numbers, Some(&present), None)?;
            }
        }
        chunk.close()?;
    }
    group.close()?;
    writer.close().map(drop)
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Truth => (PhysicalType::BOOLEAN, None),
        Kind::Whole => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
        Kind::Number => (PhysicalType::DOUBLE, None),
    };
    let field = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    field.with_repetition(Repetition::OPTIONAL).build()
}
