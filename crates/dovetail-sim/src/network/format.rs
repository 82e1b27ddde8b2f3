//! The file format of networks: TOML to plain data, with nothing resolved yet.

use dovetail_sched::{Nanos, units::Rate};
use dovetail_toml::Once;
use serde::Deserialize;
use toml::Spanned;

use crate::workload::written::{Bytes, Pace, Pair, Quantity, SizeForm};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) name: Spanned<String>,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) seed: u64,
    pub(super) network: Spanned<Once<NetworkForm>>,
    pub(super) access: Option<Spanned<Once<AccessForm>>>,
    #[serde(default)]
    pub(super) node: Vec<Spanned<NodeForm>>,
    pub(super) link: Vec<Spanned<LinkForm>>,
    pub(super) traffic: Vec<Spanned<TrafficForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NetworkForm {
    pub(super) stop: Option<Quantity<Nanos>>,
    pub(super) transport: Option<String>,
    pub(super) congestion: Option<CongestionForm>,
    pub(super) mtu: Option<Quantity<Bytes>>,
    pub(super) window: Option<Quantity<Bytes>>,
    pub(super) delayed_ack: Option<Quantity<Nanos>>,
    pub(super) jitter: Option<Quantity<Nanos>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CongestionForm {
    Reno,
    Cubic,
    Bbr,
}

/// Several nodes under one name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeForm {
    pub(super) name: String,
    pub(super) count: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkForm {
    pub(super) between: Pair<Names>,
    pub(super) rate: Quantity<Rate>,
    pub(super) delay: Option<Quantity<Nanos>>,
    #[serde(default)]
    pub(super) watched: bool,
    pub(super) policy: Option<String>,
    pub(super) buffer_packets: Option<u32>,
    pub(super) buffer: Option<Quantity<Bytes>>,
    pub(super) rate_back: Option<Quantity<Rate>>,
    #[serde(default)]
    pub(super) changes: Vec<ChangeForm>,
    #[serde(default)]
    pub(super) down: Vec<Pair<Quantity<Nanos>>>,
    pub(super) buffer_packets_back: Option<u32>,
    pub(super) buffer_back: Option<Quantity<Bytes>>,
    pub(super) mark_packets: Option<u32>,
    pub(super) mark_packets_back: Option<u32>,
    pub(super) flows: Option<u32>,
}

impl LinkForm {
    /// The rate from the second node to the first.
    pub(super) fn back(&self) -> Rate {
        self.rate_back.as_ref().map_or(self.rate.0, |rate| rate.0)
    }
}

/// A link's rate from a time on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeForm {
    pub(super) at: Quantity<Nanos>,
    pub(super) rate: Option<Quantity<Rate>>,
    pub(super) rate_back: Option<Quantity<Rate>>,
}

/// One node or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a node's name such as \"r1\", or several such as [\"s1\", \"s2\"]")]
pub(super) enum Names {
    One(String),
    Several(Vec<String>),
}

impl Names {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrafficForm {
    pub(super) name: String,
    pub(super) weight: Option<f64>,
    pub(super) from: Names,
    pub(super) to: Names,
    pub(super) start: Option<Quantity<Nanos>>,
    pub(super) stop: Option<Quantity<Nanos>>,
    pub(super) transfers: Option<Once<TransfersForm>>,
    pub(super) long_lived: Option<u32>,
    pub(super) udp: Option<Once<UdpForm>>,
    pub(super) interactive: Option<Once<InteractiveForm>>,
    pub(super) requests: Option<Once<RequestsForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessForm {
    pub(super) gateway: String,
    pub(super) capacity: Option<Quantity<Rate>>,
    pub(super) probe: Option<Quantity<Nanos>>,
    pub(super) request: Option<Quantity<Bytes>>,
    pub(super) header: Option<Quantity<Bytes>>,
    pub(super) tells_length: Option<bool>,
    pub(super) sees_end: Option<bool>,
    pub(super) warm_up: Option<Quantity<Nanos>>,
    pub(super) uplink: Option<Quantity<Rate>>,
    pub(super) uplink_learn: Option<bool>,
    pub(super) users: Option<Once<UsersForm>>,
    pub(super) servers: Option<Once<ServersForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsersForm {
    pub(super) connections: Option<u32>,
    pub(super) reuse: Option<bool>,
    pub(super) idle: Option<Quantity<Nanos>>,
    pub(super) buffer: Option<Quantity<Bytes>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServersForm {
    pub(super) reuse: Option<bool>,
    pub(super) idle: Option<Quantity<Nanos>>,
    pub(super) tls_round_trips: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestsForm {
    pub(super) size: SizeForm,
    pub(super) upload: Option<SizeForm>,
    pub(super) class: Option<String>,
    pub(super) each: Option<u32>,
    pub(super) think: Option<Quantity<Nanos>>,
    pub(super) rate: Option<Quantity<Pace>>,
    pub(super) load: Option<f64>,
    pub(super) patience: Option<Quantity<Nanos>>,
    #[serde(default)]
    pub(super) silent: Vec<Pair<Quantity<Nanos>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransfersForm {
    pub(super) count: u32,
    pub(super) size: SizeForm,
    pub(super) unit: Option<Quantity<Bytes>>,
    pub(super) load: Option<f64>,
    pub(super) rate: Option<Quantity<Pace>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UdpForm {
    pub(super) bytes: Quantity<Bytes>,
    pub(super) rate: Quantity<Pace>,
    pub(super) on: Option<Quantity<Nanos>>,
    pub(super) off: Option<Quantity<Nanos>>,
    #[serde(default)]
    pub(super) random: bool,
    #[serde(default)]
    pub(super) flow_each: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InteractiveForm {
    pub(super) rate: Quantity<Pace>,
    pub(super) keystroke: Quantity<Bytes>,
    pub(super) echo: Quantity<Bytes>,
}
