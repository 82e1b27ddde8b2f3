//! Parses files of names and passwords, as written by `htpasswd -B`.

use std::{collections::HashMap, path::Path, sync::Arc};

use bcrypt::HashParts;
use dovetail_sched::units::clip;

use dovetail_toml::Fault;

use crate::config::{ConfigError, read_text};

/// Maximum number of users in a file.
const MAX_USERS: usize = 10_000;
/// Maximum length of a name in bytes.
const MAX_NAME: usize = 64;
/// The bcrypt cost from which a check takes more than a second.
const TOO_COSTLY: u32 = 15;

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Users {
    pub(super) hashes: HashMap<Arc<str>, Arc<str>>,
    /// One of the hashes, to compare with when the user does not exist.
    pub(super) decoy: Arc<str>,
}

pub(super) fn read(path: &Path) -> Result<Users, ConfigError> {
    parse(&read_text(path)?, &path.display().to_string())
}

pub(super) fn parse(text: &str, file: &str) -> Result<Users, ConfigError> {
    users(text).map_err(|wrong| wrong.located(text, file).into())
}

fn users(text: &str) -> Result<Users, Fault> {
    let mut hashes: HashMap<Arc<str>, Arc<str>> = HashMap::new();
    let mut costliest: Option<(u32, Arc<str>)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |what: &str| Fault::at(start, what);
        // The rest of the line must not appear in a message: it may be a password.
        let (name, hash) = line.split_once(':').ok_or_else(|| wrong("it is not name:hash: use htpasswd -B"))?;
        let shown = clip(name).escape_debug().to_string();
        let wrong = |what: &str| wrong(&format!("user '{shown}': {what}"));
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(wrong(&format!("a name has from 1 to {MAX_NAME} bytes")));
        }
        let is_bcrypt = ["$2y$", "$2b$"].iter().any(|version| hash.starts_with(version));
        let parts = is_bcrypt.then(|| hash.parse::<HashParts>().ok()).flatten();
        let parts = parts.ok_or_else(|| wrong("the password is not hashed with bcrypt: use htpasswd -B"))?;
        let cost = parts.get_cost();
        if !(4..TOO_COSTLY).contains(&cost) {
            return Err(wrong(&format!("a cost of {cost}: use htpasswd -B -C with one from 4 to {}", TOO_COSTLY - 1)));
        }
        if hashes.len() == MAX_USERS {
            return Err(wrong(&format!("with it there are over {MAX_USERS} users")));
        }
        let hash: Arc<str> = hash.into();
        if costliest.as_ref().is_none_or(|(most, _)| cost > *most) {
            costliest = Some((cost, hash.clone()));
        }
        if hashes.insert(name.into(), hash).is_some() {
            return Err(wrong("it is listed twice: remove one line"));
        }
    }
    let (_, decoy) = costliest.ok_or_else(|| Fault::whole("it lists no users: add some with htpasswd -B"))?;
    Ok(Users { hashes, decoy })
}
