//! An explanation as text.

use std::path::Path;

use dovetail_sched::Nanos;
use dovetail_sim::{
    PipelineMode,
    blame::{
        Explanation, HELD, ON_ITS_WAY, PACE, RECOVERING, SERVER, STALLED, Selection, SlowPacket, USER_SIDE,
        WITHOUT_FLOW,
    },
};

use super::{
    against::{Against, Change},
    noun::{Noun, capital},
    pairing::Paired,
    who::{Group, Who, largest, name},
};
use crate::{
    provenance::Provenance,
    run::PolicyRun,
    setting::closing,
    table::{Table, count, figure},
};

/// Most rows of tables that can be long.
const ROWS_SHOWN: usize = 12;

/// Most columns for groups that packets waited behind; the rest is combined.
const BEHIND_SHOWN: usize = 6;

/// An explained run, and the one that it is compared with.
pub(super) struct Explained<'a> {
    pub(super) noun: Noun,
    /// Name of the traffic.
    pub(super) name: &'a str,
    /// The traffic and the middlebox, in a sentence.
    pub(super) setting: String,
    pub(super) resources: &'a [String],
    /// The pipeline between resources; `None` for a network's links.
    pub(super) pipeline: Option<PipelineMode>,
    pub(super) selection: &'a Selection,
    pub(super) run: PolicyRun,
    pub(super) explanation: Explanation,
    pub(super) against: Option<Against>,
    pub(super) notes: Vec<String>,
    /// For packets through a pipeline.
    pub(super) provenance: Option<Provenance>,
}

impl Explained<'_> {
    pub(super) fn text(&self, report: Option<&Path>, records: Option<&Path>) -> String {
        let mut text = format!("{}\n\n", self.setting);
        if let (Selection::Packet(_), Some(packet)) = (self.selection, self.explanation.slowest.first()) {
            text += &self.one(packet);
        } else {
            text += &format!("{}\n\n", self.sentence());
            text += &format!("{}\n\n{}\n\n", waited(self.noun, &self.run.policy), self.matrix().to_terminal());
            text += &self.legend();
            if !self.explanation.slowest.is_empty() {
                text += &format!("\n{}\n\n{}\n", self.slowest_are(), self.slowest().to_terminal());
            }
        }
        if let Some(against) = &self.against {
            text += &format!("\n{}\n\n", against.sentences(self.noun, &self.run.policy, &self.explanation).join("\n"));
            let classes = against.classes();
            text += &format!("Of the {} that end under both:\n\n", self.noun.many());
            if !classes.is_empty() {
                text += &format!("{}\n\n", self.changes("class", &classes).to_terminal());
            }
            if self.noun.have_flows() {
                text += &format!("{}\n", self.changes(self.noun.flow(), &worst(against.flows())).to_terminal());
            }
        }
        text += &closing(&self.notes, records, report);
        text.trim_end().to_owned()
    }

    /// How the time of the selected packets is divided, in a sentence.
    pub(super) fn sentence(&self) -> String {
        let columns = &self.explanation.columns;
        let all = Who::by_flow(&self.explanation).fold(&self.explanation.selected);
        let whose = self.selected().unwrap_or_else(|| format!("all {}", self.noun.many()));
        let fate = |count_: u64, what| (count_ > 0).then(|| format!("{} {what}", count(count_)));
        let fates: Vec<_> =
            [fate(all.packets, "done"), fate(all.dropped, self.noun.dropped()), fate(all.left, "not done at the end")]
                .into_iter()
                .flatten()
                .collect();
        if all.packets == 0 {
            return format!("Under {}, none of {whose} is done: {}.", self.run.policy, fates.join(", "));
        }
        let part = |nanos| format!("{:.1} %", percent(nanos, all.latency_nanos));
        let [most] = largest(&all.behind_nanos);
        let behind = most.map_or_else(
            || "behind others".to_owned(),
            |at| {
                let most = name(&columns[at + WITHOUT_FLOW], columns);
                format!("behind others (most: {most}, {})", part(all.behind_nanos[at]))
            },
        );
        let waits = [
            (all.same_flow_nanos, self.noun.behind_same_flow().to_owned()),
            (all.behind_all_nanos(), behind),
            (all.stalled_nanos, "for a resource that waits for another".to_owned()),
            (all.held_nanos, "because the policy holds back".to_owned()),
            (all.pace_nanos, "at the gateway while the link is idle".to_owned()),
            (all.user_side_nanos, "on the users' side".to_owned()),
            (all.server_nanos, "for its server".to_owned()),
            (all.recovering_nanos, "until what was dropped is sent again".to_owned()),
        ];
        let waits: Vec<_> = waits
            .into_iter()
            .filter(|&(nanos, _)| nanos > 0)
            .map(|(nanos, what)| format!("{} it waits {what}", part(nanos)))
            .collect();
        let on_its_way = (all.on_its_way_nanos > 0).then(|| format!("{} it is on its way", part(all.on_its_way_nanos)));
        let own = format!("{} {}", part(all.own_nanos.iter().sum()), self.noun.own());
        let parts: Vec<_> = [own].into_iter().chain(waits).chain(on_its_way).collect();
        format!(
            "{} under {} ({}): a {} takes {} ms on average. Of that, {}.",
            capital(&whose),
            self.run.policy,
            fates.join(", "),
            self.noun.one(),
            figure(all.mean_ms(all.latency_nanos)),
            parts.join(", "),
        )
    }

    /// How one packet's time is divided, to the nanosecond.
    fn one(&self, packet: &SlowPacket) -> String {
        let columns = &self.explanation.columns;
        let mut table = Table::new(&["part", "ns", "%"], 1);
        let mut push = |what: String, time: Nanos| {
            let share = percent(time.0.into(), packet.latency.0.into());
            table.push([what, count(time.0), format!("{share:.1}")]);
        };
        for (resource, own) in self.resources.iter().zip(&packet.own) {
            let own_part = match self.noun {
                Noun::Request => format!("its packets on the {resource}"),
                Noun::Packet | Noun::Transfer => format!("processed by {resource}"),
            };
            push(own_part, *own);
        }
        if packet.same_flow > Nanos::ZERO {
            push(format!("waited {}", self.noun.behind_same_flow()), packet.same_flow);
        }
        let behind: Vec<u128> = packet.causes.iter().skip(WITHOUT_FLOW).map(|time| time.0.into()).collect();
        for at in largest::<64>(&behind).into_iter().flatten() {
            let column = at + WITHOUT_FLOW;
            push(format!("waited behind {}", name(&columns[column], columns)), packet.causes[column]);
        }
        let others: [(usize, &str); WITHOUT_FLOW] = [
            (STALLED, "waited for a resource that waited for another (stalled)"),
            (HELD, "waited because the policy held back"),
            (RECOVERING, "waited until what was dropped was sent again"),
            (PACE, "waited at the gateway while the link was idle (pace)"),
            (USER_SIDE, "between user and gateway (user side)"),
            (SERVER, "waited for its server"),
            (ON_ITS_WAY, "on its way"),
        ];
        for (column, what) in others.into_iter().filter(|&(column, _)| packet.causes[column] > Nanos::ZERO) {
            push(what.to_owned(), packet.causes[column]);
        }
        push("in all".to_owned(), packet.latency);
        format!(
            "{} {} of {} under {}: began at {:.9} s, took {} ms.\n\n{}\n",
            capital(self.noun.one()),
            packet.packet,
            packet.flow,
            self.run.policy,
            packet.arrival.as_secs_f64(),
            figure(millis(packet.latency)),
            table.to_terminal(),
        )
    }

    /// The selection, unless everything is selected.
    fn selected(&self) -> Option<String> {
        match self.selection {
            Selection::All => None,
            Selection::Packet(packet) => Some(format!("{} {packet}", self.noun.one())),
            Selection::Flow(flow) => Some(format!("{} {flow}", self.noun.flow())),
            Selection::Class(class) => Some(format!("class {class}")),
        }
    }

    /// Which groups waited for which, the selection first.
    pub(super) fn matrix(&self) -> Table {
        let who = Who::coarse(&self.explanation);
        let selected = self.selected().map(|name| (name, who.fold(&self.explanation.selected)));
        matrix(self.noun, &who, selected, self.resources)
    }

    pub(super) fn slowest_are(&self) -> String {
        let whose = self.selected().map(|whose| format!(" of {whose}")).unwrap_or_default();
        format!("The slowest {}{whose} under {}:", self.noun.many(), self.run.policy)
    }

    /// The slowest packets, and what they waited for most.
    pub(super) fn slowest(&self) -> Table {
        let columns = &self.explanation.columns;
        let others: Vec<(usize, &str)> = [
            (STALLED, "stalled ms"),
            (HELD, "held ms"),
            (PACE, "pace ms"),
            (USER_SIDE, "user side ms"),
            (SERVER, "server ms"),
            (RECOVERING, "recovering ms"),
            (ON_ITS_WAY, "on its way ms"),
        ]
        .into_iter()
        .filter(|&(column, _)| self.explanation.slowest.iter().any(|one| one.causes[column] > Nanos::ZERO))
        .collect();
        let same_flow = self.noun.have_flows();
        let header = [self.noun.one(), self.noun.flow(), "began s", "ms", "own ms"]
            .map(str::to_owned)
            .into_iter()
            .chain(same_flow.then(|| format!("{} ms", self.noun.same_flow())))
            .chain(others.iter().map(|&(_, what)| what.to_owned()))
            .chain(["behind most".to_owned()]);
        let mut table = Table { header: header.collect(), rows: Vec::new(), words: 2 };
        for packet in &self.explanation.slowest {
            let behind: Vec<u128> = packet.causes.iter().skip(WITHOUT_FLOW).map(|time| time.0.into()).collect();
            let most = largest::<2>(&behind).into_iter().flatten().map(|at| {
                let whom = name(&columns[at + WITHOUT_FLOW], columns);
                format!("{whom} {:.0} %", percent(behind[at], packet.latency.0.into()))
            });
            let own = packet.own.iter().copied().fold(Nanos::ZERO, |sum, own| sum + own);
            let fixed = [
                packet.packet.to_string(),
                packet.flow.clone(),
                format!("{:.6}", packet.arrival.as_secs_f64()),
                figure(millis(packet.latency)),
                figure(millis(own)),
            ];
            table.push(
                fixed
                    .into_iter()
                    .chain(same_flow.then(|| figure(millis(packet.same_flow))))
                    .chain(others.iter().map(|&(column, _)| figure(millis(packet.causes[column]))))
                    .chain([most.collect::<Vec<_>>().join(", ")]),
            );
        }
        table
    }

    /// Meaning of the columns of [`matrix`](Self::matrix).
    fn legend(&self) -> String {
        let who = Who::coarse(&self.explanation);
        let is_there = |column: &str| other_columns(&who).iter().any(|(name, _)| *name == column);
        let is = |noun: Noun| self.noun == noun;
        let terms = [
            (!is(Noun::Request), "on <resource>", "processed by it"),
            (is(Noun::Request), "on link", "one of its packets was on the link"),
            (
                is(Noun::Request),
                "same user",
                "waited before the link or at the gateway while a packet of its user's other requests was on the link",
            ),
            (
                is(Noun::Request),
                "behind <whom>",
                "waited before the link or at the gateway while a packet of theirs was on the link",
            ),
            (is(Noun::Packet), "same flow", "waited while a packet of its own flow was processed"),
            (
                is(Noun::Packet),
                "behind <whom>",
                "waited while a packet of theirs was processed, those of its own flow left out",
            ),
            (is(Noun::Transfer), "behind <whom>", "waited before the link while a packet of theirs was on it"),
            (
                is_there("stalled"),
                "stalled",
                "waited for a resource that was taken by a packet waiting for another resource",
            ),
            (is_there("held"), "held", "waited because the policy chose no packet"),
            (is_there("recovering"), "recovering", "waited until a packet that the link had dropped came there again"),
            (is_there("pace"), "pace", "waited at the gateway while no packet was on the link"),
            (
                is_there("user side"),
                "user side",
                "between user and gateway, or the gateway had no room for more of the response",
            ),
            (is_there("server"), "server", "released, and nothing of the response had come to the link"),
            (
                is_there("on its way"),
                "on its way",
                "no packet before the link or on it: propagation, other links, hosts",
            ),
        ];
        terms
            .iter()
            .filter(|(is_shown, ..)| *is_shown)
            .map(|(_, term, meaning)| format!("{term:13}  {meaning}\n"))
            .collect()
    }

    /// Changes for the packets under the second policy.
    pub(super) fn changes(&self, kind: &str, changes: &[Change]) -> Table {
        let (first, second) = (&self.run.policy, self.against.as_ref().map_or("", |against| &against.run.policy));
        let header: Vec<String> = [kind, self.noun.many()]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{first} ms"), format!("{second} ms"), "change ms".to_owned(), "quicker %".to_owned()])
            .chain(["slower %", "worst loss ms", self.noun.one()].map(str::to_owned))
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

/// If there are many flows, those that lose most and those that gain most.
pub(super) fn worst(mut flows: Vec<Change>) -> Vec<Change> {
    if flows.len() > ROWS_SHOWN {
        let best = flows.split_off(flows.len() - ROWS_SHOWN / 2);
        flows.truncate(ROWS_SHOWN / 2);
        flows.extend(best);
    }
    flows
}

/// The heading of [`matrix`].
pub(super) fn waited(noun: Noun, policy: &str) -> String {
    format!("What a {} takes under {policy}, and what it waits for, in ms on average:", noun.one())
}

/// Which groups (rows) waited for which (columns), in milliseconds per packet, the longest waits first.
pub(super) fn matrix(noun: Noun, who: &Who, selected: Option<(String, Group)>, resources: &[String]) -> Table {
    let all = who.all();
    let behind: Vec<usize> = largest::<BEHIND_SHOWN>(&all.behind_nanos).into_iter().flatten().collect();
    let is_shown = |at: &usize| behind.contains(at);
    let rest =
        (0..who.names.len()).any(|at| !is_shown(&at) && all.behind_nanos.get(at).is_some_and(|&nanos| nanos > 0));
    let (others, same_flow) = (other_columns(who), all.same_flow_nanos > 0);
    let header: Vec<String> = [who.kind, "number", "takes"]
        .map(str::to_owned)
        .into_iter()
        .chain(resources.iter().map(|resource| format!("on {resource}")))
        .chain(same_flow.then(|| noun.same_flow().to_owned()))
        .chain(behind.iter().map(|&at| format!("behind {}", who.names[at])))
        .chain(rest.then(|| "behind others".to_owned()))
        .chain(others.iter().map(|(name, _)| (*name).to_owned()))
        .collect();
    let mut table = Table { header, rows: Vec::new(), words: 1 };
    let mut push = |name: &str, group: &Group| {
        let mean = |nanos| figure(group.mean_ms(nanos));
        let at = |at: usize| group.behind_nanos.get(at).copied().unwrap_or(0);
        let hidden: u128 = (0..who.names.len()).filter(|column| !is_shown(column)).map(at).sum();
        table.push(
            [name.to_owned(), count(group.packets), mean(group.latency_nanos)]
                .into_iter()
                .chain(group.own_nanos.iter().map(|&own| mean(own)))
                .chain(same_flow.then(|| mean(group.same_flow_nanos)))
                .chain(behind.iter().map(|&column| mean(at(column))))
                .chain(rest.then(|| mean(hidden)))
                .chain(others.iter().map(|(_, of)| mean(of(group)))),
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

/// A part of a group's time.
type PartOf = fn(&Group) -> u128;

/// Causes other than flows, if any packet waits for them.
fn other_columns(who: &Who) -> Vec<(&'static str, PartOf)> {
    let columns: [(&str, PartOf); WITHOUT_FLOW] = [
        ("stalled", |group| group.stalled_nanos),
        ("held", |group| group.held_nanos),
        ("recovering", |group| group.recovering_nanos),
        ("server", |group| group.server_nanos),
        ("pace", |group| group.pace_nanos),
        ("user side", |group| group.user_side_nanos),
        ("on its way", |group| group.on_its_way_nanos),
    ];
    let all = who.all();
    columns.into_iter().filter(|(_, of)| of(&all) > 0).collect()
}

/// `nanos` as a percentage of `of`.
fn percent(nanos: u128, of: u128) -> f64 {
    if of == 0 { 0.0 } else { nanos as f64 / of as f64 * 100.0 }
}

/// A time in milliseconds.
fn millis(time: Nanos) -> f64 {
    time.as_f64() / 1e6
}
