//! Parent proxies, to which requests go instead of servers.

use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    sync::Arc,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use dovetail_toml::{
    Fault, Section, read_text,
    values::{self, quoted, text, truth},
};

use super::{
    groups::user_name,
    hosts::{self, HostIndex, HostPattern},
    name::{EXPECTED, MAX_NAME, is_in_name},
    parent_tls::{self, ParentTls},
    path::path,
};

/// Maximum number of parents.
const MAX_PARENTS: usize = 64;

/// `[[parent]]`
#[derive(Clone)]
pub struct Parent {
    /// Its name.
    pub name: Arc<str>,
    /// Its host name or address, and its port.
    pub address: (Arc<str>, u16),
    /// Hosts that it is used for; if empty, all.
    pub hosts: Arc<[HostPattern]>,
    /// Hosts that it is not used for.
    pub except: Arc<[HostPattern]>,
    /// The user that the gateway authenticates as.
    pub user: Option<Arc<str>>,
    /// TLS settings, if it is reached over TLS.
    pub tls: Option<ParentTls>,
    /// Whether requests go directly to servers when no parent can be reached.
    pub direct: bool,
    by_host: (Arc<HostIndex<()>>, Arc<HostIndex<()>>),
    authorization: Option<Arc<str>>,
}

impl std::fmt::Debug for Parent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, address, hosts, except, user, tls, direct, .. } = self;
        let mut shown = f.debug_struct("Parent");
        shown.field("name", name).field("address", address).field("hosts", hosts).field("except", except);
        shown.field("user", user).field("tls", tls).field("direct", direct).finish_non_exhaustive()
    }
}

impl Parent {
    /// Whether it is used for this host: a name in lower case, or an address. O(labels).
    #[must_use]
    pub fn is_for(&self, host: &str) -> bool {
        let (hosts, except) = &self.by_host;
        (hosts.is_empty() || hosts.find(host).is_some()) && except.find(host).is_none()
    }

    /// The value of `Proxy-Authorization` for it.
    #[must_use]
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Its address in text form.
    #[must_use]
    pub fn written_address(&self) -> String {
        let (host, port) = &self.address;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

/// The parents in a file, in the order in which they are tried.
pub(super) fn read(sections: Vec<Section<'_>>, own: &[SocketAddr], folder: &Path) -> Result<Vec<Arc<Parent>>, Fault> {
    let mut parents: Vec<Arc<Parent>> = Vec::new();
    for mut section in sections {
        let parent = read_one(&mut section, folder)?;
        if parents.iter().any(|other| other.name == parent.name) {
            let what = format!("there are two parents {}: names are unique", quoted(&parent.name));
            return Err(section.wrong("name", what));
        }
        let (host, port) = &parent.address;
        let address = host.parse::<IpAddr>().ok();
        if own.iter().any(|own| Some(own.ip()) == address && own.port() == *port) {
            return Err(section.wrong("address", "that is this gateway itself"));
        }
        if parents.len() == MAX_PARENTS {
            return Err(section.wrong("name", format!("there are at most {MAX_PARENTS} parents")));
        }
        parents.push(Arc::new(parent));
    }
    Ok(parents)
}

fn read_one(section: &mut Section<'_>, folder: &Path) -> Result<Parent, Fault> {
    let expected = "a proxy's name or address and its port, such as \"proxy.provider.example:3128\"";
    let name = section.one("name", values::name(MAX_NAME, is_in_name, EXPECTED))?;
    let address = section.one("address", text(expected, host_and_port))?;
    let hosts = hosts::read(section, ("hosts", "hosts_file"), folder)?;
    let except = hosts::read(section, ("except", "except_file"), folder)?;
    let user = section.one("user", user_name())?;
    let password_file = section.one("password_file", path(folder))?;
    let direct = section.one("direct", truth)?.unwrap_or(false);
    let host = address.as_ref().map_or("", |(host, _)| host);
    let tls = parent_tls::read(section, host, folder)?;
    section.end()?;
    let name = name.ok_or_else(|| section.wrong("name", "a parent needs a name, such as name = \"provider\""))?;
    let address = address.ok_or_else(|| section.wrong("address", format!("set {expected}")))?;
    let authorization = match (&user, password_file) {
        (Some(user), Some(file)) => {
            let password = read_text(&file).map_err(|error| section.wrong("password_file", error.to_string()))?;
            let password = password.trim_end_matches(['\r', '\n']);
            if password.is_empty() || password.len() > 512 || password.contains(char::is_control) {
                let what = format!("{}: it is not a password in one line, of up to 512 bytes", file.display());
                return Err(section.wrong("password_file", what));
            }
            Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}"))).into())
        }
        (None, None) => None,
        (Some(_), None) => return Err(section.wrong("user", "add password_file: a user has a password")),
        (None, Some(_)) => return Err(section.wrong("password_file", "add user: a password is a user's")),
    };
    let index = |list: &[HostPattern]| Arc::new(HostIndex::new(list.iter().map(|host| (host, ()))));
    let by_host = (index(&hosts), index(&except));
    Ok(Parent { name, address, hosts, except, user, tls, direct, by_host, authorization })
}

fn host_and_port(text: &str) -> Option<(Arc<str>, u16)> {
    let authority = text.parse::<http::uri::Authority>().ok().filter(|authority| !authority.as_str().contains('@'))?;
    let port = authority.port().filter(|port| port.as_str().bytes().all(|byte| byte.is_ascii_digit()))?.as_u16();
    let host = authority.host();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (port > 0 && !host.is_empty()).then(|| (host.into(), port))
}
