//! To which column a flow's service is charged.

use dovetail_sched::FlowId;

use crate::Profile;

/// The column of a free resource for which the scheduler chose no packet.
pub const HELD: usize = 0;

/// The column of a resource that waits for another.
pub const STALLED: usize = 1;

/// The column of a transfer or a request that waits until a packet that was dropped is sent again.
pub const RECOVERING: usize = 2;

/// The column of a transfer or a request that waits for no link: its packets are on their way, or its hosts wait for one
/// another.
pub const ON_ITS_WAY: usize = 3;

/// The column of a request that its server has not answered yet.
pub const SERVER: usize = 4;

/// The column of a request that waits at its gateway while the link carries no packet.
pub const PACE: usize = 5;

/// The column of a request that is between its user and the gateway, where they speak TCP.
pub const USER_SIDE: usize = 6;

/// So many columns come first that are of no flow.
pub const WITHOUT_FLOW: usize = 7;

/// How many of the first flows have a column of their own where nothing else is asked for.
pub const FLOW_COLUMNS: usize = 24;

/// A column's number fits into 16 bits.
const MOST_FLOW_COLUMNS: usize = 1 << 15;

/// So many classes have a column for those of their flows that have none; the flows of further ones share one.
const CLASS_COLUMNS: usize = 32;

/// What packets waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// What it is.
    pub cause: Cause,
    /// The class of its flows, if the workload has classes.
    pub class: Option<String>,
}

/// What keeps a packet waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The scheduler held back.
    Held,
    /// The resource was taken by a packet that waited for another resource.
    Stalled,
    /// A packet was lost, and not sent again yet: of transfers and requests only.
    Recovering,
    /// It waited for no link: propagation, other links, and hosts that wait for one another. Of transfers and requests only.
    OnItsWay,
    /// The request was released, and nothing of its response had come to the link. Of requests only.
    Server,
    /// The gateway made it wait while the link carried no packet. Of requests only.
    Pace,
    /// It was between its user and the gateway, or the gateway had no room for more of its response. Of requests only, and
    /// where users speak TCP with the gateway.
    UserSide,
    /// A flow, by its label, was served.
    Flow(String),
    /// One of the flows without a column of their own was served: of the column's class.
    OtherFlows,
}

/// The columns, and which each flow has.
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
        let flow_columns_left = flow_columns.min(MOST_FLOW_COLUMNS);
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

    /// Gives a flow its column: one of its own while there are any, else its class's.
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
        // A flow that comes again under the same name keeps its column.
        assert_eq!(assign(0, "a", Some("web")), WITHOUT_FLOW);
        // Its number may be another's by now.
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
