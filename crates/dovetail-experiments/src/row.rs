//! A measured value next to the published one, and when it holds.

use serde::Serialize;

/// A measured value next to the published one.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// The number printed in the paper, if any.
    pub(crate) paper: Option<f64>,
    /// The result of an independent implementation, or else what the paper's text implies.
    pub(crate) expected: f64,
    pub(crate) measured: f64,
    /// 0 if the expected value is a bound.
    pub(crate) tolerance: f64,
    pub(crate) judged: Judged,
    pub(crate) holds: bool,
    /// What is known of it in advance.
    pub(crate) expectation: Expectation,
}

/// Whether a row is expected to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Expectation {
    /// It is.
    Holds,
    /// Unknown: it depends on the captures that were given.
    Open,
    /// It is known not to hold: the printed value is wrong, or is not reproduced here, for this reason.
    KnownNot(&'static str),
}

/// When a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Judged {
    /// If the measurement is within the tolerance of the expected value.
    Within,
    /// If the measurement is at least the expected value.
    AtLeast,
    /// If the measurement is at most the expected value.
    AtMost,
}

/// Values whose relative difference is less than this are equal, and are printed alike.
const ALIKE: f64 = 1e-4;

impl Row {
    /// A row that holds when `measured` is within `tolerance` of `expected`.
    pub(crate) fn new(
        what: impl Into<String>,
        unit: &'static str,
        paper: Option<f64>,
        expected: f64,
        measured: f64,
        tolerance: f64,
    ) -> Self {
        let holds = (measured - expected).abs() <= tolerance;
        Self {
            what: what.into(),
            unit,
            paper,
            expected,
            measured,
            tolerance,
            judged: Judged::Within,
            holds,
            expectation: Expectation::Holds,
        }
    }

    /// A row that holds when `measured` is `least` or more.
    pub(crate) fn at_least(
        what: impl Into<String>,
        unit: &'static str,
        paper: Option<f64>,
        least: f64,
        measured: f64,
    ) -> Self {
        let row = Self::new(what, unit, paper, least, measured, 0.0);
        Self { judged: Judged::AtLeast, holds: measured >= least - ALIKE * least.abs(), ..row }
    }

    /// A row that holds when `measured` is `most` or less.
    pub(crate) fn at_most(
        what: impl Into<String>,
        unit: &'static str,
        paper: Option<f64>,
        most: f64,
        measured: f64,
    ) -> Self {
        let row = Self::new(what, unit, paper, most, measured, 0.0);
        Self { judged: Judged::AtMost, holds: measured <= most + ALIKE * most.abs(), ..row }
    }
}
