//! One measured value beside the published one, and when it holds.

use serde::Serialize;

/// One measured value beside the published one.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    /// What the paper prints, where it prints a number.
    pub(crate) paper: Option<f64>,
    /// What an independent implementation gave, or else what the paper's text implies.
    pub(crate) expected: f64,
    pub(crate) measured: f64,
    /// 0 where the expected value is a bound.
    pub(crate) tolerance: f64,
    pub(crate) judged: Judged,
    pub(crate) holds: bool,
    /// What is known of it beforehand.
    pub(crate) expectation: Expectation,
}

/// Whether a row is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Expectation {
    /// It is.
    Holds,
    /// Unknown: it depends on the captures that were given.
    Open,
    /// It is known not to: what is printed is wrong, or does not come out here, for this reason.
    KnownNot(&'static str),
}

/// When a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Judged {
    /// Measured is within the tolerance of expected.
    Within,
    /// Measured is not under expected.
    AtLeast,
    /// Measured is not over expected.
    AtMost,
}

/// Values that differ by less than this part are alike, and are printed alike.
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
