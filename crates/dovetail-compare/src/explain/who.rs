//! Which groups waited for which: an explanation's sums, by flow or by class.

use std::array;

use dovetail_sim::blame::{
    Cause, Column, Explanation, HELD, ON_ITS_WAY, PACE, RECOVERING, Row, SERVER, STALLED, USER_SIDE, WITHOUT_FLOW,
};

/// Sums over the packets of each group, and what they waited for by group.
pub(crate) struct Who {
    /// "class" or "flow".
    pub(crate) kind: &'static str,
    /// The groups' names.
    pub(crate) names: Vec<String>,
    /// One per group.
    pub(crate) groups: Vec<Group>,
    // The group of each column, excluding columns without a flow.
    group_of: Vec<usize>,
}

/// How the time of a group's packets is divided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) packets: u64,
    pub(crate) dropped: u64,
    pub(crate) left: u64,
    pub(crate) latency_nanos: u128,
    pub(crate) own_nanos: Vec<u128>,
    pub(crate) same_flow_nanos: u128,
    pub(crate) behind_nanos: Vec<u128>,
    pub(crate) stalled_nanos: u128,
    pub(crate) held_nanos: u128,
    pub(crate) recovering_nanos: u128,
    pub(crate) on_its_way_nanos: u128,
    pub(crate) server_nanos: u128,
    pub(crate) pace_nanos: u128,
    pub(crate) user_side_nanos: u128,
}

impl Who {
    /// By column: flows, and the remaining flows of each class.
    pub(crate) fn by_flow(of: &Explanation) -> Self {
        let names: Vec<String> = of.columns[WITHOUT_FLOW..].iter().map(|column| name(column, &of.columns)).collect();
        let group_of = (0..names.len()).collect();
        Self::grouped("flow", names, group_of, of)
    }

    /// By class, if the workload has any.
    pub(crate) fn by_class(of: &Explanation) -> Option<Self> {
        let (mut names, mut group_of) = (Vec::<String>::new(), Vec::new());
        for column in &of.columns[WITHOUT_FLOW..] {
            let class = column.class.as_ref()?;
            group_of.push(names.iter().position(|name| name == class).unwrap_or_else(|| {
                names.push(class.clone());
                names.len() - 1
            }));
        }
        (!names.is_empty()).then(|| Self::grouped("class", names, group_of, of))
    }

    fn grouped(kind: &'static str, names: Vec<String>, group_of: Vec<usize>, of: &Explanation) -> Self {
        let mut who = Self { kind, groups: vec![Group::default(); names.len()], names, group_of };
        for (row, &group) in of.rows[WITHOUT_FLOW..].iter().zip(&who.group_of.clone()) {
            let more = who.fold(row);
            who.groups[group].merge(&more);
        }
        who
    }

    /// A row's sums by these groups.
    pub(crate) fn fold(&self, row: &Row) -> Group {
        let [held_nanos, stalled_nanos, recovering_nanos, on_its_way_nanos, server_nanos, pace_nanos, user_side_nanos] =
            [HELD, STALLED, RECOVERING, ON_ITS_WAY, SERVER, PACE, USER_SIDE].map(|column| row.cause_nanos(column));
        let mut behind_nanos = vec![0; self.names.len()];
        for (&group, nanos) in self.group_of.iter().zip(row.causes_nanos.iter().skip(WITHOUT_FLOW)) {
            behind_nanos[group] += nanos;
        }
        Group {
            packets: row.packets,
            dropped: row.dropped,
            left: row.left,
            latency_nanos: row.latency_nanos,
            own_nanos: row.own_nanos.clone(),
            same_flow_nanos: row.same_flow_nanos,
            behind_nanos,
            stalled_nanos,
            held_nanos,
            recovering_nanos,
            on_its_way_nanos,
            server_nanos,
            pace_nanos,
            user_side_nanos,
        }
    }

    /// By class if there are classes, otherwise by flow.
    pub(crate) fn coarse(of: &Explanation) -> Self {
        Self::by_class(of).unwrap_or_else(|| Self::by_flow(of))
    }

    /// All groups as one, with what they waited for by group.
    pub(crate) fn all(&self) -> Group {
        let mut all = Group::default();
        for group in &self.groups {
            all.merge(group);
        }
        all
    }

    /// The groups with their names, in descending order of total waiting time.
    pub(crate) fn by_weight(&self) -> Vec<(&str, &Group)> {
        let mut groups: Vec<_> = self.names.iter().map(String::as_str).zip(&self.groups).collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.latency_nanos));
        groups
    }
}

impl Group {
    /// Milliseconds per packet.
    pub(crate) fn mean_ms(&self, nanos: u128) -> f64 {
        if self.packets == 0 { 0.0 } else { nanos as f64 / 1e6 / self.packets as f64 }
    }

    /// Time behind all other flows.
    pub(crate) fn behind_all_nanos(&self) -> u128 {
        self.behind_nanos.iter().sum()
    }

    /// Adds another group's sums.
    pub(crate) fn merge(&mut self, other: &Self) {
        let sums = |sums: &mut Vec<u128>, more: &[u128]| {
            sums.resize(sums.len().max(more.len()), 0);
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        self.packets += other.packets;
        self.dropped += other.dropped;
        self.left += other.left;
        self.latency_nanos += other.latency_nanos;
        self.same_flow_nanos += other.same_flow_nanos;
        self.stalled_nanos += other.stalled_nanos;
        self.held_nanos += other.held_nanos;
        self.recovering_nanos += other.recovering_nanos;
        self.on_its_way_nanos += other.on_its_way_nanos;
        self.server_nanos += other.server_nanos;
        self.pace_nanos += other.pace_nanos;
        self.user_side_nanos += other.user_side_nanos;
        sums(&mut self.own_nanos, &other.own_nanos);
        sums(&mut self.behind_nanos, &other.behind_nanos);
    }
}

/// Name of a column among all columns.
pub(crate) fn name(column: &Column, all: &[Column]) -> String {
    let of_some_class_are_flows =
        |class: &Option<String>| all.iter().any(|other| other.class == *class && matches!(other.cause, Cause::Flow(_)));
    match (&column.cause, &column.class) {
        (Cause::Held, _) => "held".to_owned(),
        (Cause::Stalled, _) => "stalled".to_owned(),
        (Cause::Recovering, _) => "recovering".to_owned(),
        (Cause::OnItsWay, _) => "on its way".to_owned(),
        (Cause::Server, _) => "server".to_owned(),
        (Cause::Pace, _) => "pace".to_owned(),
        (Cause::UserSide, _) => "user side".to_owned(),
        (Cause::Flow(label), _) => label.clone(),
        (Cause::OtherFlows, Some(class)) if of_some_class_are_flows(&column.class) => format!("other flows of {class}"),
        (Cause::OtherFlows, Some(class)) => class.clone(),
        (Cause::OtherFlows, None) => "other flows".to_owned(),
    }
}

/// Indices of the largest values in descending order, excluding zeros.
pub(crate) fn largest<const N: usize>(nanos: &[u128]) -> [Option<usize>; N] {
    let mut order: Vec<usize> = (0..nanos.len()).filter(|&at| nanos[at] > 0).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(nanos[at]));
    array::from_fn(|at| order.get(at).copied())
}
