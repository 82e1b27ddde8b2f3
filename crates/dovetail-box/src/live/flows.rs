//! Maps packets to flows.

use std::sync::Arc;

use dovetail_sched::{
    FlowId, Nanos,
    cost::ProgramId,
    flow::{FiveTuple, FlowTable},
};

use super::{
    LiveError,
    busiest::{Activity, Busiest, Had},
    classes::Classes,
};
use crate::{
    config::{Marks, Queues},
    node::Node,
};

/// Key of a flow. Everything that is not IP is one flow per VLAN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    tuple: Option<FiveTuple>,
    vlan: Option<u16>,
}

/// The known flows.
#[derive(Debug)]
pub(super) struct Flows {
    table: FlowTable<Key>,
    /// The class of each flow's last packet, indexed by flow id.
    classes: Vec<u16>,
    activity: Activity,
}

impl Flows {
    pub(super) fn new(queues: &Queues, now: Nanos) -> Result<Self, LiveError> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|wrong| LiveError::Flows(wrong.to_string()))?;
        let table = FlowTable::new(queues.flows, queues.timeout, key);
        let table = table.map_err(|wrong| LiveError::Flows(wrong.to_string()))?;
        Ok(Self { table, classes: Vec::new(), activity: Activity::new(now) })
    }

    /// The flow of a packet, registered with the node if it is new. `None` if the table is full.
    pub(super) fn of(
        &mut self,
        marks: &Marks,
        class: u16,
        now: Nanos,
        node: &mut Node,
        classes: &Classes,
    ) -> Option<FlowId> {
        let key = Key { tuple: marks.tuple, vlan: marks.vlan };
        let found = self.table.lookup(key, now, |flow| node.forget(flow))?;
        let at = found.flow.index();
        if self.classes.len() <= at {
            self.classes.resize(at + 1, class);
        }
        if found.new {
            self.activity.appears(found.flow);
        }
        if found.new || self.classes[at] != class {
            self.classes[at] = class;
            introduce(found.flow, class, node, classes);
        }
        Some(found.flow)
    }

    /// Registers all flows with the node again, after its policy was replaced or weights changed.
    pub(super) fn introduce_all(&self, node: &mut Node, classes: &Classes) {
        for (at, &class) in self.classes.iter().enumerate() {
            let flow = FlowId(at as u32);
            if self.table.key(flow).is_some() {
                introduce(flow, class, node, classes);
            }
        }
    }

    /// Renumbers classes: class `c` becomes `moved[c]`.
    pub(super) fn change_classes(&mut self, moved: &[u16]) {
        for class in &mut self.classes {
            *class = moved[usize::from(*class)];
        }
    }

    /// Current counts of a flow, for updating.
    pub(super) fn had(&mut self, flow: FlowId) -> &mut Had {
        self.activity.of(flow)
    }

    /// The busiest flows, once another second is over. `names` are the classes'.
    pub(super) fn busiest(&mut self, now: Nanos, workers: u16, names: &[Arc<str>]) -> Option<Busiest> {
        let Self { table, classes, activity } = self;
        activity.tell(now, workers.into(), |flow| {
            let key = table.key(flow)?;
            let class = names.get(usize::from(*classes.get(flow.index())?))?;
            Some((key.tuple, key.vlan, class.clone()))
        })
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }
}

fn introduce(flow: FlowId, class: u16, node: &mut Node, classes: &Classes) {
    let scheduler = node.scheduler();
    scheduler.set_weight(flow, classes.weight(class));
    if let Some(learning) = scheduler.learning() {
        learning.set_program(flow, ProgramId(u32::from(class)));
    }
}
