//! Who made a packet wait.
//!
//! A packet is in the box from its arrival `a` to its end `e` on the last resource. At every instant in between it is
//! either processed by a resource or it waits before one, and while it waits before resource `j`, that resource is in
//! one of three states:
//!
//! | resource `j` | the waiting packet's time goes to |
//! |---|---|
//! | processes a packet of flow `g` | `g`: *same flow* if it is the packet's own, otherwise *behind* it |
//! | is taken by a packet that waits for another resource: blocked by a full buffer, or released and, with no-wait, not started yet | *stalled* |
//! | is free, and the scheduler chose no packet | *held* |
//!
//! So the latency is divided without remainder, to the nanosecond:
//!
//! ```text
//! e - a = sum_j own_j + same + sum_{g != f} behind_g + stalled + held
//! ```
//!
//! For each resource `j` let `B_j(g, t)` be how long it has been in the state `g` by time `t`. A packet that waits before
//! `j` from `t1` to `t2` owes `B_j(g, t2) - B_j(g, t1)` of its time to `g`. The states have a *column* each: held, stalled,
//! one for each of the first flows, and one for all later flows of a class, so that there are few however many flows there
//! are. Sums over packets are kept without any packet's parts (`place`); these are found out for the few packets that are
//! shown one by one. What a flow is served is counted besides for each flow, which makes *same* exact for all.
//!
//! An [`Observer`](crate::Observer) is told of a packet's passage when it is released, before it happens, and in order of release, while
//! packets may overtake each other between resources. Each resource therefore keeps what is still to come in order of
//! time, and takes it into account when nothing earlier can be told any more.
//!
//! | file | what |
//! |---|---|
//! | `packets` | the observer |
//! | `columns` | to which column a flow's service is charged |
//! | `place` | a resource, over time |
//! | `slots` | packets in the box, and what they owe to whom so far |
//! | `parts` | one packet's time |
//! | `explanation` | that of all |
//! | `row` | sums over packets |
//! | `ledger` | sums over transfers or requests |
//! | `slowest` | the packets that took longest |
//! | `transfers` | the same of transfers over TCP, of which many packets are in flight at once |
//! | `requests` | the same of requests of users behind a gateway |
//! | `segment` | what a packet of a connection carries |
//!
//! Cost: O(columns) a packet and resource; memory 16 bytes for each packet that a resource has served since the oldest packet
//! that waits arrived, and 32 for each packet that waits.

mod columns;
mod explanation;
mod ledger;
mod packets;
mod parts;
mod place;
#[cfg_attr(not(feature = "network"), expect(dead_code, reason = "only a network's run tells it anything"))]
mod requests;
mod row;
mod segment;
mod slots;
mod slowest;
#[cfg_attr(not(feature = "network"), expect(dead_code, reason = "only a network's run tells it anything"))]
mod transfers;

pub use self::{
    columns::{
        Cause, Column, FLOW_COLUMNS, HELD, ON_ITS_WAY, PACE, RECOVERING, SERVER, STALLED, USER_SIDE, WITHOUT_FLOW,
    },
    explanation::{Explanation, FlowColumn},
    packets::Blame,
    parts::{Ended, Selection},
    requests::RequestBlame,
    row::Row,
    slowest::SlowPacket,
    transfers::TransferBlame,
};
#[cfg(feature = "network")]
pub(crate) use self::{
    requests::{Unread, Whose},
    segment::Segment,
};
