//! Values of options that are checked as they are read.

use std::str::FromStr;

use dovetail_compare::{MAX_SEEDS, SeedsError, check_seeds};
use dovetail_sched::{Nanos, units::parse_time};

/// Times would be stretched beyond the end of the clock.
const MIN_LOAD: f64 = 1e-6;

/// A number such as a seed.
pub(super) fn parse_whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("it is a whole number from 0 to {}", u64::MAX))
}

pub(super) fn parse_load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load: &f64| load.is_finite() && (MIN_LOAD..=1000.0).contains(load));
    load.ok_or_else(|| "a load is a number from 0.000001 to 1000, such as 0.95".to_owned())
}

/// Seeds to run with, each once.
#[derive(Debug, Clone)]
pub(crate) struct Seeds(pub(crate) Vec<u64>);

/// A range with both ends, or a list.
pub(super) fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let wrong = || format!("seeds are a range such as 1..20, or a list such as 1,5,9, of at most {MAX_SEEDS}");
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let seeds: Vec<u64> = match text.split_once("..") {
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last - first >= MAX_SEEDS as u64 {
                return Err(wrong());
            }
            (first..=last).collect()
        }
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    match check_seeds(&seeds) {
        Ok(()) => Ok(Seeds(seeds)),
        Err(SeedsError::Count(_)) => Err(wrong()),
        Err(twice @ SeedsError::Twice(_)) => Err(format!("seed {twice}")),
    }
}

pub(super) fn parse_window(text: &str) -> Result<Nanos, String> {
    let window = parse_time(text).map_err(|error| error.to_string())?;
    if window == Nanos::ZERO { Err("a window is longer than nothing".to_owned()) } else { Ok(window) }
}
