//! The user of a request.

use std::{fmt, net::IpAddr, sync::Arc};

use dovetail_sched::request::ClassId;

use crate::config::{Config, Prefix};

/// A user: an address, a network, a group, or an authenticated name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// A client's address.
    Address(IpAddr),
    /// A network of IPv6 addresses.
    Network(Prefix),
    /// A group of addresses and names.
    Group(Arc<str>),
    /// A name authenticated by a password.
    Name(Arc<str>),
    /// A user's requests to hosts with a class of their own: schedulers treat them as another user.
    Towards(Arc<Who>, ClassId),
}

impl Who {
    /// The user with this address.
    pub(crate) fn at(config: &Config, address: IpAddr) -> Self {
        let address = address.to_canonical();
        if let Some(group) = config.groups.of_address(address) {
            return Self::Group(group.name.clone());
        }
        let network = config.network_of(address);
        if network.prefix_len() == network.max_prefix_len() { Self::Address(address) } else { Self::Network(network) }
    }

    /// The same user for requests to hosts with a class of their own.
    pub(crate) fn towards(&self, class: ClassId) -> Self {
        Self::Towards(Arc::new(self.clone()), class)
    }

    /// The user, whatever the hosts of the requests.
    pub(crate) fn user(&self) -> &Self {
        match self {
            Self::Towards(who, _) => who.user(),
            who => who,
        }
    }

    /// The user who authenticated with this name.
    pub(crate) fn named(config: &Config, name: &Arc<str>) -> Self {
        match config.groups.of_user(name) {
            Some(group) => Self::Group(group.name.clone()),
            None => Self::Name(name.clone()),
        }
    }
}

impl Who {
    /// Whether this is the user's written form.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        match self {
            Self::Address(address) => name.parse() == Ok(*address),
            Self::Name(own) => **own == *name,
            Self::Network(_) | Self::Group(_) | Self::Towards(..) => self.to_string() == name,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Network(network) => network.fmt(f),
            Self::Group(name) | Self::Name(name) => f.write_str(name),
            Self::Towards(who, _) => who.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = [\"10.0.0.0/8\", \"::/0\"]\npasswords = \"p\"\n\
                        [[group]]\nname = \"meyer\"\nclients = [\"10.0.1.7\", \"2001:db8:7::/48\"]\nusers = \"ann\"\n\
                        [[group]]\nname = \"guest\"\nclients = \"2001:db8:7:9::/64\"\n\
                        [[class]]\nname = \"server\"\nclients = [\"2001:db8:1:2:3::/80\", \"2001:db8::/32\"]\n";

    fn config(ipv6_user: u8) -> Config {
        let text = TEXT.replace("passwords", &format!("ipv6_user = {ipv6_user}\npasswords"));
        Config::parse(&text).expect("a configuration")
    }

    #[test]
    fn a_user_is_an_address_a_network_or_a_group() {
        let at = |bits, text: &str| Who::at(&config(bits), text.parse().expect("an address")).to_string();
        for (bits, address, who) in [
            (64, "10.0.1.8", "10.0.1.8"),
            (64, "::ffff:10.0.1.8", "10.0.1.8"),
            (64, "10.0.1.7", "meyer"),
            (64, "::ffff:10.0.1.7", "meyer"),
            (64, "2001:db8:7:1::5", "meyer"),
            (64, "2001:db8:7:9::5", "guest"),
            (64, "2001:db8:1:1::5", "2001:db8:1:1::/64"),
            (64, "2001:db8:1:2::5", "2001:db8:1:2::/64"),
            // A network named by a class is a user of its own.
            (64, "2001:db8:1:2:3::5", "2001:db8:1:2:3::/80"),
            (48, "2001:db8:1:1::5", "2001:db8:1::/48"),
            (128, "2001:db8:1:1::5", "2001:db8:1:1::5"),
            (1, "8000::1", "8000::/1"),
            // Each address is a host of its own, although all are in one /64.
            (64, "fe80::1", "fe80::1"),
            (64, "::1", "::1"),
        ] {
            assert_eq!(at(bits, address), who, "{address} by /{bits}");
        }
        assert_eq!(Who::named(&config(64), &"ann".into()), Who::Group("meyer".into()));
        assert_eq!(Who::named(&config(64), &"meyer".into()), Who::Name("meyer".into()), "a name is no group");
    }
}
