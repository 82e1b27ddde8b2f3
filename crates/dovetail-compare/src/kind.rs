//! What a TOML file is meant for, so that one in the place of another is called by its name.

use std::{collections::BTreeMap, path::Path};

use serde::de::IgnoredAny;

use crate::error::{Error, Misuse};

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Scenario,
    Network,
    Reservations,
    Middlebox,
    Gateway,
}

/// Keys of which each kind has one, and no other kind has any.
const TELLING: [(Kind, &[&str]); 5] = [
    (Kind::Reservations, &["reservation", "best_effort"]),
    (Kind::Network, &["network", "traffic"]),
    (Kind::Middlebox, &["box"]),
    (Kind::Gateway, &["proxy", "downlink"]),
    (Kind::Scenario, &["flow", "transfers", "pipeline"]),
];

impl Kind {
    /// The kind of this text; `None` if it is not TOML, or has no telling key or those of several kinds.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let keys: BTreeMap<String, IgnoredAny> = dovetail_toml::read(text).ok()?;
        let has = |key: &str| keys.contains_key(key);
        let mut kinds = TELLING.iter().filter(|(_, telling)| telling.iter().any(|key| has(key)));
        match (kinds.next(), kinds.next()) {
            (Some(&(kind, _)), None) => Some(kind),
            // A scenario for captures has no traffic of its own.
            (None, _) if has("resource") && has("class") => Some(Self::Scenario),
            _ => None,
        }
    }

    /// Whether it is traffic that policies can be run with.
    pub(crate) fn is_traffic(self) -> bool {
        matches!(self, Self::Scenario | Self::Network)
    }

    /// The error for a file of this kind in the place of what is `wanted`.
    pub(crate) fn instead_of(self, wanted: &'static str, path: &Path) -> Error {
        const RUN: &str = "'dovetail compare', 'dovetail explain' and 'dovetail tune'";
        let (is, goes) = match self {
            Self::Scenario => ("a scenario", RUN),
            Self::Network => ("a network", RUN),
            Self::Reservations => ("a list of reservations", "'dovetail admit'"),
            Self::Middlebox => ("the configuration of a middlebox", "'dovetail middlebox'"),
            Self::Gateway => ("the configuration of a gateway", "'dovetail gateway'"),
        };
        Misuse::OtherKind { path: path.to_owned(), is, goes, wanted }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_files_are_of_their_kind() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let kind = |path: &str| Kind::of(&std::fs::read_to_string(root.join(path)).unwrap());
        assert_eq!(kind("scenarios/middlebox.toml"), Some(Kind::Scenario));
        assert_eq!(kind("scenarios/websearch.toml"), Some(Kind::Scenario));
        assert_eq!(kind("scenarios/drr-sff.toml"), Some(Kind::Network));
        assert_eq!(kind("scenarios/access.toml"), Some(Kind::Network));
        assert_eq!(kind("scenarios/admit/refusals.toml"), Some(Kind::Reservations));
        assert_eq!(kind("scenarios/admit/cbcs-table2.toml"), Some(Kind::Reservations));
    }

    #[test]
    fn a_scenario_may_have_no_traffic() {
        let text = "[[resource]]\nname = \"cpu\"\n[[class]]\nname = \"all\"\ncost = { cpu = \"1us\" }\n";
        assert_eq!(Kind::of(text), Some(Kind::Scenario));
    }

    #[test]
    fn what_is_not_clear_is_of_no_kind() {
        for text in ["", "[", "name = \"x\"", "[[resource]]", "flow = 1\nreservation = 1"] {
            assert_eq!(Kind::of(text), None, "{text}");
        }
        assert_eq!(Kind::of("[box]"), Some(Kind::Middlebox));
        assert_eq!(Kind::of("[downlink]\nrate = \"2Mbps\""), Some(Kind::Gateway));
    }
}
