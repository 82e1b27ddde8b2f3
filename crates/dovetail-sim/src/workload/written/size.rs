//! Sizes of packets and transfers.

use std::{
    fmt,
    io::{self, Read},
};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};

use super::{Bytes, Pair, Quantity, Written, points, single};
use crate::workload::{Cdf, Size, clip, input};

/// The longest file of points that is accepted.
const MAX_FILE_BYTES: u64 = 1 << 22;

#[derive(Debug)]
pub(crate) enum SizeForm {
    Fixed(Bytes),
    Uniform(UniformForm),
    Pareto(ParetoForm),
    LogNormal(LogNormalForm),
    Cdf(CdfForm),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UniformForm {
    pub(crate) min: Quantity<Bytes>,
    pub(crate) max: Quantity<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParetoForm {
    pub(crate) shape: f64,
    pub(crate) min: Quantity<Bytes>,
    pub(crate) max: Quantity<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogNormalForm {
    pub(crate) mu: f64,
    pub(crate) sigma: f64,
    pub(crate) min: Quantity<Bytes>,
    pub(crate) max: Quantity<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CdfForm {
    pub(crate) points: Option<Vec<Pair<f64>>>,
    pub(crate) file: Option<String>,
    pub(crate) unit: Option<Quantity<Bytes>>,
}

impl<'de> Deserialize<'de> for SizeForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const KINDS: &[&str] = &["fixed", "uniform", "pareto", "lognormal", "cdf"];
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = SizeForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a size such as 1500 or \"20kB\", or a table with one of {}", KINDS.join(", "))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<SizeForm, E> {
                let wrong = |why| E::custom(format!("\"{}\": {why}; {}", crate::workload::clip(text), Bytes::WHAT));
                Bytes::from_text(text).map(SizeForm::Fixed).map_err(wrong)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<SizeForm, E> {
                let wrong = |_| E::custom(format!("{number} is not {}", Bytes::WHAT));
                u64::try_from(number).map(|bytes| SizeForm::Fixed(Bytes(bytes))).map_err(wrong)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SizeForm, A::Error> {
                let form = match map.next_key::<String>()?.as_deref() {
                    Some("fixed") => SizeForm::Fixed(map.next_value::<Quantity<Bytes>>()?.0),
                    Some("uniform") => SizeForm::Uniform(map.next_value()?),
                    Some("pareto") => SizeForm::Pareto(map.next_value()?),
                    Some("lognormal") => SizeForm::LogNormal(map.next_value()?),
                    Some("cdf") => SizeForm::Cdf(map.next_value()?),
                    Some(other) => return Err(A::Error::unknown_field(other, KINDS)),
                    None => return Err(A::Error::custom(format!("one of {} is needed", KINDS.join(", ")))),
                };
                single(map, form)
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// The specified size; `open` opens a file that it refers to.
pub(crate) fn read_size(
    form: &SizeForm,
    open: &mut dyn FnMut(&str) -> io::Result<input::Bytes>,
) -> Result<Size, String> {
    Ok(match form {
        SizeForm::Fixed(bytes) => Size::Fixed(bytes.0),
        SizeForm::Uniform(form) => Size::Uniform(form.min.0.0, form.max.0.0),
        SizeForm::Pareto(form) => {
            Size::Pareto { shape: form.shape, min: form.min.0.0 as f64, max: form.max.0.0 as f64 }
        }
        SizeForm::LogNormal(form) => {
            let (min, max) = (form.min.0.0 as f64, form.max.0.0 as f64);
            Size::LogNormal { mu: form.mu, sigma: form.sigma, min, max }
        }
        SizeForm::Cdf(form) => Size::Empirical(read_cdf(form, open)?),
    })
}

fn read_cdf(form: &CdfForm, open: &mut dyn FnMut(&str) -> io::Result<input::Bytes>) -> Result<Cdf, String> {
    let unit = form.unit.as_ref().map_or(1.0, |unit| unit.0.0 as f64);
    match (&form.points, &form.file) {
        (Some(pairs), None) => Cdf::new(&points(pairs), unit).map_err(|error| format!("cdf: {error}")),
        (None, Some(name)) => {
            let mut text = String::new();
            let read = open(name).and_then(|read| read.take(MAX_FILE_BYTES).read_to_string(&mut text));
            read.map_err(|error| format!("{}: cannot be read: {error}", clip(name)))?;
            Cdf::from_text(&text, unit).map_err(|error| format!("{}: {error}", clip(name)))
        }
        _ => Err("cdf: either points or file is needed".into()),
    }
}
