//! An explanation as a text.

use std::path::Path;

use dovetail_sched::Nanos;
use dovetail_sim::{
    PipelineMode,
    blame::{Explanation, HELD, STALLED, Selection, SlowPacket},
};

use super::{
    against::{Against, Change},
    pairing::Paired,
    pipeline::{millis, percent},
    who::{Group, Who, largest, name},
};
use crate::{
    run::{Plan, PolicyRun},
    setting::{Traffic, closing},
    table::{Table, count, figure},
};

/// This many rows are shown of what can be many.
const ROWS_SHOWN: usize = 12;

/// And this many columns of those that packets waited behind; the rest is one.
const BEHIND_SHOWN: usize = 6;

/// A run explained, and the one that it is held against.
pub(super) struct Explained<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) mode: PipelineMode,
    pub(super) selection: &'a Selection,
    pub(super) run: PolicyRun,
    pub(super) explanation: Explanation,
    pub(super) against: Option<Against>,
    pub(super) notes: Vec<String>,
}

impl Explained<'_> {
    pub(super) fn setting(&self) -> String {
        Traffic::of(Some(&self.run)).setting(self.plan, Some(self.mode))
    }

    pub(super) fn resources(&self) -> &[String] {
        self.plan.input.resources()
    }

    pub(super) fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let mut text = format!("{}\n\n", self.setting());
        if let (Selection::Packet(_), Some(packet)) = (self.selection, self.explanation.slowest.first()) {
            text += &self.one(packet);
        } else {
            text += &format!("{}\n\n", self.sentence());
            text += &format!("{}\n\n{}\n\n", waited(&self.run.policy), self.matrix().to_terminal());
            text += LEGEND;
            if !self.explanation.slowest.is_empty() {
                text += &format!("\n{}\n\n{}\n", self.slowest_are(), self.slowest().to_terminal());
            }
        }
        if let Some(against) = &self.against {
            text += &format!("\n{}\n\n", against.sentences(&self.run.policy, &self.explanation).join("\n"));
            let classes = against.classes();
            text += "Of the packets that are sent under both:\n\n";
            if !classes.is_empty() {
                text += &format!("{}\n\n", self.changes("class", &classes).to_terminal());
            }
            text += &format!("{}\n", self.changes("flow", &worst(against.flows())).to_terminal());
        }
        text += &closing(&self.notes, records, report);
        text.trim_end().to_owned()
    }

    /// Where the time of the selected packets went, in a sentence.
    pub(super) fn sentence(&self) -> String {
        let columns = &self.explanation.columns;
        let all = Who::by_flow(&self.explanation).fold(&self.explanation.selected);
        let whose = self.selected().unwrap_or_else(|| "all packets".to_owned());
        let fate = |count_: u64, what| (count_ > 0).then(|| format!("{} {what}", count(count_)));
        let fates: Vec<_> =
            [fate(all.packets, "sent"), fate(all.dropped, "dropped"), fate(all.left, "still waiting at the end")]
                .into_iter()
                .flatten()
                .collect();
        let part = |nanos| format!("{:.1} %", percent(nanos, all.latency_nanos));
        let own: u128 = all.own_nanos.iter().sum();
        let [most] = largest(&all.behind_nanos);
        let most =
            most.map(|at| format!(" (most: {}, {})", name(&columns[at + 2], columns), part(all.behind_nanos[at])));
        if all.packets == 0 {
            return format!("Under {}, of {whose} none is sent: {}.", self.run.policy, fates.join(", "));
        }
        format!(
            "Under {}, of {whose} ({}): a packet takes {} ms in the mean. Of that, {} is its own processing, {} it waits \
             behind its own flow, {} behind others{}, {} for a resource that waits for another, and {} because the policy \
             holds back.",
            self.run.policy,
            fates.join(", "),
            figure(all.mean_ms(all.latency_nanos)),
            part(own),
            part(all.same_flow_nanos),
            part(all.behind_all_nanos()),
            most.unwrap_or_default(),
            part(all.stalled_nanos),
            part(all.held_nanos),
        )
    }

    /// One packet's time, to the nanosecond.
    fn one(&self, packet: &SlowPacket) -> String {
        let columns = &self.explanation.columns;
        let mut table = Table::new(&["part", "ns", "%"], 1);
        let mut push = |what: String, time: Nanos| {
            let share = percent(time.0.into(), packet.latency.0.into());
            table.push([what, count(time.0), format!("{share:.1}")]);
        };
        for (resource, own) in self.resources().iter().zip(&packet.own) {
            push(format!("processed by {resource}"), *own);
        }
        push("waited behind its own flow".to_owned(), packet.same_flow);
        let behind: Vec<u128> = packet.causes.iter().map(|time| time.0.into()).collect();
        for at in largest::<64>(&behind[2..]).into_iter().flatten() {
            push(format!("waited behind {}", name(&columns[at + 2], columns)), packet.causes[at + 2]);
        }
        push("waited for a resource that waited for another (stalled)".to_owned(), packet.causes[STALLED]);
        push("waited because the policy held back".to_owned(), packet.causes[HELD]);
        push("from arrival to end".to_owned(), packet.latency);
        format!(
            "Packet {} of flow {} under {}: arrived at {:.9} s, took {} ms.\n\n{}\n",
            packet.packet,
            packet.flow,
            self.run.policy,
            packet.arrival.as_secs_f64(),
            figure(millis(packet.latency)),
            table.to_terminal(),
        )
    }

    /// What is selected, unless that is all.
    fn selected(&self) -> Option<String> {
        match self.selection {
            Selection::All => None,
            Selection::Packet(packet) => Some(format!("packet {packet}")),
            Selection::Flow(flow) => Some(format!("flow {flow}")),
            Selection::Class(class) => Some(format!("class {class}")),
        }
    }

    /// Who waited for whom, what is selected first.
    pub(super) fn matrix(&self) -> Table {
        let who = Who::coarse(&self.explanation);
        let selected = self.selected().map(|name| (name, who.fold(&self.explanation.selected)));
        matrix(&who, selected, self.resources())
    }

    pub(super) fn slowest_are(&self) -> String {
        let whose = self.selected().map(|whose| format!(" of {whose}")).unwrap_or_default();
        format!("The slowest packets{whose} under {}:", self.run.policy)
    }

    /// The slowest packets, and what they waited for most.
    pub(super) fn slowest(&self) -> Table {
        let columns = &self.explanation.columns;
        let mut table = Table::new(
            &["packet", "flow", "arrived s", "ms", "own ms", "same flow ms", "stalled ms", "held ms", "behind most"],
            2,
        );
        for packet in &self.explanation.slowest {
            let behind: Vec<u128> = packet.causes.iter().skip(2).map(|time| time.0.into()).collect();
            let most = largest::<2>(&behind).into_iter().flatten().map(|at| {
                format!("{} {:.0} %", name(&columns[at + 2], columns), percent(behind[at], packet.latency.0.into()))
            });
            let own = packet.own.iter().copied().fold(Nanos::ZERO, |sum, own| sum + own);
            table.push([
                packet.packet.to_string(),
                packet.flow.clone(),
                format!("{:.6}", packet.arrival.as_secs_f64()),
                figure(millis(packet.latency)),
                figure(millis(own)),
                figure(millis(packet.same_flow)),
                figure(millis(packet.causes[STALLED])),
                figure(millis(packet.causes[HELD])),
                most.collect::<Vec<_>>().join(", "),
            ]);
        }
        table
    }

    /// What became of the packets under the second policy.
    pub(super) fn changes(&self, kind: &str, changes: &[Change]) -> Table {
        let (first, second) = (&self.run.policy, self.against.as_ref().map_or("", |against| &against.run.policy));
        let header: Vec<String> = [kind, "packets"]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{first} ms"), format!("{second} ms"), "change ms".to_owned(), "quicker %".to_owned()])
            .chain(["slower %", "worst loss ms", "of packet"].map(str::to_owned))
            .collect();
        let mut table = Table { header, rows: Vec::new(), words: 1 };
        for change in changes {
            let Paired { pairs, gained, lost, worst, .. } = change.paired;
            let [before, after] = change.paired.mean_ms();
            let share = |count: u64| format!("{:.1}", percent(count.into(), pairs.into()));
            table.push([
                change.name.clone(),
                count(pairs),
                figure(before),
                figure(after),
                format!("{}{}", if after > before { "+" } else { "" }, figure(after - before)),
                share(gained),
                share(lost),
                worst.map_or_else(|| "–".to_owned(), |(loss, _)| figure(millis(loss))),
                worst.map_or_else(|| "–".to_owned(), |(_, packet)| packet.to_string()),
            ]);
        }
        table
    }
}

/// Of many flows those that lose most and those that gain most.
pub(super) fn worst(mut flows: Vec<Change>) -> Vec<Change> {
    if flows.len() > ROWS_SHOWN {
        let best = flows.split_off(flows.len() - ROWS_SHOWN / 2);
        flows.truncate(ROWS_SHOWN / 2);
        flows.extend(best);
    }
    flows
}

/// What stands over [`matrix`].
pub(super) fn waited(policy: &str) -> String {
    format!("What a packet takes under {policy}, and what it waits for, in ms in the mean:")
}

/// Who waited (rows) for whom (columns), in milliseconds a packet; what packets waited for most first.
pub(crate) fn matrix(who: &Who, selected: Option<(String, Group)>, resources: &[String]) -> Table {
    let all = who.all();
    let behind: Vec<usize> = largest::<BEHIND_SHOWN>(&all.behind_nanos).into_iter().flatten().collect();
    let is_shown = |at: &usize| behind.contains(at);
    let rest =
        (0..who.names.len()).any(|at| !is_shown(&at) && all.behind_nanos.get(at).is_some_and(|&nanos| nanos > 0));
    let header: Vec<String> = [who.kind, "packets", "takes"]
        .map(str::to_owned)
        .into_iter()
        .chain(resources.iter().map(|resource| format!("on {resource}")))
        .chain(["same flow".to_owned()])
        .chain(behind.iter().map(|&at| format!("behind {}", who.names[at])))
        .chain(rest.then(|| "behind others".to_owned()))
        .chain(["stalled", "held"].map(str::to_owned))
        .collect();
    let mut table = Table { header, rows: Vec::new(), words: 1 };
    let mut push = |name: &str, group: &Group| {
        let mean = |nanos| figure(group.mean_ms(nanos));
        let at = |at: usize| group.behind_nanos.get(at).copied().unwrap_or(0);
        let others: u128 = (0..who.names.len()).filter(|column| !is_shown(column)).map(at).sum();
        table.push(
            [name.to_owned(), count(group.packets), mean(group.latency_nanos)]
                .into_iter()
                .chain(group.own_nanos.iter().map(|&own| mean(own)))
                .chain([mean(group.same_flow_nanos)])
                .chain(behind.iter().map(|&column| mean(at(column))))
                .chain(rest.then(|| mean(others)))
                .chain([mean(group.stalled_nanos), mean(group.held_nanos)]),
        );
    };
    if let Some((name, group)) = selected {
        push(&name, &group);
    }
    let groups = who.by_weight();
    let hidden = groups.len().saturating_sub(ROWS_SHOWN);
    for (name, group) in groups.iter().take(ROWS_SHOWN).filter(|(_, group)| group.packets > 0) {
        push(name, group);
    }
    if hidden > 0 {
        let mut rest = Group::default();
        groups.iter().skip(ROWS_SHOWN).for_each(|(_, group)| rest.merge(group));
        push(&format!("{hidden} more"), &rest);
    }
    push("all", &all);
    table
}

const LEGEND: &str = "\
on <resource>  processed by it
same flow      waited while a packet of its own flow was processed
behind <whom>  waited while a packet of theirs was processed, one of its own flow left out
stalled        waited for a resource that was taken by a packet waiting for another resource
held           waited because the policy chose no packet
";
