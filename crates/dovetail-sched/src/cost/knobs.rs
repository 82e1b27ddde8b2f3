//! The knobs common to all policies: where costs come from.

use super::{LeastSquares, Method};
use crate::{
    PolicyError,
    entry::{Knob, Knobs},
};

/// The knobs of every policy besides its own.
pub const KNOBS: &[Knob] = &[
    ESTIMATOR,
    Knob { key: "gain", default: "0.5", meaning: "weight of the newest cost in smoothing, 0 to 1", retunable: false },
    Knob { key: "window", default: "64", meaning: "window of least squares in packets, 2 to 4096", retunable: false },
    Knob {
        key: "settle",
        default: "yes",
        meaning: "yes: a flow's next packet is charged the error of earlier estimates; no: as in the paper",
        retunable: false,
    },
];

/// Where costs come from; policies made for unknown costs have another default.
pub(crate) const ESTIMATOR: Knob = Knob { key: "estimator", default: "known", meaning: ESTIMATORS, retunable: false };

/// The same knob for policies that were made for unknown costs.
pub(crate) const LEARNS: Knob = Knob { default: "ses", ..ESTIMATOR };

const ESTIMATORS: &str =
    "costs: known (as given), line (the program's), ses (exponential smoothing), llsr (least squares)";

/// How a scheduler estimates costs, if it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimation {
    /// The method.
    pub method: Method,
    /// Whether a flow's next packet is charged the errors of its earlier estimates.
    pub settle: bool,
}

impl Estimation {
    /// Reads the knobs of a policy string; `None` if costs are known.
    ///
    /// # Errors
    /// If a value is unknown or out of its range.
    pub fn of(knobs: &Knobs<'_>) -> Result<Option<Self>, PolicyError> {
        let gain = knobs.number("gain", 0.0, 1.0)?;
        let window = knobs.count("window", 2, LeastSquares::MAX_WINDOW as u64)? as usize;
        let settle = match knobs.text("settle") {
            "yes" => true,
            "no" => false,
            _ => return Err(knobs.wrong("settle", format_args!("yes or no"))),
        };
        let method = match knobs.text("estimator") {
            "known" => return Ok(None),
            "line" => Method::Line { gain },
            "ses" => Method::Smoothing { gain },
            "llsr" => Method::LeastSquares { window, gain },
            _ => return Err(knobs.wrong("estimator", format_args!("known, line, ses or llsr"))),
        };
        Ok(Some(Self { method, settle }))
    }
}
