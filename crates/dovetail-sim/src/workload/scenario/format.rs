//! The scenario format as it is written: TOML to plain data, nothing resolved yet.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use dovetail_sched::{
    Nanos,
    units::{Rate, parse_bytes, parse_rate, parse_time},
};
use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use toml::Spanned;

use crate::workload::{Cost, Ports, Prefix};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) source: String,
    #[serde(default)]
    pub(super) seed: u64,
    pub(super) duration: Option<Quantity<Nanos>>,
    pub(super) packets: Option<u64>,
    pub(super) pipeline: Option<Spanned<String>>,
    pub(super) queue_packets: Option<u32>,
    pub(super) backlog: Option<u32>,
    pub(super) load: Option<f64>,
    pub(super) resource: Vec<Spanned<ResourceForm>>,
    #[serde(default)]
    pub(super) class: Vec<Spanned<ClassForm>>,
    #[serde(default)]
    pub(super) flow: Vec<Spanned<FlowForm>>,
    #[serde(default)]
    pub(super) transfers: Vec<Spanned<TransfersForm>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResourceForm {
    pub(super) name: String,
    pub(super) rate: Option<Quantity<Rate>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassForm {
    pub(super) name: String,
    #[serde(default)]
    pub(super) cost: BTreeMap<String, Quantity<Cost>>,
    #[serde(default)]
    pub(super) ports: Vec<Quantity<Ports>>,
    #[serde(default)]
    pub(super) prefixes: Vec<Quantity<Prefix>>,
    pub(super) share: Option<f64>,
    #[serde(default)]
    pub(super) processing: ProcessingForm,
    pub(super) expansion: Option<ExpansionForm>,
    pub(super) noise: Option<NoiseForm>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ProcessingForm {
    Header,
    #[default]
    Payload,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "an expansion factor such as 0.25, or { min = 0.11, max = 0.36 }")]
pub(super) enum ExpansionForm {
    Fixed(f64),
    Even(EvenForm),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvenForm {
    pub(super) min: f64,
    pub(super) max: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoiseForm {
    #[serde(default)]
    pub(super) spread: f64,
    #[serde(default)]
    pub(super) spike_share: f64,
    #[serde(default)]
    pub(super) spike_factor: f64,
    pub(super) measured: Option<Vec<(f64, f64)>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowForm {
    pub(super) name: String,
    pub(super) count: Option<u32>,
    pub(super) class: Option<String>,
    pub(super) weight: Option<f64>,
    pub(super) weights: Option<BTreeMap<String, f64>>,
    pub(super) size: SizeForm,
    pub(super) arrivals: ArrivalsForm,
    pub(super) start: Option<Quantity<Nanos>>,
    pub(super) stop: Option<Quantity<Nanos>>,
    pub(super) packets: Option<u64>,
    #[serde(default)]
    pub(super) change: Vec<ChangeForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeForm {
    pub(super) at: Quantity<Nanos>,
    pub(super) class: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TransfersForm {
    pub(super) name: String,
    pub(super) class: Option<String>,
    pub(super) weight: Option<f64>,
    pub(super) size: SizeForm,
    pub(super) arrivals: ArrivalsForm,
    pub(super) mtu: Option<Quantity<Bytes>>,
    pub(super) pace: Option<Quantity<Rate>>,
    pub(super) start: Option<Quantity<Nanos>>,
    pub(super) stop: Option<Quantity<Nanos>>,
    pub(super) flows: Option<u32>,
}

/// A number of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes(pub(super) u64);

/// How often something comes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    PerSecond(f64),
    Bits(Rate),
}

/// A value that is written as text with a unit, and some also as a plain number.
#[derive(Debug)]
pub(super) struct Quantity<T>(pub(super) T);

pub(super) trait Written: Sized {
    const WHAT: &'static str;
    fn from_text(text: &str) -> Result<Self, String>;
    fn from_number(_number: u64) -> Option<Self> {
        None
    }
}

impl Written for Nanos {
    const WHAT: &'static str = "a time such as \"100us\", \"2ms\" or \"1s\"";
    fn from_text(text: &str) -> Result<Self, String> {
        parse_time(text).map_err(|error| error.to_string())
    }
    fn from_number(number: u64) -> Option<Self> {
        (number == 0).then_some(Self::ZERO)
    }
}

impl Written for Rate {
    const WHAT: &'static str = "a rate such as \"400Mbps\"";
    fn from_text(text: &str) -> Result<Self, String> {
        parse_rate(text).map_err(|error| error.to_string())
    }
}

impl Written for Pace {
    const WHAT: &'static str = "packets or bits over time, such as \"1000/s\" or \"10Mbps\"";
    fn from_text(text: &str) -> Result<Self, String> {
        let Some(number) = text.trim().strip_suffix("/s").filter(|stem| !stem.ends_with("bit")) else {
            return parse_rate(text).map(Self::Bits).map_err(|error| error.to_string());
        };
        let number = number.trim().parse::<f64>().ok().filter(|number| (1e-6..=1e9).contains(number));
        number.map(Self::PerSecond).ok_or_else(|| "not a number from 0.000001/s to 1000000000/s".into())
    }
}

impl Written for Bytes {
    const WHAT: &'static str = "a size such as 1500, \"1500B\" or \"20kB\"";
    fn from_text(text: &str) -> Result<Self, String> {
        parse_bytes(text).map(Self).map_err(|error| error.to_string())
    }
    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

impl Written for Cost {
    const WHAT: &'static str = "a cost such as \"15ns*bytes + 84.5us\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: crate::workload::CostError| error.to_string())
    }
}

impl Written for Ports {
    const WHAT: &'static str = "a port such as 443, or a range such as \"8000-8099\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: crate::workload::ClassError| error.to_string())
    }
    fn from_number(number: u64) -> Option<Self> {
        let port = u16::try_from(number).ok()?;
        Some(Self(port..=port))
    }
}

impl Written for Prefix {
    const WHAT: &'static str = "an address prefix such as \"10.0.0.0/8\"";
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|error: crate::workload::PrefixError| error.to_string())
    }
}

impl<'de, T: Written> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read<T>(PhantomData<T>);
        impl<T: Written> Visitor<'_> for Read<T> {
            type Value = Quantity<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::WHAT)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                let clipped = crate::workload::clip(text);
                T::from_text(text).map(Quantity).map_err(|why| E::custom(format!("\"{clipped}\": {why}; {}", T::WHAT)))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                let wrong = || E::custom(format!("{number} is not {}", T::WHAT));
                T::from_number(number).map(Quantity).ok_or_else(wrong)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                let wrong = || E::custom(format!("{number} is not {}", T::WHAT));
                u64::try_from(number).ok().and_then(T::from_number).map(Quantity).ok_or_else(wrong)
            }
        }
        deserializer.deserialize_any(Read(PhantomData))
    }
}

#[derive(Debug)]
pub(super) enum SizeForm {
    Fixed(Bytes),
    Uniform(UniformForm),
    Pareto(ParetoForm),
    LogNormal(LogNormalForm),
    Cdf(CdfForm),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UniformForm {
    pub(super) min: Quantity<Bytes>,
    pub(super) max: Quantity<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParetoForm {
    pub(super) shape: f64,
    pub(super) min: Quantity<Bytes>,
    pub(super) max: Quantity<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogNormalForm {
    pub(super) mu: f64,
    pub(super) sigma: f64,
    pub(super) min: Quantity<Bytes>,
    pub(super) max: Quantity<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CdfForm {
    pub(super) points: Option<Vec<(f64, f64)>>,
    pub(super) file: Option<String>,
    pub(super) unit: Option<Quantity<Bytes>>,
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

/// `form`, if the table that it came from has no further key.
fn single<'de, A: MapAccess<'de>, T>(mut map: A, form: T) -> Result<T, A::Error> {
    match map.next_key::<String>()? {
        None => Ok(form),
        Some(other) => Err(A::Error::custom(format!("'{}' is one kind too many", crate::workload::clip(&other)))),
    }
}

#[derive(Debug)]
pub(super) enum ArrivalsForm {
    Backlogged,
    Constant(Pace),
    Poisson(Pace),
    OnOff(OnOffForm),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnOffForm {
    pub(super) rate: Quantity<Pace>,
    pub(super) on: Quantity<Nanos>,
    pub(super) off: Quantity<Nanos>,
}

impl<'de> Deserialize<'de> for ArrivalsForm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const KINDS: &[&str] = &["constant", "poisson", "on-off"];
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = ArrivalsForm;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "\"backlogged\", or a table with one of {}", KINDS.join(", "))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<ArrivalsForm, E> {
                if text == "backlogged" {
                    return Ok(ArrivalsForm::Backlogged);
                }
                let text = crate::workload::clip(text);
                Err(E::custom(format!(
                    "\"{text}\" is neither \"backlogged\" nor a table with one of {}",
                    KINDS.join(", ")
                )))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArrivalsForm, A::Error> {
                let form = match map.next_key::<String>()?.as_deref() {
                    Some("constant") => ArrivalsForm::Constant(map.next_value::<Quantity<Pace>>()?.0),
                    Some("poisson") => ArrivalsForm::Poisson(map.next_value::<Quantity<Pace>>()?.0),
                    Some("on-off") => ArrivalsForm::OnOff(map.next_value()?),
                    Some(other) => return Err(A::Error::unknown_field(other, KINDS)),
                    None => return Err(A::Error::custom(format!("one of {} is needed", KINDS.join(", ")))),
                };
                single(map, form)
            }
        }
        deserializer.deserialize_any(Read)
    }
}
