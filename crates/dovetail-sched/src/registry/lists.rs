//! The lists of all policies.

use alloc::vec::Vec;

use crate::{
    entry::{Entry, RequestBuild},
    packet,
    request::{delay_pools, grants, msf_rs, none},
};

/// All packet policies, in the order in which `dovetail policies` prints them.
pub const REGISTRY: &[&Entry] = &[
    &packet::fifo::ENTRY,
    &packet::drr::ENTRY,
    &packet::drr_sff::ENTRY,
    &packet::las::ENTRY,
    &packet::run2c::ENTRY,
    &packet::wfq::ENTRY,
    &packet::wf2q_plus::ENTRY,
    &packet::scfq::ENTRY,
    &packet::sfq::ENTRY,
    &packet::drfq::ENTRY,
    &packet::mr3::ENTRY,
    &packet::gmr3::ENTRY,
    &packet::tradeoff::ENTRY,
    &packet::atfq::ENTRY,
    &packet::cbcs::ENTRY,
    &packet::wfq_split::ENTRY,
];

/// All request policies.
pub const REQUESTS: &[&Entry<RequestBuild>] = &[&none::ENTRY, &msf_rs::ENTRY, &grants::ENTRY, &delay_pools::ENTRY];

/// The names of all policies, of packets and of requests.
#[must_use]
pub fn all_names() -> Vec<&'static str> {
    names(REGISTRY).chain(names(REQUESTS)).collect()
}

/// The names in a list, in order.
pub(super) fn names<B>(list: &'static [&Entry<B>]) -> impl Iterator<Item = &'static str> {
    list.iter().map(|entry| entry.name)
}
