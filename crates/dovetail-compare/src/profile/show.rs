//! Profiles as text and as JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::summary::{OUTLIER, Outliers, Profile, Ratios, SizeRow, digits, word};
use super::{fit::Fit, setting::Setting};
use crate::{
    setting::closing,
    table::{Table, count, figure},
};

/// Profiles in all output formats.
pub(crate) struct Profiles<'a> {
    pub(crate) setting: &'a Setting,
    pub(crate) functions: &'a [Profile],
}

#[derive(Serialize)]
pub(crate) struct ProfilesJson<'a> {
    core: Option<usize>,
    clock_ns: u64,
    seed: u64,
    functions: Vec<ProfileJson<'a>>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<String>,
}

#[derive(Serialize)]
struct ProfileJson<'a> {
    function: &'static str,
    processing: &'static str,
    packets: usize,
    fit: Fit,
    fit_of_medians: Fit,
    measured_over_fitted: Option<Ratios>,
    outliers: Outliers,
    expansion: f64,
    sizes: &'a [SizeRow],
}

impl<'a> ProfileJson<'a> {
    fn of(profile: &'a Profile) -> Self {
        Self {
            function: profile.function,
            processing: word(profile.processing),
            packets: profile.samples.len(),
            fit: profile.fit,
            fit_of_medians: profile.medians,
            measured_over_fitted: profile.ratios(),
            outliers: profile.outliers,
            expansion: profile.expansion,
            sizes: &profile.sizes,
        }
    }
}

/// Meaning of the columns.
pub(super) const LEGEND: [(&str, &str); 6] = [
    (
        "ns a byte, ns a packet",
        "the line of least squares through the medians of the sizes: the cost of an undisturbed packet",
    ),
    ("R²", "how much of the medians' variance that line explains: little where the cost hardly depends on size"),
    ("of all", "the same for the line through every packet, outliers too"),
    ("p50 … max", "measured cost over that of the medians' line, quantiles over all packets"),
    ("outliers", "packets above 3 times the median of their size, and their part of the total time"),
    ("out/in", "bytes that leave over bytes that arrived"),
];

impl Profiles<'_> {
    /// The conditions of the measurements, in a sentence.
    pub(super) fn said(&self) -> String {
        let packets: usize = self.functions.iter().map(|profile| profile.samples.len()).sum();
        let place = match &self.setting.core {
            Ok(core) => format!("core {core}"),
            Err(_) => "no fixed core".to_owned(),
        };
        format!(
            "{} packets on {place}, sizes in random order, each packet timed; {} ns of clock overhead \
             subtracted",
            count(packets as u64),
            self.setting.clock_nanos
        )
    }

    pub(super) fn table(&self) -> Table {
        let header = [
            "function",
            "works on",
            "ns a byte",
            "ns a packet",
            "R²",
            "of all",
            "a byte",
            "a packet",
            "p50",
            "p95",
            "p99",
            "max",
            "outliers",
            "of time",
            "out/in",
        ];
        let mut table = Table::new(&header, 2);
        let shown =
            |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
        for profile in self.functions {
            let ratios = profile.ratios();
            let percent = |share: f64| format!("{:.2} %", share * 100.0);
            table.push([
                profile.function.to_owned(),
                word(profile.processing).to_owned(),
                figure(profile.medians.line.per_byte_ns),
                figure(profile.medians.line.per_packet_ns),
                shown(profile.medians.r2, 4),
                shown(profile.fit.r2, 4),
                figure(profile.fit.line.per_byte_ns),
                figure(profile.fit.line.per_packet_ns),
                shown(ratios.map(|r| r.p50), 2),
                shown(ratios.map(|r| r.p95), 2),
                shown(ratios.map(|r| r.p99), 2),
                shown(ratios.map(|r| r.max), 1),
                count(profile.outliers.packets as u64),
                percent(profile.outliers.share_of_time),
                format!("{:.3}", profile.expansion),
            ]);
        }
        table
    }

    pub(super) fn sizes(&self, profile: &Profile) -> Table {
        let header =
            ["bytes", "packets", "min ns", "median ns", "mean ns", "p95 ns", "p99 ns", "max ns", "fitted ns", "out/in"];
        let mut table = Table::new(&header, 0);
        for row in &profile.sizes {
            table.push([
                count(row.bytes.into()),
                count(row.packets as u64),
                count(row.min_ns),
                count(row.median_ns),
                figure(row.mean_ns),
                count(row.p95_ns),
                count(row.p99_ns),
                count(row.max_ns),
                figure(profile.medians.line.at(row.bytes.into())),
                format!("{:.3}", row.expansion),
            ]);
        }
        table
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let unpinned = self.setting.core.as_ref().err().map(|why| {
            format!("could not stay on one core ({why}); costs vary more when the system migrates the program")
        });
        let slow = cfg!(debug_assertions)
            .then(|| "this is a debug build, and so are the functions: a release build takes less time".to_owned());
        let functions = self.functions.iter().flat_map(Profile::notes);
        slow.into_iter().chain(unpinned).chain(self.setting.notes.iter().cloned()).chain(functions).collect()
    }

    /// A function's cost as in the scenario, and its outliers.
    pub(super) fn sentence(profile: &Profile) -> String {
        let line = profile.medians.line;
        format!(
            "{}: {}ns*bytes + {}ns; {} of {} packets above {OUTLIER} times the median of their size ({:.3} %), \
             with {:.2} % of the time",
            profile.function,
            digits(line.per_byte_ns),
            digits(line.per_packet_ns),
            count(profile.outliers.packets as u64),
            count(profile.samples.len() as u64),
            profile.outliers.share_of_packets * 100.0,
            profile.outliers.share_of_time * 100.0
        )
    }

    pub(crate) fn text(&self, report: Option<&Path>) -> String {
        let mut text = format!("{}\n\n{}\n\n", self.said(), self.table().to_terminal());
        for (term, meaning) in LEGEND {
            text += &format!("{term:22} {meaning}\n");
        }
        for profile in self.functions {
            text += &format!("\n{}\n{}\n", Self::sentence(profile), self.sizes(profile).to_terminal());
        }
        text.push('\n');
        text += &closing(&self.notes(), None, report);
        for (what, path) in [("scenario", &self.setting.output), ("samples", &self.setting.samples)] {
            if let Some(path) = path {
                text += &format!("{what}: {}\n", path.display());
            }
        }
        text.trim_end().to_owned()
    }

    pub(crate) fn json(&self) -> ProfilesJson<'_> {
        let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        ProfilesJson {
            core: self.setting.core.as_ref().ok().copied(),
            clock_ns: self.setting.clock_nanos,
            seed: self.setting.seed,
            functions: self.functions.iter().map(ProfileJson::of).collect(),
            notes: self.notes(),
            output: shown(&self.setting.output),
            samples: shown(&self.setting.samples),
        }
    }
}
