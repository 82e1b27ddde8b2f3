//! Statistics of a function's samples. All samples count everywhere: outliers are reported, never discarded.

use dovetail_box::functions::{Entry, Processing};
use serde::Serialize;

use super::{
    fit::{Fit, Line, fit},
    measure::Sample,
};

/// A sample above this multiple of the median of its size is an outlier.
pub(crate) const OUTLIER: f64 = 3.0;

/// The largest ratio that a scenario accepts.
pub(super) const MAX_RATIO: f64 = 1e6;

/// If growth with size is below this fraction of the largest packet's cost, it is negligible.
const NEGLIGIBLE: f64 = 0.1;
/// If it is above this one, it dominates.
const DECISIVE: f64 = 0.5;

/// Statistics of the packets of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SizeRow {
    pub(crate) bytes: u32,
    pub(crate) packets: usize,
    pub(crate) min_ns: u64,
    pub(crate) median_ns: u64,
    pub(crate) mean_ns: f64,
    pub(crate) p95_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
    /// Output bytes over input bytes.
    pub(crate) expansion: f64,
}

/// Measured over fitted cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Ratios {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

/// Samples above [`OUTLIER`] times the median of their size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Outliers {
    pub(crate) packets: usize,
    pub(crate) share_of_packets: f64,
    pub(crate) share_of_time: f64,
}

/// A function's profile.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) function: &'static str,
    pub(crate) processing: Processing,
    pub(crate) samples: Vec<Sample>,
    /// Through all samples; a few disturbed ones can distort it.
    pub(crate) fit: Fit,
    /// Through the medians of the sizes: the cost of an undisturbed packet, which is written to the scenario.
    pub(crate) medians: Fit,
    /// Measured cost over the medians' line, for all samples in ascending order; empty if the fitted cost is 0.
    pub(crate) sorted_ratios: Vec<f64>,
    pub(crate) outliers: Outliers,
    pub(crate) sizes: Vec<SizeRow>,
    /// Output bytes over input bytes, all packets together.
    pub(crate) expansion: f64,
}

impl Profile {
    pub(crate) fn of(entry: &Entry, samples: Vec<Sample>) -> Self {
        let point = |sample: &Sample| (f64::from(sample.bytes), sample.nanos as f64);
        let fit_of_all = fit(samples.iter().map(point));
        let sizes = size_rows(&samples);
        let medians = fit(sizes.iter().map(|row| (f64::from(row.bytes), row.median_ns as f64)));
        let mut ratios: Vec<f64> = samples
            .iter()
            .map(point)
            .filter_map(|(bytes, nanos)| Some(medians.line.at(bytes)).filter(|&fitted| fitted > 0.0).map(|f| nanos / f))
            .collect();
        ratios.sort_unstable_by(f64::total_cmp);
        Self {
            function: entry.name,
            processing: entry.processing,
            outliers: outliers(&samples, &sizes),
            expansion: expansion(&samples),
            fit: fit_of_all,
            medians,
            sorted_ratios: ratios,
            sizes,
            samples,
        }
    }

    pub(crate) fn ratios(&self) -> Option<Ratios> {
        let at = |share| quantile(&self.sorted_ratios, share);
        Some(Ratios { p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)?, max: at(1.0)? })
    }

    /// Notes about the figures.
    pub(crate) fn notes(&self) -> Vec<String> {
        let name = self.function;
        let mut notes = Vec::new();
        let refused: Vec<_> = [(self.fit, "all packets"), (self.medians, "the medians")]
            .into_iter()
            .filter_map(|(fit, of)| {
                let Line { per_byte_ns, per_packet_ns } = fit.refused?;
                Some(format!(
                    "{} ns a byte and {} ns a packet through {of}",
                    digits(per_byte_ns),
                    digits(per_packet_ns)
                ))
            })
            .collect();
        if !refused.is_empty() {
            notes.push(format!(
                "{name}: least squares alone gives {}; a cost is not negative, so the best line without a negative \
                 part is used",
                refused.join(", ")
            ));
        }
        if !self.fit.slope_known {
            notes.push(format!("{name}: one size does not determine a cost per byte; measure several with --sizes"));
        }
        if self.sorted_ratios.last().is_some_and(|&ratio| ratio > MAX_RATIO) {
            notes.push(format!(
                "{name}: some packets took over a million times the line's cost; the scenario says a million"
            ));
        }
        notes.extend(self.disagreement());
        notes
    }

    /// Set if the medians contradict the declared kind of function.
    fn disagreement(&self) -> Option<String> {
        let (first, last) = (self.sizes.first()?, self.sizes.last()?);
        let line = self.medians.line;
        let most = line.at(f64::from(last.bytes));
        if first.bytes == last.bytes || most <= 0.0 {
            return None;
        }
        let grown = 1.0 - line.at(f64::from(first.bytes)) / most;
        let seen = format!(
            "{}: by the medians {:.0} % of the cost at {} bytes grows with size",
            self.function,
            grown * 100.0,
            last.bytes
        );
        match self.processing {
            Processing::Payload if grown < NEGLIGIBLE => {
                Some(format!("{seen}: that is header processing, not payload"))
            }
            Processing::Header if grown > DECISIVE => Some(format!("{seen}: that is payload processing, not header")),
            _ => None,
        }
    }
}

/// What a function works on, in the scenarios' terms.
pub(crate) fn word(processing: Processing) -> &'static str {
    match processing {
        Processing::Header => "header",
        Processing::Payload => "payload",
    }
}

/// Six significant digits.
pub(crate) fn digits(value: f64) -> String {
    let shown: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    shown.to_string()
}

/// The value that a share of `sorted` does not exceed; `None` if it is empty.
pub fn quantile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    dovetail_stats::quantile(sorted, dovetail_stats::Quantile::of(share))
}

/// Groups samples by size, the smallest first.
fn by_size(samples: &[Sample]) -> Vec<Vec<Sample>> {
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|sample| (sample.bytes, sample.nanos));
    sorted.chunk_by(|a, b| a.bytes == b.bytes).map(<[Sample]>::to_vec).collect()
}

fn size_rows(samples: &[Sample]) -> Vec<SizeRow> {
    let row = |group: &Vec<Sample>| {
        let nanos: Vec<u64> = group.iter().map(|sample| sample.nanos).collect();
        let at = |share| quantile(&nanos, share).unwrap_or(0);
        SizeRow {
            bytes: group.first().map_or(0, |sample| sample.bytes),
            packets: group.len(),
            min_ns: at(0.0),
            median_ns: at(0.5),
            mean_ns: nanos.iter().sum::<u64>() as f64 / nanos.len() as f64,
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            max_ns: at(1.0),
            expansion: expansion(group),
        }
    };
    by_size(samples).iter().map(row).collect()
}

fn expansion(samples: &[Sample]) -> f64 {
    let sum = |of: fn(&Sample) -> u32| samples.iter().map(|sample| f64::from(of(sample))).sum::<f64>();
    sum(|sample| sample.bytes_out) / sum(|sample| sample.bytes).max(1.0)
}

fn outliers(samples: &[Sample], sizes: &[SizeRow]) -> Outliers {
    let mut found = Outliers { packets: 0, share_of_packets: 0.0, share_of_time: 0.0 };
    let (mut time, mut all) = (0.0, 0.0);
    for sample in samples {
        let median = sizes.binary_search_by_key(&sample.bytes, |row| row.bytes).map_or(0, |at| sizes[at].median_ns);
        let nanos = sample.nanos as f64;
        all += nanos;
        if nanos > OUTLIER * median as f64 {
            found.packets += 1;
            time += nanos;
        }
    }
    found.share_of_packets = found.packets as f64 / samples.len().max(1) as f64;
    found.share_of_time = if all > 0.0 { time / all } else { 0.0 };
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_box::functions;

    fn profile(function: &str, samples: Vec<Sample>) -> Profile {
        Profile::of(functions::find(function).unwrap(), samples)
    }

    /// Ten packets of 100 bytes at 10 ns but one at 1 µs, ten of 1000 bytes at `large` ns.
    fn samples(large: u64) -> Vec<Sample> {
        let sample = |bytes, nanos| Sample { bytes, nanos, bytes_out: bytes + 50 };
        let mut samples = vec![sample(1000, large); 10];
        samples.extend(vec![sample(100, 10); 9]);
        samples.push(sample(100, 1000));
        samples
    }

    #[test]
    fn outliers_are_counted_and_kept() {
        let profile = profile("forwarding", samples(20));
        assert_eq!(profile.outliers.packets, 1);
        assert!((profile.outliers.share_of_packets - 0.05).abs() < 1e-12);
        assert!((profile.outliers.share_of_time - 1000.0 / 1290.0).abs() < 1e-12);
        let first = &profile.sizes[0];
        assert_eq!((first.median_ns, first.p95_ns, first.max_ns, first.packets), (10, 1000, 1000, 10));
        assert!((first.mean_ns - 109.0).abs() < 1e-12);
        assert_eq!(profile.sorted_ratios.len(), 20);
        // 20 packets of 50 bytes more, on 11,000 bytes.
        assert!((profile.expansion - 12_000.0 / 11_000.0).abs() < 1e-12);
        assert!((first.expansion - 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_kind_that_the_medians_belie_is_noted() {
        let said = |function, large| profile(function, samples(large)).notes().join("; ");
        assert!(said("forwarding", 100).contains("payload processing, not header"));
        assert!(said("ipsec", 10).contains("header processing, not payload"));
        assert!(!said("ipsec", 100).contains("processing"));
        assert!(!said("forwarding", 10).contains("processing"));
        // Falls with size, since the outlier is a small packet.
        assert!(said("forwarding", 10).contains("not negative"));
    }

    #[test]
    fn digits_are_six() {
        assert_eq!([0.0, 1.0 / 3.0, 123_456.789, 1e-7].map(digits), ["0", "0.333333", "123457", "0.0000001"]);
    }
}
