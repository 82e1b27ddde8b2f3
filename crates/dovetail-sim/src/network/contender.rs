//! What a gateway does, as a string.

use core::{fmt, str::FromStr};

use dovetail_sched::{
    PolicyError, PolicySpec,
    registry::{Orders, all_names},
    request::{self, RequestSpec},
    units::clip,
};

/// A policy to compare at a gateway.
#[derive(Debug, Clone, PartialEq)]
pub enum Contender {
    /// A request policy, such as `grants`.
    Requests(RequestSpec),
    /// The ordinary gateway, with a packet policy such as `drr` in front of its links to the users.
    UserSide(PolicySpec),
    /// The ordinary gateway behind a shaper of ingress traffic from the link, as an administrator would set it up with an
    /// intermediate device and HTB: packets are forwarded at `part` of the link's rate, under deficit round robin by class.
    Ingress {
        /// The part of the link's rate.
        part: f64,
    },
}

/// Name of the shaper.
const INGRESS: &str = "ingress";
/// Shaping guides leave 5 % free so that the queue moves to the shaper.
const PART: f64 = 0.95;

impl Contender {
    /// The same as a string with every knob, including defaults.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::Requests(spec) => spec.in_full().to_string(),
            Self::UserSide(spec) => spec.in_full().to_string(),
            Self::Ingress { part } => format!("{INGRESS}:rate={part}"),
        }
    }
}

impl FromStr for Contender {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        if name == INGRESS {
            let part = match rest {
                None => Some(PART),
                Some(rest) => rest.strip_prefix("rate=").and_then(|part| part.parse().ok()),
            };
            return match part.filter(|part| (0.01..=10.0).contains(part)) {
                Some(part) => Ok(Self::Ingress { part }),
                None => Err(PolicyError::unfit(format!(
                    "'{}': a shaper is '{INGRESS}' or '{INGRESS}:rate=0.95', that part of the link's rate",
                    clip(text)
                ))),
            };
        }
        if request::REGISTRY.iter().any(|entry| entry.name == name) {
            return text.parse().map(Self::Requests);
        }
        if !all_names().contains(&name) {
            let known = all_names().into_iter().chain([INGRESS]).collect();
            return Err(PolicyError::Unknown { name: clip(name), orders: Orders::Packets, known });
        }
        text.parse().map(Self::UserSide)
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requests(spec) => spec.fmt(f),
            Self::UserSide(spec) => spec.fmt(f),
            Self::Ingress { part } if *part == PART => f.write_str(INGRESS),
            Self::Ingress { part } => write!(f, "{INGRESS}:rate={part}"),
        }
    }
}
