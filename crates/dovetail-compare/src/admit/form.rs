//! The file format: TOML to plain data, with units not parsed yet.

use std::collections::BTreeMap;

use dovetail_toml::Once;
use serde::Deserialize;
use toml::Spanned;

/// Texts with units, by resource.
pub(super) type Texts = BTreeMap<Spanned<String>, Spanned<String>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) resource: Vec<Spanned<ResourceForm>>,
    #[serde(default)]
    pub(super) best_effort: Once<BestEffortForm>,
    #[serde(default)]
    pub(super) reservation: Vec<Spanned<ReservationForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceForm {
    pub(super) name: String,
    pub(super) capacity: Option<Spanned<String>>,
    pub(super) rate: Option<Spanned<String>>,
    pub(super) target: Option<Spanned<f64>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BestEffortForm {
    pub(super) flows: Option<Spanned<u32>>,
    pub(super) most_flows: Option<u32>,
    pub(super) queue_packets: Option<u32>,
    #[serde(default)]
    pub(super) packets: Vec<Texts>,
    #[serde(default)]
    pub(super) waiting: Vec<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReservationForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) priority: u8,
    pub(super) rate: Texts,
    pub(super) packets: Vec<Texts>,
    pub(super) delay: Option<Spanned<String>>,
}
