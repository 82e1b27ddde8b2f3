//! Where the time of all packets went.

use dovetail_sched::FlowId;

use super::{columns::Column, row::Row, slowest::SlowPacket};

/// Where the time of all packets went.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// What packets waited for.
    pub columns: Vec<Column>,
    /// The sums over each column's flows; those of the first [`WITHOUT_FLOW`](super::WITHOUT_FLOW) columns are empty.
    pub rows: Vec<Row>,
    /// The sums over the selected packets.
    pub selected: Row,
    /// The slowest of the selected packets, the slowest first.
    pub slowest: Vec<SlowPacket>,
    /// The flows that appeared.
    pub flows: Vec<FlowColumn>,
}

/// The column of a flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowColumn {
    /// The flow.
    pub flow: FlowId,
    /// Its name.
    pub label: String,
    /// Index of the column that its service is charged to.
    pub column: usize,
}
