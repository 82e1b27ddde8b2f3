//! Which class a user belongs to.
//!
//! Names of users count before addresses, longer prefixes before shorter ones. A user in no class is in the one that
//! is called `default`: the file's, or one of weight 1 after all others.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
};

use dovetail_sched::Weight;
use dovetail_toml::{
    Fault, Section,
    values::{self, number, quoted},
};
use toml::de::DeValue;

use super::{
    hours::{Hours, hours},
    model::{Class, Config},
    name::{EXPECTED, LONGEST_NAME, is_in_name},
};

/// The name of the class for all other users.
pub(super) const DEFAULT: &str = "default";
/// The most classes there may be, the default one included: each is a label of metrics.
pub(super) const MOST_CLASSES: usize = 64;

impl Config {
    /// The class of a client's address, an index into [`classes`](Self::classes). O(prefixes).
    #[must_use]
    pub fn class_of(&self, address: IpAddr) -> usize {
        let address = address.to_canonical();
        let all = self.classes.iter().enumerate();
        let prefixes = all.flat_map(|(class, of)| of.clients.iter().map(move |prefix| (prefix, class)));
        let longest =
            prefixes.filter(|(prefix, _)| prefix.contains(&address)).max_by_key(|(prefix, _)| prefix.prefix_len());
        longest.map_or(self.default_class, |(_, class)| class)
    }

    /// The class of a user who has said a name: the one with that name, or else the address's. O(names + prefixes).
    #[must_use]
    pub fn class_of_user(&self, name: &str, address: IpAddr) -> usize {
        let named = self.classes.iter().position(|class| class.users.iter().any(|user| **user == *name));
        named.unwrap_or_else(|| self.class_of(address))
    }
}

/// The classes, and which of them is the default one.
pub(super) fn read(sections: Vec<Section<'_>>, has_passwords: bool) -> Result<(Vec<Class>, usize), Fault> {
    let mut classes: Vec<Class> = Vec::new();
    let mut names = HashSet::new();
    let mut prefixes = HashMap::new();
    let mut users = HashMap::new();
    for mut section in sections {
        let class = read_one(&mut section)?;
        let name = &class.name;
        if !names.insert(name.clone()) {
            return Err(section.wrong("name", format!("there are two classes {}: names are unique", quoted(name))));
        }
        if class.clients.is_empty() && class.users.is_empty() && **name != *DEFAULT {
            let what = format!("class {} has neither clients nor users: add one of them", quoted(name));
            return Err(section.wrong("clients", what));
        }
        if !class.users.is_empty() && !has_passwords {
            let what = "users are known by name only with access.passwords: add that, or use clients";
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
        let most = MOST_CLASSES - usize::from(!names.contains(DEFAULT));
        if classes.len() == most {
            return Err(
                section.wrong("name", format!("there are at most {MOST_CLASSES} classes, the default one included"))
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

fn read_one(section: &mut Section<'_>) -> Result<Class, Fault> {
    let in_user = |letter: char| !letter.is_control() && letter != ':';
    let user = "a user's name of 1 to 64 characters, without colons";
    let name = section.one("name", values::name(LONGEST_NAME, is_in_name, EXPECTED))?;
    let weight = section.one("weight", weight)?.unwrap_or_default();
    let weights = section.sections("weights")?.into_iter().map(weight_of_hours).collect::<Result<_, _>>()?;
    let clients = section.list("clients", values::prefix)?.unwrap_or_default();
    let users = section.list("users", values::name(LONGEST_NAME, in_user, user))?.unwrap_or_default();
    section.end()?;
    let name = name.ok_or_else(|| section.wrong("name", "a class needs a name, such as name = \"office\""))?;
    Ok(Class { name, weight, weights, clients, users, beyond: None })
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
