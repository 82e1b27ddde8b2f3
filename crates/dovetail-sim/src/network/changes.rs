//! How scenarios say that a link's rate changes: at a time, or to nothing for a period.

use std::sync::Arc;

use dovetail_sched::{Nanos, units::Rate};

use super::{
    format::{ChangeForm, LinkForm},
    spec::RateChange,
};
use crate::workload::written::{Pair, Quantity};

/// The most changes, and the most periods without a link.
const MAX_CHANGES: usize = 10_000;

/// The changes of a link in each direction.
pub(super) fn changes(form: &LinkForm) -> Result<[Arc<[RateChange]>; 2], String> {
    let down: Vec<(Nanos, Nanos)> = form.down.iter().map(|Pair(from, to)| (from.0, to.0)).collect();
    if form.changes.len().max(down.len()) > MAX_CHANGES {
        return Err(format!("there are at most {MAX_CHANGES} changes and as many periods in down"));
    }
    if down.iter().any(|(from, to)| from >= to) || !down.is_sorted_by(|(_, end), (next, _)| end < next) {
        return Err("down: each period ends after it begins, and before the next begins".into());
    }
    if !form.changes.is_sorted_by(|one, next| one.at.0 < next.at.0) {
        return Err("changes: each is later than the one before".into());
    }
    if form.changes.iter().any(|change| change.rate.is_none() && change.rate_back.is_none()) {
        return Err("changes: each has a rate or a rate_back".into());
    }
    let there = rates(form, |change| change.rate.as_ref());
    // Without a rate of its own the way back follows the way there.
    let follows = |change: &ChangeForm| form.rate_back.is_none() && change.rate_back.is_none();
    let back = rates(form, |change| if follows(change) { change.rate.as_ref() } else { change.rate_back.as_ref() });
    Ok([over_time(form.rate.0, &there, &down), over_time(form.back(), &back, &down)])
}

/// The changes of one direction.
fn rates<'a>(form: &'a LinkForm, rate: impl Fn(&'a ChangeForm) -> Option<&'a Quantity<Rate>>) -> Vec<(Nanos, Rate)> {
    form.changes.iter().filter_map(|change| Some((change.at.0, rate(change)?.0))).collect()
}

/// Rates from given times on, and the periods without any, as changes.
fn over_time(first: Rate, rates: &[(Nanos, Rate)], down: &[(Nanos, Nanos)]) -> Arc<[RateChange]> {
    let mut times: Vec<Nanos> =
        rates.iter().map(|&(at, _)| at).chain(down.iter().flat_map(|&(from, to)| [from, to])).collect();
    times.sort_unstable();
    times.dedup();
    let rate_at = |at| {
        let known = rates.partition_point(|&(since, _)| since <= at);
        let ended = down.partition_point(|&(_, to)| to <= at);
        let is_down = down.get(ended).is_some_and(|&(from, _)| from <= at);
        (!is_down).then(|| known.checked_sub(1).map_or(first, |last| rates[last].1))
    };
    times.into_iter().map(|at| RateChange { at, rate: rate_at(at) }).collect()
}
