//! Charts of an explanation: bars that divide a mean packet's time, and a grid of which group waits for which.

use super::who::{Group, Who};
use crate::report::plot::{Axis, Grid, Plot, Series};

/// Most bars, or rows of a grid: the groups with the largest total waiting time.
const BARS: usize = 24;
/// Most parts of a bar for groups that packets waited behind; the rest is combined.
const BEHIND: usize = 8;

/// How a mean packet's time is divided, a bar per group: processing, its own flow, others, and idle resources.
pub(super) fn time_divided(who: &Who, resources: &[String]) -> Plot {
    // The bar of the group with the largest total waiting time is on top.
    let groups: Vec<(&str, &Group)> =
        who.by_weight().into_iter().filter(|(_, group)| group.packets > 0).take(BARS).collect();
    let names = groups.iter().rev().map(|(name, _)| (*name).to_owned()).collect();
    let mut plot = Plot::new(Axis::linear("mean latency, ms"), Axis::names("", names));
    let mut part = |name: String, of: &dyn Fn(&Group) -> u128| {
        let times: Vec<f64> = groups.iter().rev().map(|(_, group)| group.mean_ms(of(group))).collect();
        if times.iter().any(|&time| time > 0.0) {
            plot.add(Series::bars(name, times));
        }
    };
    for (at, resource) in resources.iter().enumerate() {
        part(format!("on {resource}"), &|group| group.own_nanos[at]);
    }
    part("same flow".to_owned(), &|group| group.same_flow_nanos);
    let behind = who.all().behind_nanos;
    let mut order: Vec<usize> =
        (0..who.names.len()).filter(|&at| behind.get(at).is_some_and(|&nanos| nanos > 0)).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(behind[at]));
    let rest = order.split_off(order.len().min(BEHIND));
    for at in order {
        part(format!("behind {}", who.names[at]), &|group| group.behind_nanos.get(at).copied().unwrap_or(0));
    }
    part("behind others".to_owned(), &|group| {
        rest.iter().map(|&at| group.behind_nanos.get(at).copied().unwrap_or(0)).sum()
    });
    part("stalled".to_owned(), &|group| group.stalled_nanos);
    part("held".to_owned(), &|group| group.held_nanos);
    part("recovering".to_owned(), &|group| group.recovering_nanos);
    part("server".to_owned(), &|group| group.server_nanos);
    part("pace".to_owned(), &|group| group.pace_nanos);
    part("user side".to_owned(), &|group| group.user_side_nanos);
    part("on its way".to_owned(), &|group| group.on_its_way_nanos);
    plot
}

/// How long a mean packet of each row's group waits behind each column's, including its own flow.
pub(super) fn who_waits(who: &Who) -> Grid {
    let groups = who.by_weight();
    let mut shown: Vec<&str> = groups.iter().filter(|(_, group)| group.packets > 0).map(|(name, _)| *name).collect();
    shown.truncate(BARS);
    let at = |name: &str| who.names.iter().position(|known| known == name).unwrap_or(0);
    let waits = |row: &str, column: &str| {
        let group = &who.groups[at(row)];
        let behind = group.behind_nanos.get(at(column)).copied().unwrap_or(0);
        let same = if row == column { group.same_flow_nanos } else { 0 };
        group.mean_ms(behind + same)
    };
    let values = shown.iter().map(|row| shown.iter().map(|column| waits(row, column)).collect()).collect();
    let names = shown.iter().map(|name| (*name).to_owned()).collect();
    Grid { titles: ["who waits", "for whom"], names, values, unit: "ms" }
}
