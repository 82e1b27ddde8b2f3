//! Which column a flow's service is charged to.

use dovetail_sched::FlowId;

use crate::Profile;

/// The column of a free resource for which the scheduler chose no packet.
pub const HELD: usize = 0;

/// The column of a resource that waits for another.
pub const STALLED: usize = 1;

/// The column of a transfer or a request that waits for the retransmission of a dropped packet.
pub const RECOVERING: usize = 2;

/// The column of a transfer or a request that waits for no link: its packets are propagating, or its hosts wait for each
/// other.
pub const ON_ITS_WAY: usize = 3;

/// The column of a request that its server has not answered yet.
pub const SERVER: usize = 4;

/// The column of a request queued at its gateway while the link carries no packet.
pub const PACE: usize = 5;

/// The column of a request between its user and the gateway, if they speak TCP.
pub const USER_SIDE: usize = 6;

/// Number of leading columns that belong to no flow.
pub const WITHOUT_FLOW: usize = 7;

/// Default number of first flows that have a column of their own.
pub const FLOW_COLUMNS: usize = 24;

/// A column's number fits into 16 bits.
const MAX_FLOW_COLUMNS: usize = 1 << 15;

/// Number of classes with a column for their remaining flows; the flows of all further classes share one.
const CLASS_COLUMNS: usize = 32;

/// Something that packets wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The cause.
    pub cause: Cause,
    /// The class of its flows, if the workload has classes.
    pub class: Option<String>,
}

/// A cause of waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The scheduler let the resource idle.
    Held,
    /// The resource was occupied by a packet that waited for another resource.
    Stalled,
    /// A packet was lost and not yet retransmitted. Only for transfers and requests.
    Recovering,
    /// It waited for no link: propagation, other links, and hosts that wait for each other. Only for transfers and requests.
    OnItsWay,
    /// The request was released, but nothing of its response had reached the link. Only for requests.
    Server,
    /// The gateway queued it while the link carried no packet. Only for requests.
    Pace,
    /// It was between its user and the gateway, or the gateway had no room for more of its response. Only for requests, and
    /// only if users speak TCP with the gateway.
    UserSide,
    /// A flow, given by its label, was served.
    Flow(String),
    /// A flow without a column of its own was served, of the column's class.
    OtherFlows,
}

/// The columns, and the column of each flow.
#[derive(Debug)]
pub(super) struct Columns {
    columns: Vec<Column>,
    of_flow: Vec<u32>,
    flow_columns_left: usize,
    class_columns_left: usize,
}

impl Columns {
    pub(super) fn new(flow_columns: usize) -> Self {
        let causes: [Cause; WITHOUT_FLOW] = [
            Cause::Held,
            Cause::Stalled,
            Cause::Recovering,
            Cause::OnItsWay,
            Cause::Server,
            Cause::Pace,
            Cause::UserSide,
        ];
        let columns = causes.map(|cause| Column { cause, class: None }).into();
        let flow_columns_left = flow_columns.min(MAX_FLOW_COLUMNS);
        Self { columns, of_flow: Vec::new(), flow_columns_left, class_columns_left: CLASS_COLUMNS }
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The column of a flow that has appeared.
    #[inline]
    pub(super) fn of(&self, flow: FlowId) -> usize {
        self.of_flow[flow.index()] as usize
    }

    /// Assigns a column to a flow: one of its own while there are any left, else that of its class.
    pub(super) fn assign(&mut self, flow: FlowId, profile: &Profile<'_>) {
        if flow.index() >= self.of_flow.len() {
            self.of_flow.resize(flow.index() + 1, u32::MAX);
        }
        let own = Cause::Flow(profile.label.to_owned());
        let class = profile.class.map(str::to_owned);
        let known = self.find(&Column { cause: own.clone(), class: class.clone() });
        self.of_flow[flow.index()] = match known {
            Some(column) => column,
            None if self.flow_columns_left > 0 => {
                self.flow_columns_left -= 1;
                self.push(Column { cause: own, class })
            }
            None => self.others(class),
        } as u32;
    }

    fn others(&mut self, class: Option<String>) -> usize {
        let column = Column { cause: Cause::OtherFlows, class };
        if let Some(at) = self.find(&column) {
            return at;
        }
        let class = if self.class_columns_left > 0 { column.class } else { None };
        self.class_columns_left = self.class_columns_left.saturating_sub(1);
        let column = Column { class, ..column };
        self.find(&column).unwrap_or_else(|| self.push(column))
    }

    fn find(&self, column: &Column) -> Option<usize> {
        self.columns.iter().position(|known| known == column)
    }

    fn push(&mut self, column: Column) -> usize {
        self.columns.push(column);
        self.columns.len() - 1
    }

    pub(super) fn finish(self) -> Vec<Column> {
        self.columns
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::Weight;

    use super::*;

    #[test]
    fn the_first_flows_have_columns_of_their_own_and_later_ones_their_class_s() {
        let mut columns = Columns::new(1);
        let mut assign = |flow, label, class| {
            columns.assign(FlowId(flow), &Profile { weight: Weight::default(), label, class });
            columns.of(FlowId(flow))
        };
        assert_eq!(assign(0, "a", Some("web")), WITHOUT_FLOW);
        assert_eq!(assign(1, "b", Some("web")), WITHOUT_FLOW + 1);
        assert_eq!(assign(2, "c", Some("mail")), WITHOUT_FLOW + 2);
        assert_eq!(assign(3, "d", Some("web")), WITHOUT_FLOW + 1);
        // A flow that returns under the same name keeps its column.
        assert_eq!(assign(0, "a", Some("web")), WITHOUT_FLOW);
        // Its id may have been reused.
        assert_eq!(assign(0, "e", Some("mail")), WITHOUT_FLOW + 2);
    }

    #[test]
    fn there_are_not_more_columns_than_so_many() {
        let mut columns = Columns::new(0);
        for flow in 0..1000 {
            let class = format!("class {flow}");
            let profile = Profile { weight: Weight::default(), label: "", class: Some(&class) };
            columns.assign(FlowId(flow), &profile);
        }
        assert_eq!(columns.len(), WITHOUT_FLOW + CLASS_COLUMNS + 1);
    }
}
