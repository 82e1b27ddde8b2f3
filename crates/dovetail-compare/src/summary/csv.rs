//! The table as CSV: a header, and a line per row.

use std::{fs::File, io};

use super::table::{Cell, Summary};

pub(super) fn write(summary: &Summary, file: File) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(file);
    writer.write_record(summary.columns.iter().map(|(name, _)| name))?;
    for row in &summary.rows {
        let cells = summary.columns.iter().map(|(column, _)| match row.get(column) {
            None => String::new(),
            Some(Cell::Text(text)) => text.clone(),
            Some(Cell::Truth(truth)) => truth.to_string(),
            Some(Cell::Whole(number)) => number.to_string(),
            Some(Cell::Number(number)) => number.to_string(),
        });
        writer.write_record(cells)?;
    }
    writer.flush()
}
