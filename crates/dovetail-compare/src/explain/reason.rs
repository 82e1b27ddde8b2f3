//! Why a group's packets are quicker or slower under another policy, in a sentence.

use super::{
    noun::{Noun, capital},
    who::Group,
};
use crate::table::{count, figure};

/// Changes below this fraction of the mean latency get no sentence.
const MIN_FRACTION: f64 = 0.01;

/// A further cause is named if it makes up this fraction of the change.
const FURTHER_PART: f64 = 0.25;

/// Most causes named.
const NAMED: usize = 2;

/// What `name`'s packets wait for more or less under `policies[1]` than under `policies[0]`; `None` if their mean latency
/// hardly changes.
pub(super) fn reason(
    noun: Noun,
    name: &str,
    groups: [&Group; 2],
    names: &[String],
    policies: [&str; 2],
) -> Option<String> {
    let [before, after] = groups.map(|group| group.mean_ms(group.latency_nanos));
    let change = after - before;
    if groups.iter().any(|group| group.packets == 0) || change.abs() <= MIN_FRACTION * before {
        return None;
    }
    let of = |nanos: fn(&Group) -> u128| groups[1].mean_ms(nanos(groups[1])) - groups[0].mean_ms(nanos(groups[0]));
    let mut causes = vec![
        (noun.behind_same_flow().replace("its", "their"), of(|group| group.same_flow_nanos)),
        ("for a resource that waits for another".to_owned(), of(|group| group.stalled_nanos)),
        ("until what was dropped is sent again".to_owned(), of(|group| group.recovering_nanos)),
        ("on their way".to_owned(), of(|group| group.on_its_way_nanos)),
        ("for their servers".to_owned(), of(|group| group.server_nanos)),
        ("at the gateway while the link is idle".to_owned(), of(|group| group.pace_nanos)),
        ("on the users' side".to_owned(), of(|group| group.user_side_nanos)),
        (
            format!("because {} holds back", if change > 0.0 { policies[1] } else { policies[0] }),
            of(|group| group.held_nanos),
        ),
    ];
    for (at, other) in names.iter().enumerate() {
        let behind = groups.map(|group| group.mean_ms(group.behind_nanos.get(at).copied().unwrap_or(0)));
        let flows = noun.flows();
        let whom = if other == name { format!("behind other {flows} of {other}") } else { format!("behind {other}") };
        causes.push((whom, behind[1] - behind[0]));
    }
    // Causes in the direction of the change, the largest first.
    causes.retain(|(_, part)| part * change > 0.0);
    causes.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let word = if change > 0.0 { "longer" } else { "less" };
    let worth = |&(at, (_, part)): &(usize, &(String, f64))| at == 0 || part.abs() >= FURTHER_PART * change.abs();
    let named: Vec<String> = causes
        .iter()
        .enumerate()
        .take(NAMED)
        .filter(worth)
        .map(|(_, (what, part))| format!("{} ms {word} {what}", figure(part.abs())))
        .collect();
    let direction = if change > 0.0 { "slower" } else { "quicker" };
    let why = if named.is_empty() { String::new() } else { format!(": they wait {}", named.join(" and ")) };
    let drops = groups.map(|group| group.dropped);
    let dropped = drops[0].abs_diff(drops[1]);
    let drops = if dropped as f64 > MIN_FRACTION * groups[0].packets as f64 {
        let word = if drops[1] > drops[0] { "more" } else { "fewer" };
        format!("; {} {word} of them are {}", count(dropped), noun.dropped())
    } else {
        String::new()
    };
    Some(format!(
        "{} of {name} are {} ms {direction} under {} ({} → {} ms){why}{drops}.",
        capital(noun.many()),
        figure(change.abs()),
        policies[1],
        figure(before),
        figure(after),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(packets: u64, same: u128, behind: [u128; 2], held: u128) -> Group {
        let latency_nanos = same + behind.iter().sum::<u128>() + held;
        Group {
            packets,
            latency_nanos,
            same_flow_nanos: same,
            behind_nanos: behind.into(),
            held_nanos: held,
            ..Group::default()
        }
    }

    #[test]
    fn the_largest_cause_in_the_direction_of_the_change_is_named() {
        let names = ["voip".to_owned(), "bulk".to_owned()];
        let before = group(10, 10_000_000, [0, 50_000_000], 0);
        let after = group(10, 15_000_000, [0, 10_000_000], 0);
        let said = reason(Noun::Packet, "voip", [&before, &after], &names, ["fifo", "drfq"]).unwrap();
        assert_eq!(
            said,
            "Packets of voip are 3.50 ms quicker under drfq (6.00 → 2.50 ms): they wait 4.00 ms less behind bulk."
        );
        let said = reason(Noun::Packet, "voip", [&after, &before], &names, ["drfq", "fifo"]).unwrap();
        assert!(said.ends_with("they wait 4.00 ms longer behind bulk."), "{said}");
        let held = group(10, 15_000_000, [0, 10_000_000], 20_000_000);
        let said = reason(Noun::Packet, "bulk", [&after, &held], &names, ["drfq", "lazy"]).unwrap();
        assert!(said.ends_with("they wait 2.00 ms longer because lazy holds back."), "{said}");
    }

    #[test]
    fn what_hardly_changes_needs_no_reason() {
        let names = ["a".to_owned(), "b".to_owned()];
        let one = group(1000, 0, [0, 1_000_000_000], 0);
        let other = group(1000, 0, [0, 1_005_000_000], 0);
        assert_eq!(reason(Noun::Packet, "a", [&one, &other], &names, ["p", "q"]), None);
        assert_eq!(reason(Noun::Packet, "a", [&one, &Group::default()], &names, ["p", "q"]), None);
    }
}
