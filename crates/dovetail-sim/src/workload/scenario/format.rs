//! The file format of scenarios: TOML to plain data, with nothing resolved yet.

use std::{collections::BTreeMap, fmt};

use dovetail_sched::{Nanos, units::Rate};
use dovetail_toml::Once;
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use toml::Spanned;

use crate::workload::{
    Cost, Ports, Prefix,
    written::{Bytes, Pace, Pair, Quantity, SizeForm, single},
};

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
    pub(super) duration: Option<Spanned<Quantity<Nanos>>>,
    pub(super) packets: Option<Spanned<u64>>,
    pub(super) pipeline: Option<Spanned<String>>,
    pub(super) queue_packets: Option<Spanned<u32>>,
    pub(super) backlog: Option<Spanned<u32>>,
    pub(super) load: Option<Spanned<f64>>,
    pub(super) resource: Vec<Spanned<ResourceForm>>,
    #[serde(default)]
    pub(super) class: Vec<Spanned<ClassForm>>,
    #[serde(default)]
    pub(super) flow: Vec<Spanned<FlowForm>>,
    #[serde(default)]
    pub(super) transfers: Vec<Spanned<TransfersForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceForm {
    pub(super) name: String,
    pub(super) rate: Option<Quantity<Rate>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) cost: BTreeMap<String, Quantity<Cost>>,
    #[serde(default)]
    pub(super) ports: Vec<Quantity<Ports>>,
    #[serde(default)]
    pub(super) prefixes: Vec<Quantity<Prefix>>,
    pub(super) share: Option<f64>,
    #[serde(default)]
    pub(super) processing: ProcessingForm,
    pub(super) expansion: Option<ExpansionForm>,
    pub(super) noise: Option<Once<NoiseForm>>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProcessingForm {
    Header,
    #[default]
    Payload,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an expansion factor such as 0.25, or { min = 0.11, max = 0.36 }")]
pub(super) enum ExpansionForm {
    Fixed(f64),
    Even(EvenForm),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvenForm {
    pub(super) min: f64,
    pub(super) max: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoiseForm {
    #[serde(default)]
    pub(super) spread: f64,
    #[serde(default)]
    pub(super) spike_share: f64,
    #[serde(default)]
    pub(super) spike_factor: f64,
    pub(super) measured: Option<Vec<Pair<f64>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowForm {
    pub(super) name: String,
    pub(super) count: Option<u32>,
    pub(super) class: Option<String>,
    pub(super) weight: Option<f64>,
    pub(super) weights: Option<BTreeMap<String, f64>>,
    pub(super) size: SizeForm,
    pub(super) arrivals: ArrivalsForm,
    pub(super) start: Option<Quantity<Nanos>>,
    pub(super) stop: Option<Quantity<Nanos>>,
    pub(super) packets: Option<u64>,
    #[serde(default)]
    pub(super) change: Vec<ChangeForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeForm {
    pub(super) at: Quantity<Nanos>,
    pub(super) class: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransfersForm {
    pub(super) name: String,
    pub(super) class: Option<String>,
    pub(super) weight: Option<f64>,
    pub(super) size: SizeForm,
    pub(super) arrivals: ArrivalsForm,
    pub(super) mtu: Option<Quantity<Bytes>>,
    pub(super) pace: Option<Quantity<Rate>>,
    pub(super) start: Option<Quantity<Nanos>>,
    pub(super) stop: Option<Quantity<Nanos>>,
    pub(super) flows: Option<u32>,
}

#[derive(Debug)]
pub(super) enum ArrivalsForm {
    Backlogged,
    Constant(Pace),
    Poisson(Pace),
    OnOff(OnOffForm),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnOffForm {
    pub(super) rate: Quantity<Pace>,
    pub(super) on: Quantity<Nanos>,
    pub(super) off: Quantity<Nanos>,
}

impl<'de> Deserialize<'de> for ArrivalsForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const KINDS: &[&str] = &["constant", "poisson", "on-off"];
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = ArrivalsForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"backlogged\", or a table with one of {}", KINDS.join(", "))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ArrivalsForm, E> {
                if text == "backlogged" {
                    return Ok(ArrivalsForm::Backlogged);
                }
                let text = crate::workload::clip(text);
                Err(E::custom(format!(
                    "\"{text}\" is neither \"backlogged\" nor a table with one of {}",
                    KINDS.join(", ")
                )))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArrivalsForm, A::Error> {
                let form = match map.next_key::<String>()?.as_deref() {
                    Some("constant") => ArrivalsForm::Constant(map.next_value::<Quantity<Pace>>()?.0),
                    Some("poisson") => ArrivalsForm::Poisson(map.next_value::<Quantity<Pace>>()?.0),
                    Some("on-off") => ArrivalsForm::OnOff(map.next_value()?),
                    Some(other) => return Err(A::Error::unknown_field(other, KINDS)),
                    None => return Err(A::Error::custom(format!("one of {} is needed", KINDS.join(", ")))),
                };
                single(map, form)
            }
        }
        deserializer.deserialize_any(Read)
    }
}
