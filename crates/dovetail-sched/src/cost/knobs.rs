//! The knobs that every policy has: which costs it runs on.

use super::{LeastSquares, Method};
use crate::{
    PolicyError,
    entry::{Knob, Knobs},
};

/// What each policy takes besides its own knobs.
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

/// Where costs come from; a policy for which they are unknown by nature has a default of its own.
pub(crate) const ESTIMATOR: Knob = Knob { key: "estimator", default: "known", meaning: ESTIMATORS, retunable: false };

/// The knob of policies that were made for unknown costs.
pub(crate) const LEARNS: Knob = Knob { default: "ses", ..ESTIMATOR };

const ESTIMATORS: &str =
    "costs: known (as given), line (the program's), ses (exponential smoothing), llsr (least squares)";

/// How a scheduler is to estimate, if it is to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimation {
    /// How.
    pub method: Method,
    /// Whether a flow's next packet is charged what estimates of its earlier ones missed.
    pub settle: bool,
}

impl Estimation {
    /// What a policy string asks for; `None` when costs are known.
    ///
    /// # Errors
    /// When a value is none of those there are, or out of its range.
    pub fn of(knobs: &Knobs<'_>) -> Result<Option<Self>, PolicyError> {
        let gain = knobs.number("gain", 0.0, 1.0)?;
        let window = knobs.count("window", 2, LeastSquares::MOST as u64)? as usize;
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
