//! Classes by the scheduler's numbers.

use std::net::{IpAddr, Ipv4Addr};

use dovetail_sched::request::ClassId;

use crate::{config::Config, who::Who};

/// A class's number.
pub(crate) const fn class_id(class: usize) -> ClassId {
    ClassId(class as u32)
}

/// The class of a known user.
pub(crate) fn class_of(config: &Config, who: &Who) -> ClassId {
    class_id(match who {
        Who::Towards(_, class) => return *class,
        Who::Address(address) => config.class_of_network((*address).into()),
        Who::Network(network) => config.class_of_network(*network),
        Who::Group(name) => config.class_of_group(name),
        // If the name does not determine it, the address of the next request will.
        Who::Name(name) => config.class_of_user(name, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
    })
}
