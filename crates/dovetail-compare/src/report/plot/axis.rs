//! Axes: positions of values, and labels.

use crate::table::thousands;

/// A horizontal or vertical axis.
#[derive(Debug, Clone)]
pub struct Axis {
    pub(super) title: String,
    pub(super) scale: Scale,
    range: Option<[f64; 2]>,
    ticks: Vec<(f64, String)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scale {
    Linear,
    Log,
    /// Values are indices into this list.
    Names(Vec<String>),
}

impl Axis {
    fn new(title: impl Into<String>, scale: Scale) -> Self {
        Self { title: title.into(), scale, range: None, ticks: Vec::new() }
    }

    /// A linear axis.
    #[must_use]
    pub fn linear(title: impl Into<String>) -> Self {
        Self::new(title, Scale::Linear)
    }

    /// A logarithmic axis; values that are not above zero are not drawn.
    #[must_use]
    pub fn log(title: impl Into<String>) -> Self {
        Self::new(title, Scale::Log)
    }

    /// Equally spaced names: the first is number 0, on the left or at the bottom.
    #[must_use]
    pub fn names(title: impl Into<String>, names: Vec<String>) -> Self {
        Self::new(title, Scale::Names(names))
    }

    /// Fixes the range, whatever is drawn.
    #[must_use]
    pub fn range(self, from: f64, to: f64) -> Self {
        Self { range: Some([from, to]), ..self }
    }

    /// Sets the labels.
    #[must_use]
    pub fn ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { ticks, ..self }
    }

    pub(super) fn has_names(&self) -> bool {
        matches!(self.scale, Scale::Names(_))
    }

    /// Whether a value can be drawn on it.
    pub(super) fn has(&self, value: f64) -> bool {
        value.is_finite() && (self.scale != Scale::Log || value > 0.0)
    }

    /// Determines the ends for these values; `from_zero` if bars start on it.
    pub(super) fn over(&self, values: impl Iterator<Item = f64>, from_zero: bool) -> Ruler {
        let (mut low, mut high) = ends(values.filter(|&value| self.has(value)));
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        let [low, high] = match (&self.scale, self.range) {
            (Scale::Names(names), _) => [-0.5, names.len().max(1) as f64 - 0.5],
            (_, Some(range)) => range,
            (Scale::Log, None) => {
                let margin = ((high / low).log10() * MARGIN).max(0.05);
                [low / 10f64.powf(margin), high * 10f64.powf(margin)]
            }
            (Scale::Linear, None) => {
                // Zero is included if it is near, so that heights can be compared.
                let to_zero = from_zero || (low >= 0.0 && low < high * 0.5);
                let low = if to_zero { low.min(0.0) } else { low };
                let span = if high > low { high - low } else { high.abs().max(1.0) };
                [if to_zero && low == 0.0 { 0.0 } else { low - span * MARGIN }, high + span * MARGIN]
            }
        };
        Ruler { is_log: self.scale == Scale::Log, low, high }
    }

    /// The labelled values.
    pub(super) fn labels(&self, ruler: Ruler) -> Vec<(f64, String)> {
        if !self.ticks.is_empty() {
            return self.ticks.clone();
        }
        match &self.scale {
            Scale::Names(names) => names.iter().enumerate().map(|(at, name)| (at as f64, name.clone())).collect(),
            Scale::Linear => linear_ticks(ruler.low, ruler.high),
            Scale::Log => log_ticks(ruler.low, ruler.high),
        }
    }
}

/// The margin of an axis at either end.
const MARGIN: f64 = 0.04;

/// The ends of an axis.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ruler {
    pub(super) is_log: bool,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Ruler {
    /// The position of a value: 0 at the low end, 1 at the high one.
    pub(super) fn at(self, value: f64) -> f64 {
        if self.is_log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, about six of them.
fn linear_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough * 0.9999);
    let step = step.unwrap_or(power * 10.0);
    let decimals = usize::try_from(-(step.log10() + 1e-9).floor() as i32).unwrap_or(0);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|at| at as f64 * step).map(|value| (value, thousands(&format!("{value:.decimals$}")))).collect()
}

/// Powers of ten, with 2 and 5 times these if there are few.
fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = (high / low).log10();
    let times: &[f64] = match decades {
        _ if decades < 1.0 => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        _ if decades < 3.0 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let every = ((decades / 7.0).ceil() as i32).max(1);
    let powers = (first..=last).filter(|power| power.rem_euclid(every) == 0);
    let values = powers.flat_map(|power| times.iter().map(move |times| (power, *times)));
    let all = values.map(|(power, times)| (10f64.powi(power) * times, power, times));
    all.filter(|(value, ..)| (low * 0.9999..=high * 1.0001).contains(value))
        .map(|(value, power, times)| (value, log_label(power, times)))
        .collect()
}

fn log_label(power: i32, times: f64) -> String {
    match power {
        0..=5 => thousands(&format!("{}", 10f64.powi(power) * times)),
        -3..=-1 => {
            let decimals = usize::try_from(-power).unwrap_or(0) + usize::from(times.fract() > 0.0);
            format!("{:.decimals$}", 10f64.powi(power) * times)
        }
        _ if times == 1.0 => format!("10{}", superscript(power)),
        _ => format!("{times}·10{}", superscript(power)),
    }
}

fn superscript(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |letter: char| letter.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]);
    power.to_string().chars().map(digit).collect()
}

/// The smallest and the largest of these values; of none, the first is larger than the second.
pub(super) fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(ticks: Vec<(f64, String)>) -> Vec<String> {
        ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(linear_ticks(0.0, 100.0)), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(texts(linear_ticks(-0.12, 0.31)), ["-0.1", "0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(texts(linear_ticks(0.0, 11_000.0)), ["0", "2,000", "4,000", "6,000", "8,000", "10,000"]);
        assert_eq!(texts(log_ticks(0.004, 300.0)), ["0.01", "0.1", "1", "10", "100"]);
        assert_eq!(texts(log_ticks(0.9, 40.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(
            texts(log_ticks(1e-5, 1e9)),
            ["0.0001", "0.01", "1", "100", "10,000", "10⁶", "10⁸"]
                .map(|text| { if text == "0.0001" { "10⁻⁴" } else { text } })
        );
    }

    #[test]
    fn values_lie_between_the_ends() {
        let ruler = Axis::log("").over([1.0, 0.0, 100.0].into_iter(), false);
        assert!(ruler.low < 1.0 && ruler.low > 0.5 && ruler.high > 100.0 && (ruler.at(10.0) - 0.5).abs() < 1e-9);
        let ruler = Axis::linear("").over([10.0, 30.0].into_iter(), false);
        assert_eq!(ruler.low, 0.0);
        let ruler = Axis::linear("").over([80.0, 100.0].into_iter(), false);
        assert!(ruler.low > 70.0);
        assert_eq!(Axis::linear("").over([80.0, 100.0].into_iter(), true).low, 0.0);
        let same = Axis::linear("").over([-5.0, -5.0].into_iter(), false);
        assert!(same.low < -5.0 && same.high > -5.0);
    }
}
