//! Reads the configuration file: every key with its default and its range.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};

use dovetail_sched::request::{RequestSetup, RequestSpec};
use dovetail_toml::{
    ConfigError, Fault, Section, Token, read_text,
    values::{self, number, text, truth, whole, word},
};
use toml::de::DeValue;

use super::{
    classes, groups,
    model::{
        Access, Admin, Config, Downlink, Forwarded, Helper, Limits, Log, LogFormat, Probe, Proxy, ProxyTls, Store,
        Timeouts, Uplink,
    },
    name::{EXPECTED, MAX_NAME, default_name, is_in_name},
    pac, pages, parents,
    path::path,
    prefixes::{Prefix, Prefixes},
    probe, quotas,
};
use crate::segment::SEGMENT;

/// The fraction of an Ethernet frame that is payload of a full segment.
const PAYLOAD: f64 = SEGMENT as f64 / 1514.0;
/// The usual proxy port, on this machine only.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3128);
/// The admin port, on this machine only.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9180);

impl Config {
    /// Parses a configuration. Files that it names are relative to the working directory.
    ///
    /// # Errors
    /// [`ConfigError`], with the line and the key, if the text is not TOML, has unknown keys or values out of range, or
    /// contradicts itself.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        Self::parse_in(text, "configuration", Path::new(""))
    }

    /// Reads a configuration file of at most 1 MiB. Files that it names are relative to its directory.
    ///
    /// # Errors
    /// Same as for [`parse`](Self::parse), and if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path)?;
        let file = path.display().to_string();
        Self::parse_in(&text, &file, path.parent().unwrap_or(Path::new("")))
    }

    fn parse_in(text: &str, file: &str, folder: &Path) -> Result<Self, ConfigError> {
        dovetail_toml::parse(text, file, |root| config(root, folder))
    }
}

fn config(mut root: Section<'_>, folder: &Path) -> Result<Config, Fault> {
    let (in_proxy, in_downlink) = (root.section("proxy")?, root.section("downlink")?);
    let (in_uplink, in_access) = (root.section("uplink")?, root.section("access")?);
    let (in_groups, in_classes) = (root.sections("group")?, root.sections("class")?);
    let in_parents = root.sections("parent")?;
    let in_quotas = root.sections("quota")?;
    let (in_limits, in_timeouts) = (root.section("limits")?, root.section("timeouts")?);
    let (in_admin, in_log) = (root.section("admin")?, root.section("log")?);
    let (in_pages, in_pac) = (root.section("pages")?, root.section("pac")?);
    let in_store = root.section("store")?;
    // A misspelt key is reported before what is missing because of it.
    root.end()?;
    let proxy = proxy(in_proxy, folder)?;
    let downlink = downlink(in_downlink)?;
    let uplink = uplink(in_uplink, downlink.payload)?;
    let access = access(in_access, folder)?;
    let groups = groups::read(in_groups, access.has_names())?;
    let (mut classes, default_class) = classes::read(in_classes, (&groups, access.has_names()), folder)?;
    let quotas = quotas::read(in_quotas, &mut classes, classes::MAX_CLASSES)?;
    let hosts = classes::by_host(&classes);
    let parents = parents::read(in_parents, &proxy.listen, folder)?;
    let limits = limits(in_limits)?;
    let timeouts = timeouts(in_timeouts)?;
    let admin = admin(in_admin, &proxy, folder)?;
    let log = log(in_log, folder)?;
    let pages = pages::pages(in_pages, &proxy)?;
    let pac = pac::pac(in_pac)?;
    let store = store(in_store, folder)?;
    Ok(Config {
        proxy,
        downlink,
        uplink,
        access,
        groups,
        classes,
        default_class,
        quotas,
        hosts,
        parents,
        limits,
        timeouts,
        admin,
        log,
        pages,
        pac,
        store,
    })
}

fn proxy(mut section: Section<'_>, folder: &Path) -> Result<Proxy, Fault> {
    let forwarded = [("off", Forwarded::Off), ("unknown", Forwarded::Unknown), ("address", Forwarded::Address)];
    let proxy = Proxy {
        listen: section.list("listen", values::address)?.unwrap_or_else(|| vec![LISTEN]),
        redirect: section.list("redirect", values::address)?.unwrap_or_default(),
        tproxy: section.list("tproxy", values::address)?.unwrap_or_default(),
        name: section.one("name", values::name(MAX_NAME, is_in_name, EXPECTED))?.unwrap_or_else(default_name),
        forwarded: section.one("forwarded", word(&forwarded))?.unwrap_or_default(),
        nameservers: section.list("nameservers", values::nameserver)?.unwrap_or_default(),
        trusted: of_all(section.list("trusted", values::prefix)?.unwrap_or_default()),
        tls: proxy_tls(section.section("tls")?, folder)?,
    };
    section.end()?;
    let by_tls = proxy.tls.as_ref().map(|tls| tls.listen.clone()).unwrap_or_default();
    let ways = [("listen", &proxy.listen), ("redirect", &proxy.redirect), ("tproxy", &proxy.tproxy), ("tls", &by_tls)];
    if ways.iter().all(|(_, addresses)| addresses.is_empty()) {
        return Err(
            section.wrong("listen", "it does not listen anywhere: add an address here, in redirect or in tproxy")
        );
    }
    let mut seen = HashSet::new();
    for (key, addresses) in ways {
        let twice = addresses.iter().find(|address| address.port() != 0 && !seen.insert(**address));
        if let Some(address) = twice {
            return Err(section.wrong(key, format!("{address} is listed twice: each listener needs its own port")));
        }
    }
    Ok(proxy)
}

fn proxy_tls(mut section: Section<'_>, folder: &Path) -> Result<Option<ProxyTls>, Fault> {
    if !section.is_there() {
        return Ok(None);
    }
    let listen = section.list("listen", values::address)?.unwrap_or_default();
    let certificate = section.one("certificate", path(folder))?;
    let key = section.one("key", path(folder))?;
    section.end()?;
    if listen.is_empty() {
        return Err(section.wrong("listen", "set an address, such as listen = \"10.0.0.1:3129\""));
    }
    let lacks = |key: &str, file: &str| section.wrong(key, format!("set a PEM file, such as {key} = \"{file}\""));
    let certificate = certificate.ok_or_else(|| lacks("certificate", "/etc/dovetail/certificate.pem"))?;
    let key = key.ok_or_else(|| lacks("key", "/etc/dovetail/key.pem"))?;
    Ok(Some(ProxyTls { listen, certificate, key }))
}

fn downlink(mut section: Section<'_>) -> Result<Downlink, Fault> {
    let share = |share: f64| (share > 0.0 && share <= 1.0).then_some(share);
    let every = Duration::from_millis(10)..=Duration::from_secs(10);
    let rate = section.one("rate", values::rate)?;
    let payload = section.one("payload", number("a share over 0 and up to 1, such as 0.956", share))?;
    let written_learn = section.one("learn", truth)?;
    let policy = section.one("policy", policy)?;
    let probe = section.one("probe", probe::probe)?.unwrap_or(Probe::Tcp);
    let probe_every = section.one("probe_every", values::time(every))?.unwrap_or(Duration::from_millis(100));
    section.end()?;
    let rate = rate.ok_or_else(|| section.wrong("rate", "set the link's rate, such as rate = \"2Mbps\""))?;
    let policy =
        policy.map_or_else(|| "grants".parse().map_err(|wrong| section.wrong("policy", format!("{wrong}"))), Ok)?;
    let (policy, learn) = learning(policy, written_learn).map_err(|what| section.wrong("learn", what))?;
    let downlink = Downlink { rate, payload: payload.unwrap_or(PAYLOAD), learn, probe, probe_every, policy };
    let setup = RequestSetup::for_bytes(downlink.goodput_bytes_per_s());
    downlink.policy.build(&setup).map_err(|why| section.wrong("policy", why.to_string()))?;
    Ok(downlink)
}

fn uplink(mut section: Section<'_>, payload: f64) -> Result<Option<Uplink>, Fault> {
    let rate = section.one("rate", values::rate)?;
    let learn = section.one("learn", truth)?;
    section.end()?;
    match (rate, learn) {
        (None, Some(true)) => {
            Err(section.wrong("learn", "set the rate to learn from, the most that the uplink carries"))
        }
        (rate, learn) => Ok(rate.map(|rate| Uplink { rate, learn: learn.unwrap_or(true), payload })),
    }
}

fn policy(value: &DeValue<'_>) -> Result<RequestSpec, String> {
    let written = value.as_str().ok_or("this is not a policy such as \"grants\"; it goes in quotes")?;
    written.parse::<RequestSpec>().map_err(|why| why.to_string())
}

/// The policy with `learn` added if it has such a knob, and whether the rate is learnt.
fn learning(policy: RequestSpec, written: Option<bool>) -> Result<(RequestSpec, bool), String> {
    if policy.entry().knobs.iter().all(|knob| knob.key != "learn") {
        return Ok((policy, false));
    }
    let knobs = policy.as_str().split_once(':').map_or("", |(_, knobs)| knobs);
    let own = knobs.split(',').find_map(|pair| pair.strip_prefix("learn=")).map(|value| value == "on");
    match (own, written) {
        (Some(own), Some(written)) if own != written => {
            Err(format!("it is {written} here and the opposite in the policy \"{policy}\": set it in one place"))
        }
        (None, Some(false)) => {
            let spec = dovetail_sched::registry::with_knobs(policy.as_str(), "learn=off");
            spec.parse().map(|policy| (policy, false)).map_err(|why: dovetail_sched::PolicyError| why.to_string())
        }
        _ => Ok((policy, own.or(written).unwrap_or(true))),
    }
}

fn access(mut section: Section<'_>, folder: &Path) -> Result<Access, Fault> {
    let clients = section.list("clients", values::prefix)?.unwrap_or_default();
    let mut destinations = section.section("destinations")?;
    let allow = destinations.list("allow", values::prefix)?.unwrap_or_default();
    let deny = destinations.list("deny", values::prefix)?.unwrap_or_default();
    destinations.end()?;
    let connect_ports = section.list("connect_ports", port)?.unwrap_or_else(|| vec![443]);
    let ports = section.list("ports", port)?.unwrap_or_default();
    let ipv6_user = section.one("ipv6_user", whole(1..=128))?.map_or(64, |bits| bits as u8);
    let passwords = section.one("passwords", path(folder))?;
    let argument = |expected| text(expected, |part: &str| (!part.contains('\0')).then(|| part.to_owned()));
    let helper = section.list("helper", argument("a program or its argument"))?;
    let processes = section.one("helper_processes", whole(1..=64))?.map_or(4, |count| count as usize);
    let channels = section.one("helper_channels", whole(0..=1000))?.map_or(0, |count| count as usize);
    let range = Duration::from_millis(10)..=Duration::from_secs(300);
    let timeout = section.one("helper_timeout", values::time(range))?.unwrap_or(Duration::from_secs(10));
    section.end()?;
    let helper = helper.map(|words| {
        let mut words = words.into_iter();
        let program = words.next().filter(|program| program.starts_with('/'));
        let what = "the first is the program, with its whole path such as \"/usr/lib/squid/basic_ncsa_auth\"";
        let program = program.ok_or_else(|| section.wrong("helper", what))?;
        Ok::<_, Fault>(Helper { program: program.into(), arguments: words.collect(), processes, channels, timeout })
    });
    let helper = helper.transpose()?;
    if helper.is_some() && passwords.is_some() {
        return Err(section.wrong("helper", "there are passwords too: users are known by one of them"));
    }
    if clients.is_empty() {
        let what = "no client is permitted: add some, such as clients = [\"10.0.0.0/8\"]";
        return Err(section.wrong("clients", what));
    }
    if let Some(both) = allow.iter().find(|prefix| deny.contains(prefix)) {
        return Err(destinations.wrong("allow", format!("{both} is both allowed and denied: remove one of them")));
    }
    let (clients, allow, deny) = (of_all(clients), of_all(allow), of_all(deny));
    Ok(Access { clients, allow, deny, connect_ports, ports, ipv6_user, passwords, helper })
}

fn of_all(list: Vec<Prefix>) -> Prefixes<()> {
    Prefixes::new(list.into_iter().map(|prefix| (prefix, ())))
}

fn port(value: &DeValue<'_>) -> Result<u16, String> {
    whole(1..=u64::from(u16::MAX))(value).map(|port| port as u16)
}

fn limits(mut section: Section<'_>) -> Result<Limits, Fault> {
    let usual = Limits::default();
    let mut count = |key, range, default: usize| {
        section.one(key, whole(range)).map(|value| value.map_or(default, |value| value as usize))
    };
    let connections = count("connections", 1..=1_000_000, usual.connections)?;
    let connections_per_user = count("connections_per_user", 1..=1_000_000, usual.connections_per_user)?;
    let requests_per_user = count("requests_per_user", 1..=1_000_000, usual.requests_per_user)?;
    let headers = count("headers", 16..=1000, usual.headers)?;
    let idle_per_server = count("idle_per_server", 0..=1024, usual.idle_per_server)?;
    let header_bytes = section.one("header_bytes", values::bytes(8_000..=1_000_000))?.unwrap_or(usual.header_bytes);
    section.end()?;
    Ok(Limits { connections, connections_per_user, requests_per_user, header_bytes, headers, idle_per_server })
}

fn timeouts(mut section: Section<'_>) -> Result<Timeouts, Fault> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut time = |key, seconds| {
        let range = Duration::from_millis(10)..=DAY;
        section.one(key, values::time(range)).map(|time| time.unwrap_or(Duration::from_secs(seconds)))
    };
    let timeouts = Timeouts {
        header: time("header", 10)?,
        idle: time("idle", 120)?,
        resolve: time("resolve", 10)?,
        connect: time("connect", 20)?,
        response: time("response", 120)?,
        stalled: time("stalled", 300)?,
        tunnel: time("tunnel", 3600)?,
        pool: time("pool", 60)?,
        drain: time("drain", 30)?,
    };
    section.end()?;
    Ok(timeouts)
}

fn admin(mut section: Section<'_>, proxy: &Proxy, folder: &Path) -> Result<Option<Admin>, Fault> {
    if !section.is_there() {
        return Ok(None);
    }
    let listen = section.one("listen", values::address)?.unwrap_or(ADMIN);
    let token = Token::of(&mut section, folder)?;
    if token.is_none() && !listen.ip().to_canonical().is_loopback() {
        let what =
            format!("{listen} can be reached from other machines: add token or token_file, or listen on {ADMIN}");
        return Err(section.wrong("listen", what));
    }
    let ways = [&*proxy.listen, &proxy.redirect, &proxy.tproxy, proxy.tls_listen()];
    if listen.port() != 0 && ways.into_iter().flatten().any(|other| *other == listen) {
        return Err(section.wrong("listen", format!("{listen} is the proxy's: choose another port")));
    }
    section.end()?;
    Ok(Some(Admin { listen, token }))
}

fn log(mut section: Section<'_>, folder: &Path) -> Result<Option<Log>, Fault> {
    if !section.is_there() {
        return Ok(None);
    }
    let formats = [("squid", LogFormat::Squid), ("json", LogFormat::Json)];
    let path = section.one("access", path(folder))?;
    let format = section.one("format", word(&formats))?.unwrap_or_default();
    section.end()?;
    let path =
        path.ok_or_else(|| section.wrong("access", "set a path, such as access = \"/var/log/dovetail/access.log\""))?;
    Ok(Some(Log { path, format }))
}

fn store(mut section: Section<'_>, folder: &Path) -> Result<Option<Store>, Fault> {
    if !section.is_there() {
        return Ok(None);
    }
    let path = section.one("path", path(folder))?;
    let every = section.one("every", values::time(Duration::from_secs(1)..=Duration::from_secs(600)))?;
    section.end()?;
    let path =
        path.ok_or_else(|| section.wrong("path", "set a file, such as path = \"/var/lib/dovetail/gateway.db\""))?;
    Ok(Some(Store { path, every: every.unwrap_or(Duration::from_secs(5)) }))
}
