//! The ways to reach a server: through parent proxies in order, and directly.
//!
//! A parent resolves names itself, so the address of a name is not known here. What can be checked in a request to a parent is
//! the target: addresses as in any other request, names that refer to the machine that resolves them, and names that some
//! resolvers read as addresses (`2130706433`, `0x7f000001`, `127.1`).

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, header, uri::Authority};
use tracing::{info, warn};

use crate::{
    config::{Config, Parent},
    refusal::Refusal,
    state::Settings,
    wanted::Wanted,
};

/// How long an unreachable parent is avoided, if there is another way.
const LEFT_OUT: Duration = Duration::from_secs(30);

/// One way to a server.
#[derive(Debug, Clone)]
pub(crate) enum Way {
    Direct,
    By(Arc<Parent>),
}

impl Way {
    pub(crate) fn parent(&self) -> Option<&Arc<Parent>> {
        match self {
            Self::Direct => None,
            Self::By(parent) => Some(parent),
        }
    }
}

/// Minimum interval between reports that a parent cannot be reached: one that comes and goes is no news each time.
const BETWEEN_REPORTS: Duration = Duration::from_secs(60);

/// Parents that could not be reached when they were last tried.
#[derive(Debug, Default)]
pub(crate) struct Unreached(RefCell<HashMap<Arc<str>, Trouble>>);

/// What is known of a parent that could not be reached.
#[derive(Debug, Clone, Copy)]
struct Trouble {
    /// When that was, unless it has been reached since.
    at: Option<Instant>,
    /// When it was last reported, and whether its return is to be.
    reported: Instant,
    reports_return: bool,
}

impl Unreached {
    /// Records that a parent could not be reached, and logs it unless that is known. `next` is the way that the request goes
    /// instead, if there is one.
    pub(crate) fn note(&self, parent: &Parent, why: &Refusal, next: Option<&Way>) {
        let now = Instant::now();
        let mut all = self.0.borrow_mut();
        let known = all.get(&parent.name).copied();
        let is_known = |known: Trouble| known.at.is_some() && known.reports_return;
        let is_news = known.is_none_or(|known| !is_known(known) && now - known.reported >= BETWEEN_REPORTS);
        let (reported, reports_return) = match known {
            Some(known) if !is_news => (known.reported, is_known(known)),
            _ => (now, true),
        };
        all.insert(Arc::clone(&parent.name), Trouble { at: Some(now), reported, reports_return });
        if is_news {
            warn!("parent proxy {}: {}: {} until it is reached again", parent.name, reason(why), goes(next));
        }
    }

    /// Records that a parent could be reached.
    pub(crate) fn forget(&self, parent: &Parent) {
        if let Some(trouble) = self.0.borrow_mut().get_mut(&parent.name)
            && trouble.at.take().is_some()
            && trouble.reports_return
        {
            info!("parent proxy {}: it is reached again", parent.name);
        }
    }

    /// Keeps what is known of parents that a reload leaves where they are. One over TLS may have other certificates now.
    pub(crate) fn reloaded(&self, old: &Config, new: &Config) {
        let place = |config: &Config, name: &Arc<str>| {
            let parent = config.parents.iter().find(|parent| parent.name == *name)?;
            parent.tls.is_none().then(|| parent.address.clone())
        };
        self.0.borrow_mut().retain(|name, _| place(new, name).is_some_and(|at| place(old, name) == Some(at)));
    }

    /// Whether a parent could be reached when it was last tried, or has not been tried.
    pub(crate) fn is_up(&self, parent: &Parent) -> bool {
        self.unreached_at(parent).is_none()
    }

    fn is_left_out(&self, parent: &Parent) -> bool {
        self.unreached_at(parent).is_some_and(|at| at.elapsed() < LEFT_OUT)
    }

    fn unreached_at(&self, parent: &Parent) -> Option<Instant> {
        self.0.borrow().get(&parent.name)?.at
    }
}

/// Why a parent could not be reached.
fn reason(why: &Refusal) -> String {
    match why {
        Refusal::Parent { why, .. } => why.clone(),
        Refusal::ParentTimeout(_) => "it did not accept a connection in time".into(),
        other => other.to_string(),
    }
}

/// Where requests go for which a parent could not be reached.
fn goes(next: Option<&Way>) -> String {
    match next {
        Some(Way::By(other)) => format!("its requests go to the parent proxy {}", other.name),
        Some(Way::Direct) => "its requests go directly to their servers".into(),
        None => "its requests fail".into(),
    }
}

/// The ways to reach a host, in the order in which to try them; at least one.
pub(crate) fn ways(settings: &Rc<Settings>, unreached: &Unreached, host: &str) -> Vec<Way> {
    let config = settings.config();
    let parents: Vec<_> = config.parents.iter().filter(|parent| parent.is_for(host)).collect();
    let goes_directly = parents.iter().all(|parent| parent.direct);
    let (late, first): (Vec<_>, Vec<_>) = parents.into_iter().partition(|parent| unreached.is_left_out(parent));
    let by =
        |parents: Vec<&Arc<Parent>>| parents.into_iter().map(|parent| Way::By(Arc::clone(parent))).collect::<Vec<_>>();
    let direct = if goes_directly { vec![Way::Direct] } else { Vec::new() };
    // If there is no other, those avoided are tried all the same.
    [by(first), direct, by(late)].concat()
}

/// What a parent is asked for: for a tunnel its target, for a request the host in its `Host`, which the parent resolves. In an
/// intercepted request that may differ from the target.
pub(crate) fn asked_for(config: &Config, wanted: &Wanted, named: Option<&HeaderMap>) -> Result<Wanted, Refusal> {
    let bad = Refusal::BadRequest("its Host is no host");
    let Some(host) = named.and_then(|headers| headers.get(header::HOST)) else { return Ok(wanted.clone()) };
    let authority: Authority = host.to_str().ok().and_then(|host| host.parse().ok()).ok_or(bad)?;
    let asked = Wanted::at(&authority, 80)?;
    if !config.access.ports.is_empty() && !config.access.ports.contains(&asked.port) {
        return Err(Refusal::Port(asked.port));
    }
    Ok(asked)
}

/// Whether another proxy may be asked to resolve a name.
pub(crate) fn is_resolvable(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or(host);
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let is_hexadecimal = last.starts_with("0x");
    !(is_number || is_hexadecimal || last == "localhost" || host == "localhost.localdomain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_addresses_are_not_resolved_elsewhere() {
        for name in ["2130706433", "0x7f000001", "127.1", "a.0x7f", "127.0.0.01", "localhost", "a.localhost"] {
            assert!(!is_resolvable(name), "{name}");
        }
        for name in ["example.com", "1.example", "localhost.example", "0x", "x0"] {
            assert_eq!(is_resolvable(name), name != "0x", "{name}");
        }
    }

    #[test]
    fn parents_that_cannot_be_reached_come_last() {
        let text = |direct: &str| {
            format!(
                "[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n\
                 [[parent]]\nname = \"a\"\naddress = \"a.example:1\"\nexcept = \"*.near.example\"\n{direct}\n\
                 [[parent]]\nname = \"b\"\naddress = \"[2001:db8::1]:1\"\nhosts = \"*.example\"\n{direct}\n"
            )
        };
        let of = |direct: &str| Rc::new(Settings::new(Config::parse(&text(direct)).expect("a configuration")));
        let names = |settings: &Rc<Settings>, unreached: &Unreached, host: &str| -> Vec<String> {
            ways(settings, unreached, host)
                .iter()
                .map(|way| way.parent().map_or("-".into(), |by| by.name.to_string()))
                .collect()
        };
        let (only, settings) = (of(""), of("direct = true"));
        let unreached = Unreached::default();
        assert_eq!(names(&only, &unreached, "x.example"), ["a", "b"]);
        assert_eq!(names(&only, &unreached, "x.org"), ["a"]);
        assert_eq!(names(&only, &unreached, "x.near.example"), ["b"]);
        assert_eq!(names(&settings, &unreached, "x.example"), ["a", "b", "-"]);
        let (config, timeout) = (settings.config(), Refusal::ParentTimeout("a".into()));
        unreached.note(&config.parents[0], &timeout, None);
        assert_eq!([0, 1].map(|at| unreached.is_up(&config.parents[at])), [false, true]);
        assert_eq!(names(&settings, &unreached, "x.example"), ["b", "-", "a"]);
        assert_eq!(names(&only, &unreached, "x.org"), ["a"], "there is no other");
        unreached.forget(&config.parents[0]);
        assert!(unreached.is_up(&config.parents[0]));
        assert_eq!(names(&settings, &unreached, "x.org"), ["a", "-"]);
    }

    #[test]
    fn a_reload_forgets_parents_that_are_gone_or_elsewhere() {
        let config = |parents: &[(&str, &str)]| {
            let parent =
                |(name, address): &(&str, &str)| format!("[[parent]]\nname = \"{name}\"\naddress = \"{address}\"\n");
            let parents: String = parents.iter().map(parent).collect();
            let text = format!("[downlink]\nrate = \"2Mbps\"\n[access]\nclients = \"10.0.0.0/8\"\n{parents}");
            Config::parse(&text).expect("a configuration")
        };
        let old = config(&[("gone", "a.example:1"), ("moves", "b.example:1"), ("stays", "c.example:1")]);
        let new = config(&[("stays", "c.example:1"), ("moves", "b.example:2")]);
        let unreached = Unreached::default();
        old.parents.iter().for_each(|parent| unreached.note(parent, &Refusal::ParentTimeout("a".into()), None));
        unreached.reloaded(&old, &new);
        assert_eq!([0, 1].map(|at| unreached.is_up(&new.parents[at])), [false, true]);
        assert_eq!(unreached.0.borrow().len(), 1);
    }
}
