//! What a gateway does, in one string.

use core::{fmt, str::FromStr};

use dovetail_sched::{
    PolicyError, PolicySpec,
    registry::{Orders, all_names},
    request::{self, RequestSpec},
    units::clip,
};

/// What is compared at a gateway.
#[derive(Debug, Clone, PartialEq)]
pub enum Contender {
    /// A policy of requests, such as `grants`.
    Requests(RequestSpec),
    /// The ordinary gateway, with a policy of packets such as `drr` before its links to the users.
    UserSide(PolicySpec),
    /// The ordinary gateway behind a shaper of what comes in from the link, as an administrator would set it up with an
    /// intermediate device and HTB: packets pass at `part` of the link's rate, under deficit round robin by class.
    Ingress {
        /// The part of the link's rate.
        part: f64,
    },
}

/// The shaper's name.
const INGRESS: &str = "ingress";
/// What shaping guides leave free so that the queue moves to the shaper: 5 %.
const PART: f64 = 0.95;

impl Contender {
    /// The same with every knob written out, those that were not given with their defaults.
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
