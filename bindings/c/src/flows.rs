//! The operations of a flow table's handle.

use dovetail_sched::{
    FlowId, Limits, Nanos,
    flow::{FiveTuple, FlowTable, Lookup},
};

use crate::{
    checks::Checks,
    convert::{self, size},
    failure::Failure,
    structs::{dvt_five_tuple, dvt_flow_counts, dvt_flows_setup},
};

/// Maps 5-tuples to flows.
#[derive(Debug)]
pub(crate) struct Flows {
    table: FlowTable<FiveTuple>,
    checks: Checks,
}

/// Whether a flow's id may be reused, or why that is unknown.
pub(crate) type Retire<'a> = &'a mut dyn FnMut(FlowId) -> Result<bool, Failure>;

impl Flows {
    pub(crate) fn new(setup: &dvt_flows_setup) -> Result<Self, Failure> {
        let most = Limits::UNLIMITED.flows;
        if !(1..=most).contains(&setup.most) {
            return Err(Failure::range(format!("a flow table holds 1 to {most} flows, not {}", setup.most)));
        }
        convert::reserved(setup.reserved)?;
        let checks = Checks::new(setup.flags, 0)?;
        let table = FlowTable::new(setup.most, Nanos(setup.timeout_ns), setup.hash_key);
        Ok(Self { table: table.map_err(|error| Failure::range(error.to_string()))?, checks })
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.checks.is_on()
    }

    pub(crate) fn lookup(
        &mut self,
        tuple: &dvt_five_tuple,
        now_ns: u64,
        retire: Retire<'_>,
    ) -> Result<Option<Lookup>, Failure> {
        let key = convert::five_tuple(tuple)?;
        let now = self.checks.time(now_ns)?;
        let mut failure = None;
        let found = self.table.lookup(key, now, |flow| may_go(retire, flow, &mut failure));
        failure.map_or(Ok(found), Err)
    }

    pub(crate) fn expire(&mut self, now_ns: u64, most: u32, retire: Retire<'_>) -> Result<u32, Failure> {
        let now = self.checks.time(now_ns)?;
        let mut failure = None;
        let gone = self.table.expire(now, most as usize, |flow| may_go(retire, flow, &mut failure));
        failure.map_or(Ok(gone as u32), Err)
    }

    pub(crate) fn key(&self, flow: u32) -> Option<dvt_five_tuple> {
        self.table.key(FlowId(flow)).map(convert::five_tuple_of)
    }

    pub(crate) fn counts(&self) -> dvt_flow_counts {
        let (flows, evictions) = (self.table.len() as u32, self.table.evictions());
        dvt_flow_counts { size: size::<dvt_flow_counts>(), flows, evictions }
    }
}

/// Asks whether the flow may be retired; after an error it stays.
fn may_go(retire: Retire<'_>, flow: FlowId, failure: &mut Option<Failure>) -> bool {
    retire(flow).unwrap_or_else(|why| {
        *failure = Some(why);
        false
    })
}
