//! JSON of an explanation: times in whole nanoseconds, which add up exactly.

use dovetail_sched::Nanos;
use dovetail_sim::blame::{HELD, ON_ITS_WAY, PACE, RECOVERING, SERVER, STALLED, SlowPacket, USER_SIDE, WITHOUT_FLOW};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    against::{Against, Change},
    noun::Noun,
    show::Explained,
    who::{Group, Who},
};
use crate::{provenance::Provenance, setting::Traffic};

#[derive(Serialize)]
pub(super) struct ExplainedJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    workload: Traffic,
    policy: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    selected: PartsJson,
    classes: Vec<GroupJson>,
    flows: Vec<GroupJson>,
    slowest: Vec<PacketJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<AgainstJson>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct GroupJson {
    name: String,
    #[serde(flatten)]
    parts: PartsJson,
}

#[derive(Serialize)]
struct PartsJson {
    packets: u64,
    dropped: u64,
    left: u64,
    latency_ns: u128,
    own_ns: Map<String, Value>,
    same_flow_ns: u128,
    behind_ns: Map<String, Value>,
    stalled_ns: u128,
    held_ns: u128,
    #[serde(skip_serializing_if = "is_nothing")]
    recovering_ns: u128,
    #[serde(skip_serializing_if = "is_nothing")]
    on_its_way_ns: u128,
    #[serde(skip_serializing_if = "is_nothing")]
    server_ns: u128,
    #[serde(skip_serializing_if = "is_nothing")]
    pace_ns: u128,
    #[serde(skip_serializing_if = "is_nothing")]
    user_side_ns: u128,
}

fn is_nothing(nanos: &u128) -> bool {
    *nanos == 0
}

#[derive(Serialize)]
struct PacketJson {
    packet: u64,
    flow: String,
    arrival_ns: u64,
    latency_ns: u64,
    own_ns: Map<String, Value>,
    same_flow_ns: u64,
    behind_ns: Map<String, Value>,
    stalled_ns: u64,
    held_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovering_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on_its_way_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pace_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_side_ns: Option<u64>,
}

#[derive(Serialize)]
struct AgainstJson {
    policy: String,
    selected: PartsJson,
    sentences: Vec<String>,
    classes: Vec<ChangeJson>,
    flows: Vec<ChangeJson>,
}

#[derive(Serialize)]
struct ChangeJson {
    name: String,
    packets: u64,
    sent_by_one_only: [u64; 2],
    mean_ns: [f64; 2],
    quicker: u64,
    slower: u64,
    worst_loss_ns: Option<u64>,
    worst_packet: Option<u64>,
}

impl Explained<'_> {
    pub(super) fn json(&self) -> ExplainedJson {
        let flows = Who::by_flow(&self.explanation);
        let names = &flows.names;
        let groups = |who: &Who| {
            let group = |(name, group): (&String, &Group)| GroupJson {
                name: name.clone(),
                parts: self.parts(group, &who.names),
            };
            who.names.iter().zip(&who.groups).map(group).collect::<Vec<_>>()
        };
        ExplainedJson {
            provenance: self.provenance.clone(),
            workload: Traffic::of(Some(&self.run)),
            policy: self.run.policy.clone(),
            pipeline: self.pipeline.map(|mode| mode.to_string()),
            selected: self.parts(&flows.fold(&self.explanation.selected), names),
            classes: Who::by_class(&self.explanation).as_ref().map(groups).unwrap_or_default(),
            flows: groups(&flows),
            slowest: self.explanation.slowest.iter().map(|packet| self.packet(packet, names)).collect(),
            against: self.against.as_ref().map(|against| self.against(against)),
            notes: self.notes.clone(),
        }
    }

    fn parts(&self, group: &Group, names: &[String]) -> PartsJson {
        PartsJson {
            packets: group.packets,
            dropped: group.dropped,
            left: group.left,
            latency_ns: group.latency_nanos,
            own_ns: named(self.resources, &group.own_nanos),
            same_flow_ns: group.same_flow_nanos,
            behind_ns: named(names, &group.behind_nanos),
            stalled_ns: group.stalled_nanos,
            held_ns: group.held_nanos,
            recovering_ns: group.recovering_nanos,
            on_its_way_ns: group.on_its_way_nanos,
            server_ns: group.server_nanos,
            pace_ns: group.pace_nanos,
            user_side_ns: group.user_side_nanos,
        }
    }

    fn packet(&self, packet: &SlowPacket, names: &[String]) -> PacketJson {
        let nanos = |times: &[Nanos]| times.iter().map(|time| time.0.into()).collect::<Vec<u128>>();
        let of_transfers = |column: usize| (self.noun != Noun::Packet).then(|| packet.causes[column].0);
        let of_requests = |column: usize| (self.noun == Noun::Request).then(|| packet.causes[column].0);
        PacketJson {
            packet: packet.packet,
            flow: packet.flow.clone(),
            arrival_ns: packet.arrival.0,
            latency_ns: packet.latency.0,
            own_ns: named(self.resources, &nanos(&packet.own)),
            same_flow_ns: packet.same_flow.0,
            behind_ns: named(names, &nanos(&packet.causes[WITHOUT_FLOW..])),
            stalled_ns: packet.causes[STALLED].0,
            held_ns: packet.causes[HELD].0,
            recovering_ns: of_transfers(RECOVERING),
            on_its_way_ns: of_transfers(ON_ITS_WAY),
            server_ns: of_requests(SERVER),
            pace_ns: of_requests(PACE),
            user_side_ns: of_requests(USER_SIDE).filter(|&nanos| nanos > 0),
        }
    }

    fn against(&self, against: &Against) -> AgainstJson {
        let flows = Who::by_flow(&against.explanation);
        let changes = |changes: Vec<Change>| changes.into_iter().map(ChangeJson::from).collect();
        AgainstJson {
            policy: against.run.policy.clone(),
            selected: self.parts(&flows.fold(&against.explanation.selected), &flows.names),
            sentences: against.sentences(self.noun, &self.run.policy, &self.explanation),
            classes: changes(against.classes()),
            flows: changes(against.flows()),
        }
    }
}

impl From<Change> for ChangeJson {
    fn from(change: Change) -> Self {
        let mean_ns = change.paired.mean_ms().map(|mean| mean * 1e6);
        Self {
            name: change.name,
            packets: change.paired.pairs,
            sent_by_one_only: change.paired.only,
            mean_ns,
            quicker: change.paired.gained,
            slower: change.paired.lost,
            worst_loss_ns: change.paired.worst.map(|(loss, _)| loss.0),
            worst_packet: change.paired.worst.map(|(_, packet)| packet),
        }
    }
}

/// Non-zero values, by name.
fn named(names: &[String], nanos: &[u128]) -> Map<String, Value> {
    let number = |nanos: u128| Value::from(u64::try_from(nanos).unwrap_or(u64::MAX));
    names
        .iter()
        .zip(nanos)
        .filter(|(_, nanos)| **nanos > 0)
        .map(|(name, &nanos)| (name.clone(), number(nanos)))
        .collect()
}
