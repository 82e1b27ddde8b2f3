//! Metrics in the [OpenMetrics](https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md) text
//! format, from copies made at the time of each scrape.

use std::fmt::Error;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, NoLabelSet, text},
    metrics::MetricType,
    registry::{Registry, Unit},
};

use crate::Process;

/// The media type of the response.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Encodes a scrape as text; all names begin with `prefix`.
///
/// # Errors
/// Those of the scrape.
pub fn encode(prefix: &str, scrape: impl Collector) -> Result<String, Error> {
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(scrape));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

/// Labels of a family's member: name and value.
pub type Labels<'a, const N: usize> = [(&'a str, &'a str); N];

/// The labels of a family with a single member.
pub const NOTHING: Labels<'_, 0> = [];

/// A histogram's counts by bucket, not cumulative; the last bucket has no upper bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Durations {
    /// The sum of all durations, in seconds.
    pub sum_s: f64,
    /// The number of durations.
    pub count: u64,
    /// Upper bounds in seconds, and how many durations are within each bound but not within the one before.
    pub buckets: Vec<(f64, u64)>,
}

/// Metric families, written one after another. A family without members is left out.
#[derive(Debug)]
pub struct Families<'a>(DescriptorEncoder<'a>);

impl<'a> Families<'a> {
    /// Writes to this encoder.
    #[must_use]
    pub fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// A value that can rise and fall.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn gauge<'l, const N: usize, V: EncodeGaugeValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        members: impl IntoIterator<Item = (Labels<'l, N>, V)>,
    ) -> Result<(), Error> {
        let mut members = members.into_iter().peekable();
        if members.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
        members.try_for_each(|(labels, value)| {
            if N == 0 { family.encode_gauge(&value) } else { family.encode_family(&labels)?.encode_gauge(&value) }
        })
    }

    /// A value that only grows.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn counter<'l, const N: usize, V: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        members: impl IntoIterator<Item = (Labels<'l, N>, V)>,
    ) -> Result<(), Error> {
        let mut members = members.into_iter().peekable();
        if members.peek().is_none() {
            return Ok(());
        }
        let mut family = self.0.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
        members.try_for_each(|(labels, value)| {
            if N == 0 {
                family.encode_counter::<NoLabelSet, V, u64>(&value, None)
            } else {
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, V, u64>(&value, None)
            }
        })
    }

    /// How long something took, by bucket.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn histogram<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        mut members: impl Iterator<Item = (Labels<'l, N>, &'l Durations)>,
    ) -> Result<(), Error> {
        let mut family = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        members.try_for_each(|(labels, of)| {
            family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(of.sum_s, of.count, &of.buckets, None)
        })
    }

    /// Resources used by this process, where known.
    ///
    /// # Errors
    /// Those of the encoder.
    pub fn process(&mut self, process: Option<Process>) -> Result<(), Error> {
        let memory = process.map(|process| (NOTHING, process.resident_bytes));
        self.gauge("process_resident_memory", "Memory in use", Some(Unit::Bytes), memory)?;
        let processor = process.map(|process| (NOTHING, process.cpu_s));
        self.counter("process_cpu", "Processor time", Some(Unit::Seconds), processor)
    }
}
