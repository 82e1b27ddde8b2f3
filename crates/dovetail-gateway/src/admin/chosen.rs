//! Selects what is shown: everything, or a single class or user, according to a path's query.

use dovetail_admin::Fault;
use http::StatusCode;

use super::named::class_name;
use crate::{config::Config, who::Who};

/// A selection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Chosen {
    #[default]
    All,
    /// A class, by its name.
    Class(String),
    /// A user, by name or address.
    User(String),
}

impl Chosen {
    /// Parses a query: `class=NAME`, `user=NAME`, or nothing.
    pub(super) fn of(query: Option<&str>) -> Result<Self, Fault> {
        let mut chosen = Self::All;
        for (key, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let one = match &*key {
                "class" => Self::Class(value.into_owned()),
                "user" => Self::User(value.into_owned()),
                _ => return Err(Fault::new(StatusCode::BAD_REQUEST, "A query is class=NAME or user=NAME.")),
            };
            if std::mem::replace(&mut chosen, one) != Self::All {
                return Err(Fault::new(StatusCode::BAD_REQUEST, "A query has one class or one user."));
            }
        }
        Ok(chosen)
    }

    /// Whether it includes this user in this class.
    pub(super) fn has(&self, config: &Config, who: &Who, class: u32) -> bool {
        match self {
            Self::All => true,
            Self::Class(name) => class_name(config, class) == *name,
            Self::User(name) => who.is_called(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_chooses_a_class_or_a_user() {
        let of = |query| Chosen::of(query).ok();
        assert_eq!(of(None), Some(Chosen::All));
        assert_eq!(of(Some("")), Some(Chosen::All));
        assert_eq!(of(Some("class=office")), Some(Chosen::Class("office".into())));
        assert_eq!(of(Some("user=ann%20b%26c+d")), Some(Chosen::User("ann b&c d".into())));
        assert_eq!(of(Some("user=2001%3Adb8%3A%3A1")), Some(Chosen::User("2001:db8::1".into())));
        for wrong in ["user=a&class=b", "user=a&user=b", "other=1", "user=a&other"] {
            assert_eq!(of(Some(wrong)), None, "{wrong}");
        }
    }

    #[test]
    fn users_are_told_apart() {
        let text = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n";
        let config = Config::parse(text).expect("a configuration");
        let (ann, address) = (Who::Name("ann".into()), Who::Address([10, 0, 0, 1].into()));
        let user = |name: &str| Chosen::User(name.into());
        assert!(user("ann").has(&config, &ann, 0) && !user("an").has(&config, &ann, 0));
        assert!(user("10.0.0.1").has(&config, &address, 0) && !user("10.0.0.10").has(&config, &address, 0));
        let class = |name: &str| Chosen::Class(name.into());
        assert!(class("default").has(&config, &ann, 0) && !class("office").has(&config, &ann, 0));
    }
}
