//! What packets wait for.
//!
//! A packet is in the middlebox from its arrival `a` until it leaves the last resource at `e`. At every instant in between it
//! is either being processed by a resource or waiting for one. While it waits for resource `j`, that resource is in one of
//! three states:
//!
//! | resource `j` | the waiting packet's time goes to |
//! |---|---|
//! | processes a packet of flow `g` | `g`: *same flow* if it is the packet's own, otherwise *behind* it |
//! | is occupied by a packet that waits for another resource: blocked by a full buffer or, with no-wait, not started yet | *stalled* |
//! | is free, and the scheduler chose no packet | *held* |
//!
//! The latency is thus divided without remainder, to the nanosecond:
//!
//! ```text
//! e - a = sum_j own_j + same + sum_{g != f} behind_g + stalled + held
//! ```
//!
//! For each resource `j` let `B_j(g, t)` be the time it has spent in state `g` by time `t`. A packet that waits for `j` from
//! `t1` to `t2` waited `B_j(g, t2) - B_j(g, t1)` for `g`. Each state has a *column*: held, stalled, one for each of the first
//! flows, and one for all later flows of each class, so that the number of columns is bounded. Sums over packets are kept
//! without the parts of any packet (`place`); these are computed only for the few packets that are shown one by one. In
//! addition, the service of each flow is counted, which makes *same* exact for all flows.
//!
//! An [`Observer`](crate::Observer) is notified of a packet's passage when it is released, before it happens. Notifications
//! come in order of release, but packets may overtake each other between resources. Each resource therefore keeps future
//! events in order of time, and processes them once nothing earlier can be reported.
//!
//! | file | what |
//! |---|---|
//! | `packets` | the observer |
//! | `columns` | which column a flow's service is charged to |
//! | `place` | a resource over time |
//! | `slots` | packets in the middlebox, and what they have waited for so far |
//! | `parts` | how one packet's time is divided |
//! | `explanation` | how the time of all packets is divided |
//! | `row` | sums over packets |
//! | `ledger` | sums over transfers or requests |
//! | `slowest` | the slowest packets |
//! | `transfers` | the same for TCP transfers, which have many packets in flight at once |
//! | `requests` | the same for requests of users behind a gateway |
//! | `segment` | what a packet of a connection carries |
//!
//! Cost: O(columns) per packet and resource. Memory: 16 bytes for each packet that a resource has served since the oldest
//! waiting packet arrived, and 32 for each waiting packet.

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
