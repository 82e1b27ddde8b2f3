//! Empirical distributions, as published: a table of values and the share of samples up to each.

use thiserror::Error;

use crate::workload::clip;

/// The most rows of a table.
const MAX_ROWS: usize = 1 << 16;

/// A distribution given by points of its cumulative distribution function.
///
/// Between two points the function is linear. A first point above 0 is a point mass; so are two points with the same
/// value. The last point is at 1, or at 100 if the table is in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Cdf {
    values: Vec<f64>,
    shares: Vec<f64>,
}

/// A table that is not a cumulative distribution function.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CdfError {
    /// A row, counted from 1, is invalid.
    #[error("row {0}: {1}")]
    Row(usize, String),
    /// The table as a whole is invalid.
    #[error("{0}")]
    Table(String),
}

impl Cdf {
    /// From points (value, cumulative share), in order; values are multiplied by `unit`.
    ///
    /// # Errors
    /// [`CdfError`] when there are no points or there are over 65,536, a number is out of range or smaller than the one
    /// before it, or the last share is neither 1 nor 100.
    pub fn new(points: &[(f64, f64)], unit: f64) -> Result<Self, CdfError> {
        let &(_, last) = points.last().ok_or_else(|| CdfError::Table("there are no points".into()))?;
        if points.len() > MAX_ROWS {
            return Err(CdfError::Table(format!("there are {} points, more than {MAX_ROWS}", points.len())));
        }
        let whole = if (last - 1.0).abs() <= 1e-6 {
            1.0
        } else if (last - 100.0).abs() <= 1e-4 {
            100.0
        } else {
            return Err(CdfError::Table(format!("the last share is {last}; it must be 1, or 100 in percent")));
        };
        let mut cdf = Self { values: Vec::with_capacity(points.len()), shares: Vec::with_capacity(points.len()) };
        let mut before = (0.0, 0.0);
        for (at, &(value, share)) in points.iter().enumerate() {
            let (value, share) = (value * unit, (share / whole).min(1.0));
            if !(0.0..=1e15).contains(&value) || !(0.0..=1.0).contains(&share) {
                return Err(CdfError::Row(at + 1, "values are from 0 to 10^15 and shares from 0 on".into()));
            }
            if value < before.0 || share < before.1 {
                return Err(CdfError::Row(at + 1, "values and shares must not fall".into()));
            }
            before = (value, share);
            cdf.values.push(value);
            cdf.shares.push(share);
        }
        if let Some(last) = cdf.shares.last_mut() {
            *last = 1.0;
        }
        Ok(cdf)
    }

    /// From text: one point per line, fields separated by commas or spaces, the first being the value and the last the share.
    /// Blank lines and lines that start with `#` are ignored.
    ///
    /// # Errors
    /// Same as for [`new`](Self::new), and when a line does not have this form.
    pub fn from_text(text: &str, unit: f64) -> Result<Self, CdfError> {
        let mut points = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if points.len() == MAX_ROWS {
                return Err(CdfError::Table(format!("there are more than {MAX_ROWS} points")));
            }
            let mut fields = line.split(|c: char| c == ',' || c.is_whitespace()).filter(|field| !field.is_empty());
            let (first, last) = (fields.next(), fields.next_back());
            let number = |field: Option<&str>| field.and_then(|field| field.parse::<f64>().ok());
            let (Some(value), Some(share)) = (number(first), number(last)) else {
                return Err(CdfError::Row(at + 1, format!("'{}' is not a value and a share", clip(line))));
            };
            points.push((value, share));
        }
        Self::new(&points, unit)
    }

    /// The value below which the share `unit` (in [0, 1)) of samples lies.
    #[inline]
    #[must_use]
    pub fn quantile(&self, unit: f64) -> f64 {
        let at = self.shares.partition_point(|&share| share <= unit).min(self.shares.len() - 1);
        let Some(below) = at.checked_sub(1) else { return self.values[0] };
        let (low, high) = (self.shares[below], self.shares[at]);
        let part = if high > low { (unit - low) / (high - low) } else { 0.0 };
        self.values[below] + part.clamp(0.0, 1.0) * (self.values[at] - self.values[below])
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let mass = self.values[0] * self.shares[0];
        let pieces = self.values.windows(2).zip(self.shares.windows(2));
        mass + pieces.map(|(value, share)| (share[1] - share[0]) * (value[0] + value[1]) / 2.0).sum::<f64>()
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.values[self.values.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_mean_by_hand() {
        // Half of the mass sits at 10; the rest is uniform over 10..30.
        let cdf = Cdf::new(&[(1.0, 0.0), (1.0, 0.5), (3.0, 1.0)], 10.0).unwrap();
        assert_eq!(cdf.mean(), 15.0);
        assert_eq!([0.0, 0.25, 0.5, 0.75].map(|unit| cdf.quantile(unit)), [10.0, 10.0, 10.0, 20.0]);
        assert_eq!(cdf.max(), 30.0);
        let mass = Cdf::new(&[(7.0, 0.4), (9.0, 1.0)], 1.0).unwrap();
        assert_eq!((mass.quantile(0.39), mass.quantile(0.7)), (7.0, 8.0));
        assert!((mass.mean() - (0.4 * 7.0 + 0.6 * 8.0)).abs() < 1e-12);
        assert_eq!(Cdf::new(&[(5.0, 1.0)], 1.0).unwrap().quantile(0.9), 5.0);
    }

    #[test]
    fn texts_of_several_dialects() {
        let spaces = Cdf::from_text("1 1 0\n1 1 0.5\n3 1 1.0\n", 10.0).unwrap();
        let commas = Cdf::from_text("# size, share\n10, 0\n10,0.5\n\n30,1\n", 1.0).unwrap();
        let percent = Cdf::from_text("10\t0\n10\t50\n30\t100", 1.0).unwrap();
        assert!(spaces == commas && commas == percent);
    }

    #[test]
    fn what_is_no_distribution() {
        let wrong = |text: &str| Cdf::from_text(text, 1.0).unwrap_err().to_string();
        assert!(wrong("").contains("no point"));
        assert!(wrong("size,cdf\n1,1").contains("row 1"));
        assert!(wrong("1").contains("row 1"));
        assert!(wrong("1,0\n2,0.9").contains("the last share is 0.9"));
        assert!(wrong("2,0\n1,1").contains("row 2: values and shares must not fall"));
        assert!(wrong("1,0.5\n2,0.4\n3,1").contains("row 2"));
        assert!(wrong("nan,0\n2,1").contains("row 1"));
        assert!(wrong("-1,0\n2,1").contains("row 1"));
        assert!(wrong("1,nan").contains("last share"));
    }
}
