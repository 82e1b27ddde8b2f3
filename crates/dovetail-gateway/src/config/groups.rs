//! Determines users: an address, an IPv6 network, or a group of addresses and names.
//!
//! A household or a host may use any number of IPv6 addresses, so an IPv6 user is a network, a /64 unless configured otherwise.
//! If a class or a group names a longer prefix, that is a user of its own, so every user is in exactly one class. Link-local
//! addresses all share one /64 and differ by host, so each of them is a user.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use dovetail_toml::{
    Fault, Section,
    values::{self, quoted},
};

use super::{
    name::{EXPECTED, MAX_NAME, is_in_name},
    prefixes::{Prefix, Prefixes},
};

/// Maximum number of groups.
const MAX_GROUPS: usize = 4096;

/// `[[group]]`: addresses and names that form one user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: Arc<str>,
    /// Its addresses.
    pub clients: Vec<Prefix>,
    /// Names of its users, if they authenticate.
    pub users: Vec<Arc<str>>,
}

/// All groups, indexed by address and by name.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    groups: Vec<Group>,
    by_client: Prefixes<usize>,
    by_user: HashMap<Arc<str>, usize>,
}

impl Groups {
    /// The groups, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter()
    }

    /// The group of an address, according to the longest matching prefix. O(lengths of prefixes).
    #[must_use]
    pub fn of_address(&self, address: IpAddr) -> Option<&Group> {
        self.by_client.find(address).and_then(|&at| self.groups.get(at))
    }

    /// The group of a user who authenticated with this name. O(1).
    #[must_use]
    pub fn of_user(&self, name: &str) -> Option<&Group> {
        self.by_user.get(name).and_then(|&at| self.groups.get(at))
    }

    /// The group of this name. O(groups).
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| *group.name == *name)
    }
}

/// The groups in a file.
pub(super) fn read(sections: Vec<Section<'_>>, has_names: bool) -> Result<Groups, Fault> {
    let mut all = Groups::default();
    let mut prefixes: HashMap<Prefix, usize> = HashMap::new();
    for mut section in sections {
        let group = read_one(&mut section)?;
        let at = all.groups.len();
        let name_of = |at: usize| {
            all.groups.get(at).map_or("this group".into(), |group| format!("group {}", quoted(&group.name)))
        };
        if all.named(&group.name).is_some() {
            let what = format!("there are two groups {}: names are unique", quoted(&group.name));
            return Err(section.wrong("name", what));
        }
        if at == MAX_GROUPS {
            return Err(section.wrong("name", format!("there are at most {MAX_GROUPS} groups")));
        }
        if group.clients.is_empty() && group.users.is_empty() {
            let what = format!("group {} has neither clients nor users: add some", quoted(&group.name));
            return Err(section.wrong("clients", what));
        }
        if !group.users.is_empty() && !has_names {
            let what = "users are known by name only with access.passwords or helper: add one, or use clients";
            return Err(section.wrong("users", what));
        }
        for prefix in &group.clients {
            if let Some(other) = prefixes.insert(*prefix, at) {
                return Err(section.wrong("clients", format!("{prefix} is in {} already", name_of(other))));
            }
        }
        for user in &group.users {
            if let Some(&other) = all.by_user.get(user) {
                return Err(section.wrong("users", format!("{} is in {} already", quoted(user), name_of(other))));
            }
            all.by_user.insert(Arc::clone(user), at);
        }
        all.groups.push(group);
    }
    all.by_client = Prefixes::new(prefixes);
    Ok(all)
}

fn read_one(section: &mut Section<'_>) -> Result<Group, Fault> {
    let name = section.one("name", values::name(MAX_NAME, is_in_name, EXPECTED))?;
    let clients = section.list("clients", values::prefix)?.unwrap_or_default();
    let users = section.list("users", user_name())?.unwrap_or_default();
    section.end()?;
    let name = name.ok_or_else(|| section.wrong("name", "a group needs a name, such as name = \"family-meyer\""))?;
    Ok(Group { name, clients, users })
}

/// A valid user name.
pub(super) fn user_name() -> impl Fn(&toml::de::DeValue<'_>) -> Result<Arc<str>, String> {
    let in_user = |letter: char| !letter.is_control() && letter != ':';
    values::name(MAX_NAME, in_user, "a user's name of 1 to 64 characters, without colons")
}
