//! Tells users apart by what is written of them, without writing it.

use std::{fmt, net::IpAddr, sync::Arc};

use crate::{config::Prefix, who::Who};

/// A user's written form: two are equal if their texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Written<'a> {
    Text(&'a str),
    Address(IpAddr),
    Network(Prefix),
}

impl<'a> Written<'a> {
    pub(super) fn of(who: &'a Who) -> Self {
        match who.user() {
            Who::Address(address) => Self::Address(*address),
            Who::Network(network) => Self::Network(*network),
            Who::Group(name) | Who::Name(name) => Self::of_name(name),
            Who::Towards(who, _) => Self::of(who),
        }
    }

    /// A name may be an address's text.
    fn of_name(name: &'a Arc<str>) -> Self {
        let address = name.parse().ok().map(Self::Address);
        let of_text = address.or_else(|| name.parse().ok().map(Self::Network));
        of_text.filter(|written| written.to_string() == **name).unwrap_or(Self::Text(name))
    }
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Address(address) => address.fmt(f),
            Self::Network(network) => network.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use dovetail_sched::request::ClassId;

    use super::*;

    #[test]
    fn two_are_equal_if_their_texts_are() {
        let texts =
            ["ann", "10.0.0.1", "010.0.0.1", "::1", "0::1", "::ffff:10.0.0.1", "2001:db8::/64", "2001:db8:0::/64"];
        let mut all: Vec<Who> = Vec::new();
        for text in texts {
            all.extend([Who::Name(text.into()), Who::Group(text.into())]);
            all.extend(text.parse().map(Who::Address));
            all.extend(text.parse().map(Who::Network));
        }
        all.extend(all.clone().iter().map(|who| who.towards(ClassId(3))));
        for one in &all {
            assert_eq!(Written::of(one).to_string(), one.to_string());
            for other in &all {
                let is_same = one.to_string() == other.to_string();
                assert_eq!(Written::of(one) == Written::of(other), is_same, "{one:?} and {other:?}");
            }
        }
    }
}
