//! Determines the class of a user.
//!
//! User names take precedence over addresses, longer prefixes over shorter ones. Other users are in the class called `default`:
//! the file's, or one of weight 1 after all others.

use std::{
    collections::{HashMap, HashSet},
    net::{IpAddr, Ipv6Addr},
    path::Path,
};

use dovetail_sched::Weight;
use dovetail_toml::{
    Fault, Section,
    values::{self, number, quoted},
};
use toml::de::DeValue;

use super::{
    groups::{Groups, user_name},
    hosts::{self, HostIndex},
    hours::{Hours, hours},
    model::{Class, Config},
    name::{EXPECTED, MAX_NAME, is_in_name},
    prefixes::Prefix,
};

/// The name of the class for all other users.
pub(super) const DEFAULT: &str = "default";
/// Maximum number of classes, including the default one: each is a label of metrics.
pub(super) const MAX_CLASSES: usize = 64;

impl Config {
    /// The network of addresses that are the same user as this one, unless it is in a group. O(classes' prefixes).
    #[must_use]
    pub fn network_of(&self, address: IpAddr) -> Prefix {
        let IpAddr::V6(address) = address.to_canonical() else { return Prefix::from(address.to_canonical()) };
        let length = if is_apart(address) { 128 } else { self.access.ipv6_user };
        let named =
            self.classes.iter().flat_map(|class| &class.clients).filter(|prefix| prefix.contains(&IpAddr::V6(address)));
        let length = named.map(Prefix::prefix_len).chain([length]).max().unwrap_or(length);
        Prefix::new(address.into(), length).map_or_else(|_| IpAddr::from(address).into(), |network| network.trunc())
    }

    /// The class of a client address that is in no group, as an index into [`classes`](Self::classes). O(prefixes).
    #[must_use]
    pub fn class_of(&self, address: IpAddr) -> usize {
        self.class_of_network(self.network_of(address))
    }

    /// The class of all addresses of a network returned by [`network_of`](Self::network_of). O(prefixes).
    #[must_use]
    pub fn class_of_network(&self, network: Prefix) -> usize {
        let all = self.classes.iter().enumerate();
        let prefixes = all.flat_map(|(class, of)| of.clients.iter().map(move |prefix| (prefix, class)));
        let longest =
            prefixes.filter(|(prefix, _)| prefix.contains(&network)).max_by_key(|(prefix, _)| prefix.prefix_len());
        longest.map_or(self.default_class, |(_, class)| class)
    }

    /// The class of a group: the one that lists it, or else that of its first user, or of its first addresses. The default
    /// class if there is no such group. O(names + prefixes).
    #[must_use]
    pub fn class_of_group(&self, name: &str) -> usize {
        let lists = |class: &Class| class.groups.iter().any(|group| **group == *name);
        let listed = self.classes.iter().position(lists);
        let of_user =
            |user: &str| self.classes.iter().position(|class| class.users.iter().any(|known| **known == *user));
        let of_members = || {
            let group = self.groups.named(name)?;
            let user = group.users.iter().find_map(|user| of_user(user));
            user.or_else(|| group.clients.first().map(|&clients| self.class_of_network(clients)))
        };
        listed.or_else(of_members).unwrap_or(self.default_class)
    }

    /// The class of an authenticated user: the one that lists their name, or else the address's. O(names + prefixes).
    #[must_use]
    pub fn class_of_user(&self, name: &str, address: IpAddr) -> usize {
        let named = self.classes.iter().position(|class| class.users.iter().any(|user| **user == *name));
        named.unwrap_or_else(|| self.class_of(address))
    }
}

/// Whether addresses in the same /64 belong to different hosts, or to this one.
const fn is_apart(address: Ipv6Addr) -> bool {
    address.is_unicast_link_local() || address.is_loopback()
}

/// The class of each listed host.
pub(super) fn by_host(classes: &[Class]) -> HostIndex<usize> {
    HostIndex::new(classes.iter().enumerate().flat_map(|(at, class)| class.hosts.iter().map(move |host| (host, at))))
}

/// The classes, and the index of the default one.
pub(super) fn read(
    sections: Vec<Section<'_>>,
    (known, has_names): (&Groups, bool),
    folder: &Path,
) -> Result<(Vec<Class>, usize), Fault> {
    let mut classes: Vec<Class> = Vec::new();
    let mut names = HashSet::new();
    let mut prefixes = HashMap::new();
    let mut users = HashMap::new();
    let mut groups = HashMap::new();
    let mut hosts = HashMap::new();
    for mut section in sections {
        let class = read_one(&mut section, folder)?;
        let name = &class.name;
        if !names.insert(name.clone()) {
            return Err(section.wrong("name", format!("there are two classes {}: names are unique", quoted(name))));
        }
        let has_users = !(class.clients.is_empty() && class.users.is_empty() && class.groups.is_empty());
        if !has_users && class.hosts.is_empty() && **name != *DEFAULT {
            let what = format!("class {} has no clients, users, groups or hosts: add some", quoted(name));
            return Err(section.wrong("clients", what));
        }
        if !class.users.is_empty() && !has_names {
            let what = "users are known by name only with access.passwords or helper: add one, or use clients";
            return Err(section.wrong("users", what));
        }
        for prefix in &class.clients {
            if let Some(other) = prefixes.insert(*prefix, name.clone()) {
                return Err(section.wrong("clients", format!("{prefix} is in class {} already", quoted(&other))));
            }
        }
        for user in &class.users {
            if let Some(other) = users.insert(user.clone(), name.clone()) {
                return Err(section.wrong("users", format!("{} is in class {} already", quoted(user), quoted(&other))));
            }
        }
        for group in &class.groups {
            if known.named(group).is_none() {
                return Err(section.wrong("groups", format!("there is no [[group]] with the name {}", quoted(group))));
            }
            if let Some(other) = groups.insert(group.clone(), name.clone()) {
                let what = format!("{} is in class {} already", quoted(group), quoted(&other));
                return Err(section.wrong("groups", what));
            }
        }
        for host in &*class.hosts {
            if let Some(other) = hosts.insert(host.clone(), name.clone()).filter(|other| other != name) {
                return Err(section.wrong("hosts", format!("{host} is in class {} already", quoted(&other))));
            }
        }
        let most = MAX_CLASSES - usize::from(!names.contains(DEFAULT));
        if classes.len() == most {
            return Err(
                section.wrong("name", format!("there are at most {MAX_CLASSES} classes, the default one included"))
            );
        }
        classes.push(class);
    }
    let default = classes.iter().position(|class| *class.name == *DEFAULT).unwrap_or_else(|| {
        let name = DEFAULT.into();
        classes.push(Class { name, ..Class::default() });
        classes.len() - 1
    });
    Ok((classes, default))
}

fn read_one(section: &mut Section<'_>, folder: &Path) -> Result<Class, Fault> {
    let name = section.one("name", values::name(MAX_NAME, is_in_name, EXPECTED))?;
    let weight = section.one("weight", weight)?.unwrap_or_default();
    let weights = section.sections("weights")?.into_iter().map(weight_of_hours).collect::<Result<_, _>>()?;
    let clients = section.list("clients", values::prefix)?.unwrap_or_default();
    let users = section.list("users", user_name())?.unwrap_or_default();
    let groups = section.list("groups", values::name(MAX_NAME, is_in_name, EXPECTED))?.unwrap_or_default();
    let hosts = hosts::read(section, ("hosts", "hosts_file"), folder)?;
    let rate = section.one("rate", values::rate)?;
    let open = hours(section, "hours")?;
    section.end()?;
    let name = name.ok_or_else(|| section.wrong("name", "a class needs a name, such as name = \"office\""))?;
    Ok(Class {
        name,
        weight,
        weights,
        clients,
        users,
        groups,
        hosts,
        rate,
        hours: open,
        beyond: None,
        is_removed: false,
    })
}

fn weight(value: &DeValue<'_>) -> Result<Weight, String> {
    number("a weight from 0.000001 to 1000000", Weight::new)(value)
}

fn weight_of_hours(mut section: Section<'_>) -> Result<(Hours, Weight), Fault> {
    let (at, weight) = (hours(&mut section, "hours")?, section.one("weight", weight)?);
    section.end()?;
    let at = at.ok_or_else(|| section.wrong("hours", "set the hours, such as hours = \"22:00-06:00\""))?;
    let weight = weight.ok_or_else(|| section.wrong("weight", "set the weight at these hours, such as weight = 8"))?;
    Ok((at, weight))
}
